// Clusters of live processes as a user meets them: over TCP with CURVE, on the quadratic toy where
// bits matter, killed and frozen on purpose.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/stopwatch.h"
#include "cli/live_cluster.h"
#include "live/event_log.h"
#include "run/live_collect.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class LiveProcess : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_), fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }

  int tessera(const std::string& arguments) const {
    const std::string command = fmt::format("timeout 250 {} {} > {}/out 2> {}/err", TESSERA_PROGRAM,
                                            arguments, root_.string(), root_.string());
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string said(const char* where) const { return *read_text_file(root_ / where); }
  std::string out(const std::string& run) const { return (root_ / run).string(); }
  nlohmann::json summary(const std::string& run) const {
    return nlohmann::json::parse(*read_text_file(root_ / run / "summary.json"));
  }

  // Runs the experiment simulated and live, and holds the models together.
  void expect_same_digest(const std::string& experiment, const std::string& live_flags = "") {
    fs::remove_all(root_ / "sim"), fs::remove_all(root_ / "live");
    ASSERT_EQ(tessera(fmt::format("sim {} --quiet --out={}", experiment, out("sim"))), 0)
        << said("err");
    ASSERT_EQ(
        tessera(fmt::format("launch {} --quiet {} --out={}", experiment, live_flags, out("live"))),
        0)
        << said("err");
    EXPECT_EQ(summary("live")["model_digest"], summary("sim")["model_digest"]) << experiment;
    EXPECT_EQ(summary("live")["accuracy"], summary("sim")["accuracy"]) << experiment;
    EXPECT_FALSE(fs::exists(root_ / "live" / "keys"));
  }

  // A cluster that is started and left alone, for tests that do something to it.
  pid_t start(const std::string& arguments) const {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setpgid(0, 0);
      ::execl("/bin/sh", "sh", "-c",
              fmt::format("exec {} {} > {}/out 2> {}/err", TESSERA_PROGRAM, arguments,
                          root_.string(), root_.string())
                  .c_str(),
              nullptr);
      ::_exit(127);
    }
    return pid;
  }
  static bool await(const std::function<bool()>& happened) {
    const Stopwatch watch;
    while (!happened())
      if (watch.seconds() > 60)
        return false;
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return true;
  }
  bool node_answers(const std::string& run, std::uint64_t round) const {
    if (tessera(fmt::format("status {} --json", out(run) + "/nodes/n00")) != 0) return false;
    const auto json = nlohmann::json::parse(said("out"), nullptr, false);
    return !json.is_discarded() && json["round"].get<std::uint64_t>() >= round;
  }

  const std::string toy_ = "--nodes=8 --model=quadratic:dimension=3000 --evaluate=every=10 ";
  // Notices within fractions of a second that a process is gone or back.
  const std::string quick_ = "--link=heartbeat=100ms,silence=1s/3s,retry=50ms/500ms ";
  fs::path root_ =
      fs::path(testing::TempDir()) / fmt::format("tessera_live_process_{}", ::getpid());
};

TEST_F(LiveProcess, EndsInTheSimulatorsBits) {
  for (const char* sharing : {"full", "jwins", "choco"})
    expect_same_digest(fmt::format("{} --protocol=dpsgd:rounds=40 --sharing={}", toy_, sharing));
  expect_same_digest(toy_ + "--protocol=epidemic:rounds=40,fanout=3");
  expect_same_digest(toy_ +
                     "--protocol=dpsgd:rounds=40 --sharing=jwins "
                     "--merge=every:rounds=15,codec=gamma+q8,last=gamma+f32");
}

