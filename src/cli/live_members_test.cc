// A fleet whose roster changes while it runs: members are replaced and removed by its owner's word
// alone, which one of them hears.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "live/link/testing.h"
#include "live/roster.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Every member has a folder that stands for its machine; the owner's is that of alice.
class LiveMembers : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_), fs::create_directories(root_ / "alice");
    ASSERT_EQ(tessera("alice", "keygen fleet --owner"), 0);
    for (const char* name : {"alice", "bob", "carol", "dave"}) add_machine(name, name);
    for (const char* name : {"alice", "bob", "carol", "dave"})
      ASSERT_EQ(tessera("alice", fmt::format("roster add roster.toml {0} {1} ../{0}/{0}.pub", name,
                                             address())),
                0);
    ASSERT_EQ(tessera("alice", "roster sign roster.toml fleet.key"), 0);
    for (const char* name : {"bob", "carol", "dave"}) copy_roster_to(name);
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::string address() { return fmt::format("127.0.0.1:{}", free_port()); }
  int tessera(const std::string& machine, const std::string& arguments) const {
    const int status = std::system(fmt::format("cd {}/{} && {} {} > out 2> err", root_.string(),
                                               machine, TESSERA_PROGRAM, arguments)
                                       .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // The experiment says another number of nodes than the roster, which counts.
  void add_machine(const std::string& machine, const std::string& name) const {
    fs::create_directories(root_ / machine);
    ASSERT_EQ(tessera(machine, "keygen " + name), 0);
    const std::string_view toy =
        "nodes = 16\nmodel = \"quadratic:dimension=20\"\ntopology = \"full\"\n"
        "protocol = \"dpsgd:rounds=1000,patience=500ms\"\nevaluate = \"every=5\"\n";
    ASSERT_TRUE(write_file(root_ / machine / "toy.toml", bytes_of(toy)).ok());
  }
  void copy_roster_to(const std::string& machine) const {
    fs::copy(root_ / "alice/roster.toml", root_ / machine / "roster.toml",
             fs::copy_options::overwrite_existing);
  }
  // In the background; its log is in `log`, its exit code in `code`, once it has ended.
  void start(const std::string& machine, const std::string& name) const {
    const std::string command = fmt::format(
        "cd {} && (timeout 100 {} node --name={} --key={}.key --roster=roster.toml "
        "--experiment=toy.toml --folder=node --gather=5s --linger=5s --pace=20ms "
        "2> log; echo $? > code.part; mv code.part code) &",
        (root_ / machine).string(), TESSERA_PROGRAM, name, name);
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  std::string text_in(const std::string& machine, const char* file) const {
    const Result<std::string> text = read_text_file(root_ / machine / file);
    return text.ok() ? *text : "";
  }
  bool says(const std::string& machine, std::string_view words) const {
    return await(
        [&] { return ::usleep(20'000), text_in(machine, "log").find(words) != std::string::npos; });
  }
  bool trains(const std::string& machine) const {
    return await(
        [&] { return ::usleep(20'000), text_in(machine, "node/metrics.jsonl").size() > 100; });
  }
  // A run that has most of its rounds before it takes longer than what others wait for.
  std::string exit_code(const std::string& machine) const {
    const auto ended = [&] { return ::usleep(20'000), fs::exists(root_ / machine / "code"); };
    bool has_ended = false;
    for (int i = 0; i < 5 && !has_ended; ++i) has_ended = await(ended);
    EXPECT_TRUE(has_ended) << text_in(machine, "log");
    return text_in(machine, "code");
  }

  fs::path root_ =
      fs::path(testing::TempDir()) / fmt::format("tessera_live_members_{}", ::getpid());
};

TEST_F(LiveMembers, AreReplacedAndRemovedWhileTheOthersGoOn) {
  for (const char* name : {"alice", "bob", "carol", "dave"}) start(name, name);
  ASSERT_TRUE(trains("alice")) << text_in("alice", "log");
  EXPECT_TRUE(says("alice", "alice is node 0 of 4")) << text_in("alice", "log");
  const std::string first = text_in("bob", "roster.toml");

  // Another machine in carol's place: the owner's word reaches alice, and alice tells the others.
  add_machine("carol2", "carol");
  ASSERT_EQ(tessera("alice", fmt::format("roster replace roster.toml carol --address={} "
                                         "--key=../carol2/carol.pub --sign=fleet.key",
                                         address())),
            0)
      << text_in("alice", "err");
  copy_roster_to("carol2");
  start("carol2", "carol");
  EXPECT_EQ(exit_code("carol"), "4\n");
  EXPECT_TRUE(says("carol", "removed from the roster by its owner")) << text_in("carol", "log");
  EXPECT_TRUE(says("bob", "version 2, 4 members")) << text_in("bob", "log");
  EXPECT_TRUE(trains("carol2")) << text_in("carol2", "log");

  // Removed for good.
  ASSERT_EQ(tessera("alice", "roster remove roster.toml dave --sign=fleet.key"), 0);
  EXPECT_EQ(exit_code("dave"), "4\n");
  EXPECT_TRUE(says("carol2", "version 3, 3 members")) << text_in("carol2", "log");

  // What its owner did not sign, or signed long ago, is not used.
  ASSERT_EQ(tessera("bob", "roster remove roster.toml alice"), 0);
  EXPECT_TRUE(says("bob", "without being signed")) << text_in("bob", "log");
  ASSERT_TRUE(write_file(root_ / "bob/roster.toml", bytes_of(std::string_view(first))).ok());
  EXPECT_TRUE(says("bob", "it is version 1, and this node has 3")) << text_in("bob", "log");
  ASSERT_EQ(tessera("bob", "status node"), 0);
  EXPECT_NE(text_in("bob", "out").find("roster-unsigned"), std::string::npos);
  EXPECT_NE(text_in("bob", "out").find("roster-old"), std::string::npos);

  for (const char* name : {"alice", "bob", "carol2"})
    EXPECT_EQ(exit_code(name), "0\n") << name << text_in(name, "log");
  const Result<Roster> kept = Roster::read(root_ / "bob/node/roster.toml");
  ASSERT_TRUE(kept.ok()) << "a start after this one begins with it";
  EXPECT_EQ(kept->version(), 3u);

  // Dave's folder knows that he is out; carol's old machine as well.
  EXPECT_EQ(tessera("dave",
                    "node --name=dave --key=dave.key --roster=roster.toml "
                    "--experiment=toy.toml --folder=node"),
            2);
  EXPECT_NE(text_in("dave", "err").find("dave is not in the roster"), std::string::npos)
      << text_in("dave", "err");
}

}  // namespace
}  // namespace tessera
