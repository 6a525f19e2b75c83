// `tessera keygen` and `tessera roster` as people type them.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "live/roster.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class RosterCommands : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_), fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }

  int tessera(const std::string& arguments) const {
    const std::string command =
        fmt::format("cd {} && {} {} > out 2> err", root_.string(), TESSERA_PROGRAM, arguments);
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool said(const char* where, std::string_view words) const {
    return read_text_file(root_ / where)->find(words) != std::string::npos;
  }

  fs::path root_ = fs::path(testing::TempDir()) / fmt::format("tessera_roster_{}", ::getpid());
};

TEST_F(RosterCommands, FromKeysToARosterInAFewWords) {
  for (const char* name : {"alice", "bob", "carol"})
    ASSERT_EQ(tessera(fmt::format("keygen {}", name)), 0);
  EXPECT_EQ(tessera("keygen alice"), 2);
  EXPECT_TRUE(said("err", "there already"));
  EXPECT_EQ(tessera("keygen ../alice"), 2);

  EXPECT_EQ(tessera("roster add roster.toml alice 10.0.0.1:5555 alice.pub"), 0);
  EXPECT_EQ(tessera("roster add roster.toml bob 10.0.0.2:5555 bob.key"), 2);
  EXPECT_TRUE(said("err", "bob.key is a private key")) << "it must not be copied to everyone";
  EXPECT_EQ(tessera("roster add roster.toml bob 10.0.0.2:5555 bob.pub"), 0);
  EXPECT_EQ(tessera("roster add roster.toml carol 10.0.0.2:5555 carol.pub"), 2);
  EXPECT_TRUE(said("err", "same address"));
  EXPECT_EQ(tessera("roster remove roster.toml alic"), 2);
  EXPECT_TRUE(said("err", "'alice'"));
  EXPECT_EQ(tessera("roster remove roster.toml bob"), 0);
  EXPECT_EQ(tessera("roster add roster.toml carol 10.0.0.3:5555 carol.pub"), 0);
  EXPECT_EQ(tessera("roster check roster.toml"), 0);
  EXPECT_TRUE(said("out", "2 members"));

  const Result<Roster> roster = Roster::read(root_ / "roster.toml");
  ASSERT_TRUE(roster);
  EXPECT_EQ(roster->find("carol")->id, 1u);  // Bob's place.
  EXPECT_EQ(tessera("roster check nowhere.toml"), 2);
}

TEST_F(RosterCommands, AnOwnerSignsWhatHasChanged) {
  for (const char* arguments :
       {"keygen alice", "keygen bob", "keygen new", "keygen fleet --owner", "keygen other --owner",
        "roster add r.toml alice 10.0.0.1:5555 alice.pub",
        "roster add r.toml bob 10.0.0.2:5555 bob.pub", "roster sign r.toml fleet.key"})
    ASSERT_EQ(tessera(arguments), 0) << arguments << *read_text_file(root_ / "err");
  EXPECT_EQ(tessera("roster check r.toml"), 0);
  EXPECT_TRUE(said("out", "version 1"));
  EXPECT_EQ(tessera("roster sign r.toml other.key"), 2);
  EXPECT_EQ(tessera("roster sign r.toml alice.key"), 2);
  EXPECT_TRUE(said("err", "does not hold an owner's private key"));

  EXPECT_EQ(tessera("roster replace r.toml bob"), 2);
  EXPECT_EQ(tessera("roster replace r.toml bob --key=new.pub"), 0);
  EXPECT_TRUE(said("err", "tessera roster sign r.toml KEY"));
  EXPECT_EQ(tessera("roster check r.toml"), 2);
  EXPECT_EQ(tessera("roster replace r.toml bob --address=10.0.0.3:5555 --sign=fleet.key"), 0);
  EXPECT_EQ(tessera("roster places r.toml 4 --sign=fleet.key"), 0);
  const Result<Roster> roster = Roster::read(root_ / "r.toml");
  ASSERT_TRUE(roster);
  EXPECT_TRUE(roster->check_signature());
  EXPECT_EQ(roster->version(), 3u);
  EXPECT_EQ(roster->find("bob")->id, 1u);
  EXPECT_EQ(roster->find("bob")->address, "10.0.0.3:5555");
  EXPECT_EQ(roster->next_id(), 4u);
}

// As on a disk that is full: files can be made, and nothing written to them.
TEST_F(RosterCommands, AKeyThatCouldNotBeWrittenIsNotInTheWay) {
  const std::string command =
      fmt::format("cd {} && trap '' XFSZ && ulimit -f 0 && {} keygen alice > /dev/null 2>&1",
                  root_.string(), TESSERA_PROGRAM);
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_FALSE(fs::exists(root_ / "alice.key"));
  EXPECT_EQ(tessera("keygen alice"), 0);
}

}  // namespace
}  // namespace tessera