// The lie is the same one, and what is measured is of the same nodes.
TEST_F(LiveProcess, HostileNodesEndInTheSimulatorsBits) {
  for (const char* attack : {"random:sigma=3", "degree"}) {
    expect_same_digest(
        "--nodes=5 --topology=full --model=quadratic:dimension=3000 --evaluate=every=10 "
        "--rule=trimmed:drop=1 --protocol=dpsgd:rounds=20 --sharing=jwins "
        "--faults=hostile=2,attack=" +
        std::string(attack));
    EXPECT_EQ(summary("live")["hostile"], summary("sim")["hostile"]);
    EXPECT_EQ(summary("live")["hostile"].size(), 2u);
    EXPECT_EQ(summary("live")["node_loss"], summary("sim")["node_loss"]);
  }
}

// Its data lies, and its messages do not.
TEST_F(LiveProcess, OneThatFlipsLabelsEndsInTheSimulatorsBits) {
  const std::string experiment =
      "--nodes=4 --topology=ring --data=synthetic:samples=400,test=100 --model=logistic "
      "--partition=iid --protocol=dpsgd:rounds=12 --evaluate=every=6 ";
  expect_same_digest(experiment + "--faults=hostile=n2,attack=label_flip");
  const auto flipped = summary("live");
  EXPECT_EQ(flipped["hostile"], nlohmann::json({2}));
  EXPECT_TRUE(flipped["node_accuracy"][2].is_null());
  fs::remove_all(root_ / "sim");
  ASSERT_EQ(tessera(fmt::format("sim {} --quiet --out={}", experiment, out("sim"))), 0);
  EXPECT_NE(flipped["model_digest"], summary("sim")["model_digest"]);
  EXPECT_GT(flipped["accuracy"].get<double>(), 0.5 * summary("sim")["accuracy"].get<double>());
}

struct Defect {
  const char* attack;
  const char* refused;  // The word, and whose.
};
constexpr Defect kDefects[] = {{"nan", "not-finite of node 3"},
                               {"random:sigma=1e30", "too-large of node 3"},
                               {"future:ahead=1000", "early"},
                               {"stale", "late"}};

class LiveHostile : public LiveProcess, public testing::WithParamInterface<Defect> {};

// Nobody waits for it, so nobody skips rounds: a node that skipped more than a tenth would say so
// by its exit code, 3.
TEST_P(LiveHostile, HonestNodesEndWellBesideIt) {
  ASSERT_EQ(
      tessera(fmt::format("launch {} {} --faults=hostile=n3,attack={} --pace=10ms --linger=2s "
                          "--protocol=dpsgd:rounds=60,patience=2s --quiet --out={}",
                          toy_, quick_, GetParam().attack, out("live"))),
      0)
      << said("err");
  const auto honest = summary("live");
  EXPECT_EQ(honest["hostile"], nlohmann::json({3}));
  EXPECT_NE(said("out").find("figures are of 7 honest nodes; 1 are hostile"), std::string::npos);
  for (int id = 0; id < 8; ++id) {
    const auto& loss = honest["node_loss"][id];
    EXPECT_EQ(loss.is_null(), id == 3);
    if (id != 3) {
      EXPECT_LT(loss.get<double>(), 0.5);  // Untrained: 1.
    }
  }
  EXPECT_TRUE(honest["refusals"].contains(GetParam().refused)) << honest["refusals"];
}
INSTANTIATE_TEST_SUITE_P(Attacks, LiveHostile, testing::ValuesIn(kDefects), [](const auto& defect) {
  return std::string(defect.param.attack)
      .substr(0, std::string_view(defect.param.attack).find(':'));
});

TEST_F(LiveProcess, AnAttackThatNeedsToSeeTheOthersIsForSimulations) {
  EXPECT_EQ(
      tessera(fmt::format("launch {} --faults=hostile=1,attack=alie --out={}", toy_, out("live"))),
      2);
  EXPECT_NE(said("err").find("only a simulation can show it"), std::string::npos) << said("err");
  EXPECT_FALSE(fs::exists(root_ / "live"));
}

class LiveFashionMnist : public LiveProcess, public testing::WithParamInterface<const char*> {};

