// Single nodes as people start them by hand: which folder belongs to which run, and what an exit
// code says.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "live/link/testing.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class LiveNodeProcess : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_), fs::create_directories(root_);
    ASSERT_EQ(tessera("keygen alice") + tessera("keygen bob"), 0);
  }
  void TearDown() override { fs::remove_all(root_); }

  int tessera(const std::string& arguments) const {
    const std::string command = fmt::format("cd {} && timeout 120 {} {} > out 2> err",
                                            root_.string(), TESSERA_PROGRAM, arguments);
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int add(const char* name) const {
    return tessera(
        fmt::format("roster add roster.toml {0} 127.0.0.1:{1} {0}.pub", name, free_port()));
  }
  // Alice, with what else the experiment says.
  int alice(const std::string& experiment, const std::string& flags = "") const {
    const std::string text = "model = \"quadratic\"\ntopology = \"full\"\n" + experiment;
    EXPECT_TRUE(write_file(root_ / "toy.toml", bytes_of(text)).ok());
    return tessera(
        "node --name=alice --key=alice.key --roster=roster.toml --experiment=toy.toml "
        "--gather=0s --linger=0s " +
        flags);
  }
  std::string said() const { return *read_text_file(root_ / "err"); }
  // Two nodes at once, each with its own experiment and flags; whether both ended with `code`.
  bool pair_ends(int code, const std::string& alices, const std::string& bobs,
                 const std::string& alice_flags = "", const std::string& bob_flags = "") const {
    for (const auto& [name, text] : {std::pair{"alice", alices}, std::pair{"bob", bobs}})
      EXPECT_TRUE(write_file(root_ / fmt::format("{}.toml", name), bytes_of(text)).ok());
    const auto node = [&](const std::string& name, const std::string& flags) {
      return fmt::format(
          "{{ timeout 120 {0} node --name={1} --key={1}.key --roster=roster.toml "
          "--experiment={1}.toml --linger=5s {2} 2> {1}.err; test $? = {3}; }}",
          TESSERA_PROGRAM, name, flags, code);
    };
    const std::string command =
        fmt::format("cd {} && ({} & a=$!; {}; b=$?; wait $a && test $b = 0)", root_.string(),
                    node("alice", alice_flags), node("bob", bob_flags));
    return std::system(command.c_str()) == 0;
  }
  std::string said_by(const char* name) const {
    return *read_text_file(root_ / fmt::format("{}.err", name));
  }

  const std::string alone_ = "nodes = \"1\"\nprotocol = \"dpsgd:rounds=5\"\n";
  fs::path root_ = fs::path(testing::TempDir()) / fmt::format("tessera_live_node_{}", ::getpid());
};

TEST_F(LiveNodeProcess, AFolderOfAnEarlierRunIsRefusedInOneLine) {
  ASSERT_EQ(add("alice"), 0);
  ASSERT_EQ(alice(alone_), 0) << said();
  ASSERT_EQ(alice(alone_), 0) << said();  // The same run: it has finished already.
  ASSERT_EQ(tessera("roster new-run roster.toml"), 0);
  EXPECT_EQ(alice(alone_), 2);
  EXPECT_NE(said().find("alice is of an earlier run"), std::string::npos) << said();
  EXPECT_NE(said().find("move it away, or choose another --folder"), std::string::npos) << said();
  EXPECT_TRUE(fs::exists(root_ / "alice" / "summary.json"));  // It was not touched.
  EXPECT_EQ(alice(alone_, "--folder=again"), 0) << said();
}

TEST_F(LiveNodeProcess, ARosterWithoutARunIsRefusedWithTheRemedy) {
  ASSERT_EQ(add("alice"), 0);
  const Result<std::string> text = read_text_file(root_ / "roster.toml");
  ASSERT_TRUE(text.ok() && text->starts_with("run = \""));
  const std::string older = text->substr(text->find('\n') + 1);
  ASSERT_TRUE(write_file(root_ / "roster.toml", bytes_of(older)).ok());
  EXPECT_EQ(alice(alone_), 2);
  EXPECT_NE(said().find("tessera roster new-run roster.toml"), std::string::npos) << said();
  EXPECT_EQ(tessera("roster check roster.toml"), 2);
  ASSERT_EQ(tessera("roster new-run roster.toml"), 0);
  EXPECT_EQ(alice(alone_), 0) << said();
}

