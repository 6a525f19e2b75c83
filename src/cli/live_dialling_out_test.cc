// A fleet with a member that nobody can connect to, as people start it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "live/link/testing.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class LiveDiallingOut : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_), fs::create_directories(root_ / "run/nodes");
    for (const char* name : {"alice", "bob", "carol"}) ASSERT_EQ(tessera(name, "keygen {0}"), 0);
    ASSERT_EQ(
        tessera("sim",
                "sim --nodes=3 --topology=ring --model=quadratic:dimension=200 --sharing=full "
                "--codec=gamma+f32 --protocol=dpsgd:rounds=20 --evaluate=every=10 --out=sim"),
        0);
  }
  void TearDown() override { fs::remove_all(root_); }

  // `{0}` in the arguments is the name.
  int tessera(const std::string& name, const std::string& arguments) const {
    const int status = std::system(command(name, arguments).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string command(const std::string& name, const std::string& arguments) const {
    return fmt::format("cd {} && timeout 100 {} {} > {}.log 2>&1", root_.string(), TESSERA_PROGRAM,
                       fmt::format(fmt::runtime(arguments), name), name);
  }
  void add(const std::string& name, const std::string& address) const {
    ASSERT_EQ(tessera(name, "roster add roster.toml {0} " + address + " {0}.pub"), 0) << log(name);
  }
  std::string log(const std::string& name) const {
    return *read_text_file(root_ / (name + ".log"));
  }
  std::string digest(const char* folder) const {
    const std::string text = *read_text_file(root_ / folder / "summary.json");
    const std::size_t at = text.find("\"model_digest\"");
    return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
  }
  static std::string address() { return fmt::format("127.0.0.1:{}", free_port()); }

  const std::string node_ =
      "node --name={0} --key={0}.key --roster=roster.toml --experiment=sim/config.toml "
      "--folder=run/nodes/{0} --gather=20s --linger=5s";
  fs::path root_ = fs::path(testing::TempDir()) / fmt::format("tessera_dial_out_{}", ::getpid());
};

TEST_F(LiveDiallingOut, EndsWithTheSimulatorsBitsThoughNobodyCanReachCarol) {
  add("alice", address());
  add("bob", address());
  add("carol", "dials-out");
  const std::string all = fmt::format("({}) & ({}) & ({}) & wait", command("alice", node_),
                                      command("bob", node_), command("carol", node_));
  ASSERT_EQ(std::system(all.c_str()), 0);
  ASSERT_EQ(tessera("collect", "launch --collect --out=run --quiet"), 0)
      << log("collect") << log("alice") << log("carol");
  EXPECT_EQ(digest("run"), digest("sim"));
}

TEST_F(LiveDiallingOut, TwoNeighboursThatDialOutAreRefusedByName) {
  add("alice", address());
  add("bob", "dials-out");
  add("carol", "dials-out");
  EXPECT_EQ(tessera("carol", node_), 2);
  EXPECT_NE(log("carol").find("carol and bob are neighbours and all dial out"), std::string::npos)
      << log("carol");
}

}  // namespace
}  // namespace tessera
