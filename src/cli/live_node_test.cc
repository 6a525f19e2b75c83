// Single nodes as people start them by hand: which folder belongs to which run, and what an exit
// code says.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

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
