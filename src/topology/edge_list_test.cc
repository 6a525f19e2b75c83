#include "topology/edge_list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/random.h"
#include "topology/shapes.h"
#include "topology/topology.h"

namespace tessera {
namespace {

std::string refusal(std::string_view text) {
  const Result<Graph> graph = parse_edge_list(text);
  return graph ? "(accepted)" : graph.error().message;
}

TEST(EdgeList, OneDirectionOrBothAndBlanksAndComments) {
  const Graph expected = line_graph(3);
  EXPECT_EQ(*parse_edge_list("3\n0 1\n1 2\n"), expected);
  EXPECT_EQ(*parse_edge_list("3\n0 1\n1 0\n1 2\n2 1"), expected);
  EXPECT_EQ(*parse_edge_list("# a line\r\n\r\n 3 \r\n\t1\t0  # back\r\n2   1\r\n\n"), expected);
  EXPECT_EQ(*parse_edge_list("1"), full_graph(1));
  EXPECT_EQ(parse_edge_list("4\n0 1")->edge_count(), 1u);  // Connected or not is not asked here.
}

TEST(EdgeList, SurvivesBeingWritten) {
  for (const TopologyKind& kind : topologies()) {
    if (kind.name == "file") continue;
    const auto graph = make_topology(kind.usage, 30, Random(3))->graph(0);
    EXPECT_EQ(*parse_edge_list(to_edge_list(*graph)), *graph) << kind.name;
  }
}

TEST(EdgeList, MalformedTextIsRefusedWithTheLine) {
  EXPECT_EQ(refusal(""), "line 1: the file is empty; the first line is the number of nodes");
  EXPECT_EQ(refusal("\n# only words\n\n"),
            "line 1: the file is empty; the first line is the number of nodes");
  EXPECT_EQ(
      refusal("0 1\n1 2\n"),
      "line 1: '0 1' should be the number of nodes, alone on the first line; edges follow it");
  EXPECT_EQ(refusal("three\n0 1"),
            "line 1: 'three' should be the number of nodes, alone on the first line; edges follow "
            "it");
  EXPECT_EQ(refusal("3\n\n0 1\n1 two"),
            "line 4: '1 two' is not an edge; write two nodes, such as '0 1'");
  for (const std::string_view line : {"1", "0 1 2", "0,1", "0 -1", "+0 1", "0 1x", "0 1.5",
                                      "0 99999999999999999999", "{\"a\": 1}"})
    EXPECT_EQ(refusal(fmt::format("3\n{}\n", line)),
              fmt::format("line 2: '{}' is not an edge; write two nodes, such as '0 1'", line));
  EXPECT_EQ(refusal("3\n0 1\n1 3\n"),
            "line 3: there is no node 3; the first line says 3 nodes, so the last is 2");
  EXPECT_EQ(refusal("3\n4294967297 0\n"),
            "line 2: there is no node 4294967297; the first line says 3 nodes, so the last is 2");
  EXPECT_EQ(refusal("3\n2 2\n"), "line 2: node 2 is joined to itself; remove the line");
  EXPECT_EQ(refusal("0\n"), "line 1: 0 nodes; there must be 1 to 1000000");
  EXPECT_EQ(refusal("4000000000\n0 1"), "line 1: 4000000000 nodes; there must be 1 to 1000000");
  EXPECT_EQ(refusal("3\n" + std::string(100, 'x')),
            "line 2: '" + std::string(40, 'x') +
                "…' is not an edge; write two nodes, such as "
                "'0 1'");
}

// Every prefix and every changed character of a good list is read or refused, never worse.
TEST(EdgeList, DamagedTextNeverDoesHarm) {
  const std::string text = "# graph\n5\n0 1\n1 2\n2 3\n\n3 4\n4 0\n";
  for (std::size_t end = 0; end <= text.size(); ++end)
    (void)parse_edge_list(std::string_view(text).substr(0, end));
  Random random(4);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = text;
    damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    const Result<Graph> graph = parse_edge_list(damaged);
    if (!graph) {
      ASSERT_TRUE(graph.error().message.starts_with("line ")) << graph.error().message;
    }
  }
}

TEST(EdgeList, ComponentsAreNamedAndLongOnesCutShort) {
  const auto show = [](std::vector<std::vector<NodeId>> list) { return show_components(list); };
  EXPECT_EQ(show({{0, 1, 2}, {3, 4}, {5}}), "3 components: {0, 1, 2}, {3, 4} and {5}");
  EXPECT_EQ(show({{0, 1}}), "1 component: {0, 1}");
  std::vector<NodeId> long_one(40);
  for (NodeId i = 0; i < 40; ++i) long_one[i] = i;
  EXPECT_EQ(show({long_one, {40}}), "2 components: {0, 1, 2, 3, 4, 5, 6, 7, … 32 more} and {40}");
  EXPECT_EQ(show({{0}, {1}, {2}, {3}, {4}, {5}, {6}}),
            "7 components: {0}, {1}, {2}, {3}, {4} and 2 more");
}

class EdgeListFile : public testing::Test {
 protected:
  ~EdgeListFile() override { std::filesystem::remove(path_); }

  std::string refusal_of(std::string_view text, std::uint32_t nodes) {
    EXPECT_TRUE(write_file(path_, bytes_of(text)).ok());
    try {
      (void)make_topology("file:path='" + path_ + "'", nodes, Random(1));
    } catch (const std::invalid_argument& error) {
      // The folder of temporary files is not the same everywhere.
      std::string message = error.what();
      for (std::size_t at; (at = message.find(path_)) != message.npos;)
        message.replace(at, path_.size(), "FILE");
      return message;
    }
    return "(accepted)";
  }

  const std::string path_ =
      (std::filesystem::path(testing::TempDir()) /
       (std::string("tessera_") + testing::UnitTest::GetInstance()->current_test_info()->name() +
        ".edges"))
          .string();
};

TEST_F(EdgeListFile, IsRefusedWithWhatToChange) {
  EXPECT_EQ(refusal_of("3\n0 1\n1 2\n", 3), "(accepted)");
  EXPECT_EQ(refusal_of("3\n0 1\n1 x\n", 3),
            "file: path: FILE: line 3: '1 x' is not an edge; write two nodes, such as '0 1'");
  EXPECT_EQ(refusal_of("3\n0 1\n1 2\n", 96),
            "file: path: FILE has 3 nodes and the experiment 96; set nodes=3 or use another file");
  EXPECT_EQ(refusal_of("6\n0 2\n2 4\n1 5\n", 6),
            "file: path: FILE falls apart into 3 components: {0, 2, 4}, {1, 5} and {3}; add edges "
            "between them");
}

TEST_F(EdgeListFile, MissingFileIsNamed) {
  EXPECT_THROW(
      {
        try {
          (void)make_topology("file:path='" + path_ + "'", 3, Random(1));
        } catch (const std::invalid_argument& error) {
          EXPECT_NE(std::string(error.what()).find(path_ + ": cannot open"), std::string::npos);
          throw;
        }
      },
      std::invalid_argument);
}

TEST_F(EdgeListFile, IsTheGraphItSays) {
  ASSERT_TRUE(write_file(path_, bytes_of(to_edge_list(ring_graph(12)))).ok());
  const auto topology = make_topology("file:path='" + path_ + "'", 12, Random(1));
  EXPECT_EQ(*topology->graph(0), ring_graph(12));
  EXPECT_EQ(*topology->graph(77), ring_graph(12));
  EXPECT_FALSE(topology->redrawn());
}

}  // namespace
}  // namespace tessera
