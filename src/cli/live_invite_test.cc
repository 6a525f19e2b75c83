// A fleet made of tokens: one command on each machine, and the owner's word.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "base/files.h"
#include "live/link/testing.h"
#include "live/roster.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Every machine is a folder. Each has a table of its own, of two classes around its own middle.
class LiveInvite : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    for (const char* machine : {"alice", "bob", "carol", "mallory"}) {
      fs::create_directories(root_ / machine);
      std::string table = "x,y,class\n";
      for (int i = 0; i < 40; ++i)
        table += fmt::format("{},{},{}\n", i % 7 - (i % 2) * 9, i % 5, i % 2 == 0 ? "a" : "b");
      write(machine, "own.csv", table);
    }
    write("alice", "toy.toml",
          "data = \"csv:file=nowhere.csv\"\npartition = \"local\"\nmodel = \"logistic\"\n"
          "topology = \"full\"\nprotocol = \"dpsgd:rounds=60,patience=2s\"\n"
          "evaluate = \"every=20\"\n");
  }
  void TearDown() override {
    for (const char* machine : {"alice", "bob", "carol", "mallory"})
      if (fs::exists(root_ / machine / "pid") && !fs::exists(root_ / machine / "code"))
        send_signal(machine, SIGKILL);
    fs::remove_all(root_);
  }

  void write(const std::string& machine, const char* file, std::string_view text) const {
    ASSERT_TRUE(write_file(root_ / machine / file, bytes_of(text)).ok());
  }
  static std::string address() { return fmt::format("127.0.0.1:{}", free_port()); }
  int tessera(const std::string& machine, const std::string& arguments) const {
    const int status =
        std::system(fmt::format("cd {}/{} && timeout 60 {} {} > out 2> err < /dev/null",
                                root_.string(), machine, TESSERA_PROGRAM, arguments)
                        .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // In the background; its log is in `log`, its number in `pid`, its exit code in `code`, once it
  // has ended.
  void start(const std::string& machine, const std::string& arguments) const {
    for (const char* file : {"pid", "code", "log"}) fs::remove(root_ / machine / file);
    const std::string command = fmt::format(
        "cd {} && ({} {} 2> log & echo $! > pid; wait $!; echo $? > code.part; mv code.part code) "
        "> /dev/null 2>&1 < /dev/null &",
        (root_ / machine).string(), TESSERA_PROGRAM, arguments);
    ASSERT_EQ(std::system(command.c_str()), 0);
    EXPECT_TRUE(await([&] { return text_in(machine, "pid").ends_with('\n'); }));
  }
  void send_signal(const std::string& machine, int signal) const {
    EXPECT_EQ(::kill(std::stoi(text_in(machine, "pid")), signal), 0) << machine;
  }
  void join(const std::string& machine, const std::string& token) const {
    start(machine, fmt::format("join {} --address={} {}", token, address(), kData));
  }
  std::string text_in(const std::string& machine, const std::string& file) const {
    const Result<std::string> text = read_text_file(root_ / machine / file);
    return text.ok() ? *text : "";
  }
  bool says(const std::string& machine, std::string_view words) const {
    return await(
        [&] { return ::usleep(20'000), text_in(machine, "log").find(words) != std::string::npos; });
  }
  std::string exit_code(const std::string& machine) const {
    EXPECT_TRUE(await([&] { return ::usleep(20'000), fs::exists(root_ / machine / "code"); }))
        << text_in(machine, "log");
    return text_in(machine, "code");
  }
  // What `invite` wrote for a machine.
  std::string token_of(const std::string& name) const {
    std::istringstream words(text_in("alice", "out"));
    for (std::string word, token; words >> word >> token;)
      if (word == name) return token;
    return "";
  }
  int invite(const std::string& names) const {
    return tessera("alice",
                   fmt::format("invite {} --experiment=toy.toml --name=alice --address={} {} "
                               "--linger=5s",
                               names, address(), kData));
  }

  static constexpr const char* kData = "--data=csv:file=own.csv,test=0.2,classes=a/b";
  fs::path root_ = fs::path(testing::TempDir()) / fmt::format("tessera_live_invite_{}", ::getpid());
};

TEST_F(LiveInvite, ThreeMachinesTakeFiveCommands) {
  ASSERT_EQ(invite("bob carol"), 0) << text_in("alice", "err");
  const std::string bob = token_of("bob"), carol = token_of("carol");
  ASSERT_TRUE(bob.starts_with("tessera-1-")) << text_in("alice", "out");
  start("alice", "node alice.toml");
  join("bob", bob);
  join("carol", carol);
  ASSERT_EQ(tessera("alice", "accept bob carol"), 0) << text_in("alice", "err");
  for (const char* machine : {"alice", "bob", "carol"}) {
    EXPECT_EQ(exit_code(machine), "0\n") << machine << text_in(machine, "log");
    EXPECT_TRUE(says(machine, "of 3: ")) << text_in(machine, "log");
    EXPECT_TRUE(says(machine, "finished after 60 rounds")) << text_in(machine, "log");
  }
  EXPECT_TRUE(says("alice", "waits for 2 more members, to begin with 3"));
  EXPECT_NE(text_in("alice", "out").find("version 2, 3 members of 3"), std::string::npos);
  // The token is a secret, and the experiment is whole.
  EXPECT_EQ(text_in("bob", "bob/summary.json").find(bob), std::string::npos);
  EXPECT_NE(text_in("bob", "experiment.toml").find("data      = \"csv\""), std::string::npos);
  // Typed again it is a node that has its files.
  EXPECT_EQ(tessera("bob", fmt::format("join {} --linger=1s", bob)), 0) << text_in("bob", "err");
}

// Bob's token in mallory's hands, before and after bob; and bob's own machine, stopped while it
// waits.
TEST_F(LiveInvite, ATokenIsForOneMachine) {
  ASSERT_EQ(invite("bob"), 0) << text_in("alice", "err");
  const std::string bob = token_of("bob");
  start("alice", "node alice.toml");
  const std::string where = address();
  start("bob", fmt::format("join {} --address={} {}", bob, where, kData));
  ASSERT_TRUE(says("bob", "bob has knocked and waits for the owner")) << text_in("bob", "log");
  ASSERT_EQ(tessera("mallory", fmt::format("join {} --address={} {}", bob, address(), kData)), 2);
  EXPECT_NE(text_in("mallory", "err").find("another machine has knocked with this invitation"),
            std::string::npos)
      << text_in("mallory", "err");
  EXPECT_TRUE(says("alice", "a second machine knocks with the invitation of bob"));
  EXPECT_FALSE(fs::exists(root_ / "mallory/roster.toml"));

  // Whom nobody named is shown, and not let in by an empty input.
  EXPECT_EQ(tessera("alice", "accept"), 2);
  EXPECT_NE(text_in("alice", "out").find(where), std::string::npos) << text_in("alice", "out");
  EXPECT_EQ(tessera("alice", "accept mallory"), 2);
  EXPECT_NE(text_in("alice", "err").find("mallory is not invited"), std::string::npos);

  // Stopped and started again, it has the key it had.
  const std::string key = text_in("bob", "bob.pub");
  send_signal("bob", SIGTERM);
  EXPECT_EQ(exit_code("bob"), "130\n") << text_in("bob", "log");
  start("bob", fmt::format("join {} --address={} {}", bob, where, kData));
  ASSERT_EQ(tessera("alice", "accept --yes"), 0) << text_in("alice", "err");
  EXPECT_NE(text_in("alice", "out").find(key.substr(0, 40)), std::string::npos);
  EXPECT_EQ(exit_code("bob"), "0\n") << text_in("bob", "log");
  EXPECT_EQ(text_in("bob", "bob.pub"), key);
  EXPECT_EQ(exit_code("alice"), "0\n") << text_in("alice", "log");
}

// The lost machine's place is another's, under its name and id, with what the others have learnt.
TEST_F(LiveInvite, AMachineTakesTheLostOnesPlace) {
  write("alice", "toy.toml",
        "data = \"csv:file=nowhere.csv\"\npartition = \"local\"\nmodel = \"logistic\"\n"
        "topology = \"full\"\nprotocol = \"dpsgd:rounds=1000000,patience=300ms\"\n"
        "evaluate = \"every=100\"\n");
  ASSERT_EQ(invite("bob carol --pace=10ms"), 0) << text_in("alice", "err");
  const std::string bob = token_of("bob"), carol = token_of("carol");
  start("alice", "node alice.toml");
  join("bob", bob);
  join("carol", carol);
  ASSERT_EQ(tessera("alice", "accept bob carol"), 0) << text_in("alice", "err");
  ASSERT_TRUE(says("carol", "carol is node")) << text_in("carol", "log");
  send_signal("carol", SIGKILL);
  // The others have begun without it, so that there is something to be told.
  ASSERT_TRUE(says("alice", "missed")) << text_in("alice", "log");
  ASSERT_EQ(tessera("alice", "invite carol"), 0) << text_in("alice", "err");
  EXPECT_NE(text_in("alice", "err").find("carol is a member"), std::string::npos);
  const std::string again = token_of("carol");
  join("mallory", again);
  ASSERT_EQ(tessera("alice", "accept carol"), 0) << text_in("alice", "err");
  EXPECT_NE(text_in("alice", "out").find("in place of the one at"), std::string::npos);
  EXPECT_TRUE(says("mallory", "begins with the model of")) << text_in("mallory", "log");
  for (const char* machine : {"alice", "bob", "mallory"}) send_signal(machine, SIGTERM);
  for (const char* machine : {"alice", "bob", "mallory"})
    EXPECT_EQ(exit_code(machine), "0\n") << text_in(machine, "log");
}

// Carol is behind a NAT: it says so, and is a member like the others.
TEST_F(LiveInvite, AMachineThatNobodyCanConnectToJoinsByATokenToo) {
  ASSERT_EQ(invite("bob carol"), 0) << text_in("alice", "err");
  const std::string bob = token_of("bob"), carol = token_of("carol");
  start("alice", "node alice.toml");
  join("bob", bob);
  start("carol", fmt::format("join {} --address=dials-out {}", carol, kData));
  ASSERT_EQ(tessera("alice", "accept bob carol"), 0) << text_in("alice", "err");
  EXPECT_NE(text_in("alice", "out").find("dials-out"), std::string::npos)
      << text_in("alice", "out");
  EXPECT_EQ(text_in("alice", "err").find("no two of them"), std::string::npos);
  for (const char* machine : {"alice", "bob", "carol"}) {
    EXPECT_EQ(exit_code(machine), "0\n") << machine << text_in(machine, "log");
    EXPECT_TRUE(says(machine, "finished after 60 rounds")) << text_in(machine, "log");
  }
  EXPECT_TRUE(says("alice", "carol knocks, will dial out, with the key"));
  EXPECT_TRUE(says("bob", "carol is alive")) << text_in("bob", "log");
  const Result<Roster> roster = Roster::read(root_ / "bob/roster.toml");
  ASSERT_TRUE(roster.ok());
  EXPECT_TRUE(roster->find("carol")->dials_out());
}

// They are told when they are let in, and by their nodes where they would always meet.
TEST_F(LiveInvite, TwoThatDialOutAreToldThatTheyHaveNoLink) {
  ASSERT_EQ(invite("bob carol"), 0) << text_in("alice", "err");
  const std::string bob = token_of("bob"), carol = token_of("carol");
  start("alice", "node alice.toml");
  start("bob", fmt::format("join {} --address=dials-out {}", bob, kData));
  start("carol", fmt::format("join {} --address=dials-out {}", carol, kData));
  ASSERT_EQ(tessera("alice", "accept bob carol"), 0) << text_in("alice", "err");
  EXPECT_NE(text_in("alice", "err").find("note: bob, carol dial out, and no two of them"),
            std::string::npos)
      << text_in("alice", "err");
  EXPECT_EQ(exit_code("bob"), "2\n") << text_in("bob", "log");
  EXPECT_TRUE(says("bob", "bob and carol are neighbours and all dial out"));
  EXPECT_EQ(exit_code("carol"), "2\n") << text_in("carol", "log");
  send_signal("alice", SIGTERM);
}

// Both machines are this one, and neither listens before it is let in.
TEST_F(LiveInvite, TwoNodesOfOneMachineAnnounceDifferentPorts) {
  ASSERT_EQ(invite("bob carol"), 0) << text_in("alice", "err");
  const std::string bob = token_of("bob"), carol = token_of("carol");
  for (const auto& [machine, token] : {std::pair("bob", bob), std::pair("carol", carol)}) {
    start(machine, fmt::format("join {} {}", token, kData));
    ASSERT_TRUE(says(machine, "will be reached at 127.0.0.1:")) << text_in(machine, "log");
  }
  start("alice", "node alice.toml");
  ASSERT_EQ(tessera("alice", "accept bob carol"), 0) << text_in("alice", "err");
  for (const char* machine : {"alice", "bob", "carol"})
    EXPECT_EQ(exit_code(machine), "0\n") << machine << text_in(machine, "log");
  const Result<Roster> roster = Roster::read(root_ / "alice/roster.toml");
  ASSERT_TRUE(roster.ok());
  EXPECT_NE(roster->find("bob")->address, roster->find("carol")->address);
}

TEST_F(LiveInvite, WhatIsAskedWronglyIsSaidInOneLine) {
  const auto refuses = [&](const std::string& machine, const std::string& arguments,
                           std::string_view words) {
    EXPECT_EQ(tessera(machine, arguments), 2) << arguments;
    EXPECT_NE(text_in(machine, "err").find(words), std::string::npos) << text_in(machine, "err");
  };
  refuses("alice", "invite bob", "there is no fleet in . yet");
  refuses("alice", "invite bob --experiment=toy.toml --name=alice --address=nowhere",
          "host:port is needed");
  refuses("alice", "invite bob --experiment=toy.toml --name=alice --address=dials-out",
          "newcomers knock at this machine, so it needs an address");
  refuses("alice", "invite ../bob", "a name is made of letters");
  refuses("alice", "accept bob", "roster.toml");
  refuses("bob", "join bob.pub", "paste the whole line that tessera invite wrote");
  EXPECT_FALSE(fs::exists(root_ / "alice/roster.toml"));
  ASSERT_EQ(invite("bob"), 0) << text_in("alice", "err");
  const std::string bob = token_of("bob");
  refuses("alice", "invite carol", "has 2 places, and 3 would be taken or promised");
  refuses("alice", "invite alice", "alice is the member to knock at");
  refuses("alice", "invite bob bob", "bob is invited twice");
  refuses("alice", "invite bob --address=10.0.0.1:5555", "there is a fleet in . already");
  start("alice", "node alice.toml");
  refuses("bob", fmt::format("join {} --address={}", bob, address()),
          "every machine of this fleet has its own data: --data=csv:");
  refuses("bob", fmt::format("join {} --address=dialsout {}", bob, kData),
          "or dials-out where nobody can connect to it");
  EXPECT_EQ(tessera("alice", "accept --refuse bob"), 0);
  refuses("bob", fmt::format("join {} --address={} {}", bob, address(), kData),
          "does not know this invitation");
  send_signal("alice", SIGTERM);
  EXPECT_EQ(exit_code("alice"), "0\n");
  EXPECT_TRUE(says("alice", "stopped before it began"));
  ASSERT_EQ(tessera("alice",
                    "roster replace roster.toml alice --address=dials-out "
                    "--sign=fleet.key"),
            0)
      << text_in("alice", "err");
  refuses("alice", "invite bob", "alice dials out, so nobody can knock at it");
}

}  // namespace
}  // namespace tessera
