// A running cluster asked as a whole: by its sockets, and over its encrypted ports.
#include "cli/process_for_tests.h"

namespace tessera {
namespace {

class LiveStatus : public SimProcess {
 protected:
  // Runs `asks` while four nodes run, after all of them have begun.
  int beside_a_cluster(const std::string& asks) const {
    return shell(
        "cd $root && $tessera keygen desk > /dev/null && { $tessera launch --processes=4 "
        "--out=live "
        "--model=quadratic:dimension=1000 --topology=ring --checkpoint=0s "
        "--protocol=dpsgd:rounds=100000,patience=1s --pace=20ms --restart --quiet 2> launched & } "
        "&& "
        "launcher=$! && for i in $(seq 200); do sleep 0.1; "
        "test \"$($tessera status live --all 2> /dev/null | grep -c ' alive ')\" = 4 && break; "
        "done; " +
        asks + "; code=$?; kill -INT $launcher; wait $launcher; exit $code");
  }
};

TEST_F(LiveStatus, AFolderOfNodesIsOneTable) {
  EXPECT_EQ(beside_a_cluster("$tessera status live --all > table"), 0) << said("launched");
  EXPECT_NE(said("table").find("4 nodes: 4 alive, 0 slow, 0 lost"), std::string::npos)
      << said("table");
}

TEST_F(LiveStatus, AnObserverSeesAllMembersOfARoster) {
  EXPECT_EQ(
      beside_a_cluster(
          "$tessera status live/keys/roster.toml --key=desk.key --patience=1s > strange; "
          "$tessera roster observe live/keys/roster.toml desk desk.pub > /dev/null && sleep 1 && "
          "$tessera status live/keys/roster.toml --key=desk.key --patience=10s > table && "
          "$tessera status live/keys/roster.toml --key=desk.key --json > json && "
          "$tessera status live/keys/roster.toml --key=desk.key --prometheus > text"),
      0)
      << said("launched") << said("table");
  EXPECT_NE(said("strange").find("4 nodes: 0 alive, 0 slow, 4 lost"), std::string::npos)
      << said("strange");
  EXPECT_NE(said("table").find("4 nodes: 4 alive, 0 slow, 0 lost"), std::string::npos)
      << said("table");
  EXPECT_EQ(nlohmann::json::parse(said("json")).size(), 4u);
  EXPECT_NE(said("text").find("tessera_up{node=\"n03\"} 1\n"), std::string::npos);
}

TEST_F(LiveStatus, ARosterNeedsAKey) {
  ASSERT_EQ(shell("cd $root && $tessera keygen a > out && $tessera roster add r.toml a "
                  "127.0.0.1:20998 a.pub > out"),
            0);
  EXPECT_EQ(tessera("status " + out("r.toml")), 2);
  EXPECT_NE(said("err").find("--key is needed"), std::string::npos);
  EXPECT_EQ(tessera(fmt::format("status {} --key={}", out("r.toml"), out("a.key"))), 1);
  EXPECT_NE(said("out").find("lost"), std::string::npos);
  EXPECT_NE(said("out").find("connection refused"), std::string::npos);
}

}  // namespace
}  // namespace tessera