TEST_P(LiveFashionMnist, EndsInTheSimulatorsBits) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "Debian's dataset-fashion-mnist is not installed";
  expect_same_digest(
      fmt::format("{}/experiments/fashion_sharings.toml:{} --nodes=8 --protocol=dpsgd:rounds=4 "
                  "--evaluate=every=2,samples=200",
                  TESSERA_SOURCE_DIR, GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Recipes, LiveFashionMnist, testing::Values("full", "jwins", "choco"),
                         [](const auto& recipe) { return std::string(recipe.param); });

TEST_F(LiveProcess, KilledAndFrozenNodesThatSaveEveryRoundChangeNoBit) {
  expect_same_digest(
      "--nodes=8 --model=quadratic:dimension=3000 --evaluate=every=50 "
      "--protocol=dpsgd:rounds=60 --sharing=jwins --merge=every:rounds=7,codec=gamma+q8",
      quick_ +
          "--pace=20ms --checkpoint=0s --restart "
          "--nemesis=for=3s,every=300ms,frozen=400ms,seed=3");
  EXPECT_NE(said("out").find("times killed"), std::string::npos) << said("out");
}

// DivShare ends at a moment, and sanitized nodes need more time for as many trainings.
#if TESSERA_SANITIZED
constexpr const char* kWhile = "15s";
#else
constexpr const char* kWhile = "5s";
#endif

TEST_F(LiveProcess, NobodyIsLeftBehindByTheNemesis) {
  const std::string scatter = fmt::format(
      "--protocol=divshare:fanout=4,until={} --sharing=fragments --evaluate=every=2s", kWhile);
  for (const std::string& how :
       {std::string("--protocol=dpsgd:rounds=100,patience=1s --evaluate=every=50"), scatter}) {
    fs::remove_all(root_ / "live");
    ASSERT_EQ(tessera(fmt::format(
                  "launch --nodes=8 --model=quadratic:dimension=3000,lr=0.03 {} {} --pace=20ms "
                  "--gather=2s --checkpoint=200ms --restart "
                  "--nemesis=for=3s,every=250ms,frozen=400ms --quiet --out={}",
                  how, quick_, out("live"))),
              0)
        << said("err");
    const auto disturbed = summary("live");
    EXPECT_EQ(disturbed["node_loss"].size(), 8u);
    for (const auto& loss : disturbed["node_loss"]) {
      EXPECT_LT(loss.get<double>(), 0.4) << how;  // Untrained: 1.
      EXPECT_TRUE(std::isfinite(loss.get<double>()));
    }
  }
}

// It begins when all have saved themselves: where most nodes have not, those who have take
// themselves for leftovers of an earlier run.
TEST_F(LiveProcess, FullDisksLoseNothing) {
  ASSERT_EQ(
      tessera(fmt::format(
          "launch --nodes=6 --model=quadratic:dimension=3000 --evaluate=every=20 {} "
          "--protocol=dpsgd:rounds=180,patience=1s --pace=20ms --gather=2s "
          "--checkpoint=100ms --faults=hostile=1,attack=nan --linger=1s --restart "
          "--nemesis=for=5s,after=2500ms,every=100ms,frozen=200ms,full=400ms --quiet --out={}",
          quick_, out("live"))),
      0)
      << said("err");
  std::string logs;
  for (int id = 0; id < 6; ++id)
    logs += *read_text_file(root_ / "live" / "logs" / fmt::format("n{:02}.log", id));
  EXPECT_EQ(said("out").find(" 0 times without a disk"), std::string::npos) << said("out");
  EXPECT_EQ(logs.find("passed over"), std::string::npos) << logs;
  const auto disturbed = summary("live");
  EXPECT_FALSE(disturbed["refusals"].contains("rows-lost"));
  EXPECT_EQ(disturbed["hostile"].size(), 1u);
  for (int id = 0; id < 6; ++id) {
    const auto& loss = disturbed["node_loss"][id];
    EXPECT_EQ(loss.is_null(), id == disturbed["hostile"][0]);
    EXPECT_TRUE(loss.is_null() || std::isfinite(loss.get<double>()));
  }
}

TEST_F(LiveProcess, AMemberThatNobodyCanFindCostsNobody) {
  expect_same_digest(toy_ + "--protocol=dpsgd:rounds=20",
                     quick_ + "--gather=1s --linger=1s --nemesis=for=0s,absent=2");
}

TEST_F(LiveProcess, CtrlCStopsEveryNodeAndResumeGoesOnToTheSameBits) {
  const std::string experiment =
      toy_ + "--topology=ring --protocol=dpsgd:rounds=80 --sharing=jwins";
  ASSERT_EQ(tessera(fmt::format("sim {} --quiet --out={}", experiment, out("sim"))), 0);
  const std::string launch =
      fmt::format("launch {} --quiet --pace=20ms --out={}", experiment, out("live"));
  const pid_t pid = start(launch);
  ASSERT_TRUE(await([&] { return node_answers("live", 5); })) << said("err");
  ::kill(pid, SIGINT);
  int status = 0;
  ::waitpid(pid, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 130) << said("err");
  EXPECT_FALSE(fs::exists(root_ / "live" / "keys"));
  ASSERT_EQ(tessera(launch + " --resume"), 0) << said("err");
  EXPECT_EQ(summary("live")["model_digest"], summary("sim")["model_digest"]);
}

TEST_F(LiveProcess, NoNodeOutlivesALauncherThatIsKilled) {
  const pid_t pid = start(fmt::format(
      "launch {} --protocol=dpsgd:rounds=100000 --pace=20ms --quiet --out={}", toy_, out("live")));
  ASSERT_TRUE(await([&] { return node_answers("live", 2); })) << said("err");
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  // Their sockets stay in the folders, and nobody answers.
  EXPECT_TRUE(await([&] {
    for (int id = 0; id < 8; ++id)
      if (tessera(fmt::format("status {}/nodes/n{:02}", out("live"), id)) == 0) return false;
    return true;
  }));
}

TEST_F(LiveProcess, WhatANodeRecordsReplays) {
  ASSERT_EQ(tessera(fmt::format("launch {} --protocol=divshare:fanout=3,until=2s --record "
                                "--sharing=fragments --evaluate=every=1s --pace=10ms --quiet "
                                "--out={}",
                                "--nodes=4 --topology=ring --model=quadratic:dimension=500",
                                out("live"))),
            0)
      << said("err");
  for (const char* name : {"n00", "n03"})
    EXPECT_EQ(tessera(fmt::format("replay {}/logs/{}.events", out("live"), name)), 0)
        << said("err");
}

TEST_F(LiveProcess, ANodeThatIsStartedAgainLeavesItsEarlierRecording) {
  for (int life = 1; life <= 3; ++life)
    EventLogWriter(root_ / "n03.events", {.config = fmt::format("life {}", life)});
  int life = 0;
  for (const char* name : {"n03.events", "n03.2.events", "n03.3.events"}) {
    const auto log = EventLogReader::open(root_ / name);
    ASSERT_TRUE(log.ok()) << log.error().message;
    EXPECT_EQ(log->header().config, fmt::format("life {}", ++life));
  }
}

TEST_F(LiveProcess, ANodeThatFailsAtEveryStartIsGivenUp) {
  EXPECT_EQ(tessera(fmt::format("launch {} --prefix=false --restart --out={}", toy_, out("live"))),
            1);
  EXPECT_NE(said("err").find("given up after 5 starts"), std::string::npos) << said("err");
  EXPECT_NE(said("err").find("ended with exit code 1 (" + out("live") + "/logs/n"),
            std::string::npos)
      << said("err");
}

TEST_F(LiveProcess, AHangUpThatIsIgnoredStopsNothing) {
  const auto before = ::signal(SIGHUP, SIG_IGN);  // As nohup does; what is started inherits it.
  const pid_t pid = start(fmt::format(
      "launch {} --protocol=dpsgd:rounds=60 --pace=20ms --quiet --out={}", toy_, out("live")));
  ::signal(SIGHUP, before);
  ASSERT_TRUE(await([&] { return node_answers("live", 2); })) << said("err");
  ::kill(pid, SIGHUP);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << said("err");
}

TEST_F(LiveProcess, WithoutALogANodeIsNotStarted) {
  const Plan plan = read_live_plan({.nodes = "2", .topology = "ring"});
  LiveCluster cluster(plan, {.folder = root_ / "cluster", .program = "/bin/true"});
  Child& child = cluster.children().front();
  child.log = root_;
  try {
    cluster.start(child);
    ADD_FAILURE() << "a folder cannot be written to";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(root_.string() + " cannot be opened"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(child.pid, 0);
}

TEST_F(LiveProcess, FoldersOfNodesAreInTheOrderOfTheirNumbers) {
  for (const char* name : {"n100", "n11", "n02", "n1000", "n99"})
    fs::create_directories(root_ / name);
  std::ofstream(root_ / "n03") << "not a folder";
  std::vector<std::string> names;
  for (const fs::path& folder : node_folders(root_)) names.push_back(folder.filename());
  EXPECT_EQ(names, (std::vector<std::string>{"n02", "n11", "n99", "n100", "n1000"}));
}

TEST_F(LiveProcess, ARecordThatIsDamagedIsNamed) {
  std::ofstream(root_ / "metrics.jsonl") << "{\"round\": 3";
  const std::vector<fs::path> folders{root_};
  try {
    collect(read_live_plan({.model = "quadratic"}), folders, {.out = root_});
    ADD_FAILURE() << "half a row was taken for a whole one";
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with((root_ / "metrics.jsonl").string()))
        << error.what();
  }
}

// Nodes that were stopped have no summary, and one whose machine is gone may have left nothing.
TEST_F(LiveProcess, WhatStoppedAndLostNodesLeftIsCollected) {
  ASSERT_EQ(tessera("launch --processes=4 --model=quadratic:dimension=100 --topology=ring "
                    "--protocol=dpsgd:rounds=20 --evaluate=every=5 --quiet --out=" +
                    out("live")),
            0)
      << said("err");
  for (const char* file : {"n01/summary.json", "n01/model.bin", "n02/metrics.jsonl"})
    ASSERT_TRUE(fs::remove(root_ / "live/nodes" / file)) << file;
  EXPECT_EQ(tessera("launch --collect --out=" + out("live")), 3);
  EXPECT_NE(
      said("err").find("n02: it left no row; n01: it has not ended, and was last tested after "
                       "round 20"),
      std::string::npos)
      << said("err");
  EXPECT_NE(said("out").find("4 live nodes"), std::string::npos) << said("out");
  const auto summary = nlohmann::json::parse(*read_text_file(root_ / "live" / "summary.json"));
  EXPECT_NE(summary["shortfall"].get<std::string>().find("n02"), std::string::npos);
  for (const char* name : {"n00", "n01", "n03"})
    fs::remove(root_ / "live/nodes" / name / "metrics.jsonl");
  EXPECT_EQ(tessera("launch --collect --out=" + out("live")), 1);
  EXPECT_NE(said("err").find("none of the 4 nodes left a row"), std::string::npos) << said("err");
}

TEST_F(LiveProcess, WrongSettingsAreAnsweredBeforeAnythingStarts) {
  EXPECT_EQ(tessera("launch --model=quadratic --protocol=dpsgd:ronds=3 --out=" + out("live")), 2);
  EXPECT_FALSE(fs::exists(root_ / "live"));
  EXPECT_EQ(tessera("node"), 2);
  EXPECT_NE(said("err").find("a node needs name"), std::string::npos) << said("err");
  EXPECT_EQ(tessera("status " + out("nowhere")), 1);
  EXPECT_EQ(tessera("replay " + out("nothing")), 2);
}

}  // namespace
}  // namespace tessera