TEST_F(LiveNodeProcess, OneThatTrainedAloneDoesNotEndWithSuccess) {
  ASSERT_EQ(add("alice") + add("bob"), 0);
  EXPECT_EQ(alice("nodes = \"2\"\nprotocol = \"dpsgd:rounds=40,patience=1ms\"\n", "--pace=20ms"), 3)
      << said();
  EXPECT_NE(said().find("without a living peer"), std::string::npos) << said();
  const auto summary = nlohmann::json::parse(*read_text_file(root_ / "alice" / "summary.json"));
  EXPECT_NE(summary.value("shortfall", "").find("without a living peer"), std::string::npos);
}

// Each pair differs in one thing, which both name with both values, and nobody has trained.
TEST_F(LiveNodeProcess, PairsThatDifferAreRefusedBeforeTheFirstRound) {
  ASSERT_EQ(add("alice") + add("bob"), 0);
  const std::string common =
      "nodes = 2\ntopology = \"full\"\nprotocol = \"dpsgd:rounds=5\"\npartition = \"local\"\n";
  const std::vector<std::tuple<const char*, const char*, const char*>> pairs = {
      {"sharing", "full", "topk:budget=0.5"},
      {"codec", "gamma+planes", "raw32+f32"},
      {"model", "logistic", "mlp:hidden=8"},
      {"rule", "auto", "median"},
      {"protocol", "dpsgd:rounds=5", "dpsgd:rounds=6"},
      {"seed", "1", "2"}};
  for (const auto& [key, ours, theirs] : pairs) {
    const std::string base = std::string(key) == "protocol"
                                 ? "nodes = 2\ntopology = \"full\"\npartition = \"local\"\n"
                                 : common;
    ASSERT_TRUE(pair_ends(2, base + fmt::format("{} = \"{}\"\n", key, ours),
                          base + fmt::format("{} = \"{}\"\n", key, theirs)))
        << key << said_by("alice") << said_by("bob");
    EXPECT_NE(said_by("alice").find(fmt::format("{}: here {}, there {}", key, ours, theirs)),
              std::string::npos)
        << said_by("alice");
    EXPECT_NE(said_by("bob").find(fmt::format("{}: here {}, there {}", key, theirs, ours)),
              std::string::npos)
        << said_by("bob");
    for (const char* name : {"alice", "bob"}) {
      EXPECT_FALSE(fs::exists(root_ / name / "metrics.jsonl")) << key;
      fs::remove_all(root_ / name);
    }
  }
}

TEST_F(LiveNodeProcess, OwnDataOfOtherClassesOrShapeIsRefused) {
  ASSERT_EQ(add("alice") + add("bob"), 0);
  const std::string experiment =
      "nodes = 2\ntopology = \"full\"\nprotocol = \"dpsgd:rounds=5\"\npartition = \"local\"\n";
  const std::vector<std::array<const char*, 4>> pairs = {
      {"classes=3", "classes=4", "classes: here 3", "there 4"},
      {"shape=1/4/4", "shape=1/2/8", "shape of a sample: here 1x4x4", "there 1x2x8"}};
  for (const auto& [ours, theirs, here, there] : pairs) {
    ASSERT_TRUE(pair_ends(2, experiment, experiment, fmt::format("--data=synthetic:{}", ours),
                          fmt::format("--data=synthetic:{}", theirs)))
        << said_by("alice") << said_by("bob");
    EXPECT_NE(said_by("alice").find(here), std::string::npos) << said_by("alice");
    EXPECT_NE(said_by("alice").find(there), std::string::npos) << said_by("alice");
    for (const char* name : {"alice", "bob"}) fs::remove_all(root_ / name);
  }
}

// Each has a place of its own for its data, and may have much or little.
TEST_F(LiveNodeProcess, OwnDataThatFitsIsLearntFrom) {
  ASSERT_EQ(add("alice") + add("bob"), 0);
  const std::string experiment =
      "nodes = 2\ntopology = \"full\"\nprotocol = \"dpsgd:rounds=5\"\npartition = \"local\"\n";
  ASSERT_TRUE(pair_ends(0, experiment, experiment, "--data=synthetic:samples=900,shape=1/4/4",
                        "--data=synthetic:samples=60,shape=1/4/4"))
      << said_by("alice") << said_by("bob");
  EXPECT_EQ(alice("nodes = \"1\"\n", "--data=synthetic --folder=other"), 2);
  EXPECT_NE(said().find("with partition=local each has its own"), std::string::npos) << said();
}

// Four nodes with a table each: two with some samples, one with a few, one with none.
TEST_F(LiveNodeProcess, OwnDataGivesTheSameBitsSimulatedAndLive) {
  const int samples[] = {200, 90, 4, 0};
  for (int node = 0; node < 4; ++node) {
    std::string table = "x,y,kind\n";
    for (int i = 0; i < samples[node]; ++i)
      table += fmt::format("{},{},{}\n", i % 7, (i * node) % 5, i % 7 > 3 ? "high" : "low");
    ASSERT_TRUE(write_file(root_ / fmt::format("{}.csv", node), bytes_of(table)).ok());
  }
  const std::string lines =
      " --nodes=4 --topology=ring --protocol=dpsgd:rounds=6 --evaluate=every=2 --partition=local "
      "--data=csv:file={node}.csv,classes=low/high --quiet ";
  ASSERT_EQ(tessera("sim" + lines + "--out=sim"), 0) << said();
  ASSERT_EQ(tessera("launch" + lines + "--out=live"), 0) << said();
  const auto figure = [&](const char* run, const char* key) {
    return nlohmann::json::parse(*read_text_file(root_ / run / "summary.json"))[key];
  };
  EXPECT_EQ(figure("sim", "model_digest"), figure("live", "model_digest"));
  EXPECT_EQ(figure("sim", "accuracy"), figure("live", "accuracy"));
  EXPECT_GT(figure("sim", "accuracy").get<double>(), 0.5);
  EXPECT_TRUE(figure("live", "node_accuracy")[3].is_null());  // It has nothing to be tested on.
  EXPECT_NE(read_text_file(root_ / "live/logs/n03.log")->find("only passes on"), std::string::npos);
  std::string weighed = lines;
  weighed.replace(weighed.find("rounds=6"), 8, "rounds=6,weights=samples");
  ASSERT_EQ(tessera("sim" + weighed + "--out=sim2"), 0) << said();
  ASSERT_EQ(tessera("launch" + weighed + "--out=live2"), 0) << said();
  EXPECT_EQ(figure("sim2", "model_digest"), figure("live2", "model_digest"));
  EXPECT_NE(figure("sim2", "model_digest"), figure("sim", "model_digest"));
}

TEST_F(LiveNodeProcess, ACheckpointInAnothersFolderIsRefusedByName) {
  const std::string launch =
      "launch --nodes=3 --topology=full --model=quadratic --protocol=dpsgd:rounds=5 --quiet "
      "--out=live";
  ASSERT_EQ(tessera(launch), 0) << said();
  fs::remove_all(root_ / "live/nodes/n02/checkpoint");
  fs::copy(root_ / "live/nodes/n00/checkpoint", root_ / "live/nodes/n02/checkpoint");
  EXPECT_EQ(tessera(launch + " --resume"), 1);
  EXPECT_NE(said().find("it is of node 0, and this is node 2"), std::string::npos) << said();
}

}  // namespace
}  // namespace tessera
