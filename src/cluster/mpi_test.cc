// The program and MPI as they are started: mpirun, several processes, kills and resumes. Where
// there is no mpirun these are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "cluster/door/door.h"
#include "run/ranks_matrix.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Open MPI wants to be told that more processes than cores, and root, are meant; MPICH does not
// ask. What MPI itself leaks is not ours.
constexpr const char* kSurroundings =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
    "OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl=self,vader "
    "OMPI_MCA_plm=isolated ASAN_OPTIONS=detect_leaks=0";

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v mpirun > /dev/null") != 0)
      GTEST_SKIP() << "there is no mpirun: scripts/setup.sh test installs one";
    root_ = fs::temp_directory_path() / fmt::format("tessera-mpi-{}", ::getpid());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  int shell(const std::string& command) {
    const int status =
        std::system(fmt::format("cd {} && {} > out 2> err", root_.string(), command).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int mpirun(int ranks, const std::string& command, const std::string& before = "") {
    return shell(fmt::format("{} {} mpirun -n {} {}", kSurroundings, before, ranks, command));
  }
  int sim(int ranks, const std::string& flags, const std::string& before = "") {
    return mpirun(ranks, fmt::format("{} sim {} {}", TESSERA_PROGRAM, toy_, flags), before);
  }
  std::string said(const char* where) {
    const auto text = read_text_file(root_ / where);
    return text.ok() ? *text : "";
  }
  std::string digest(const char* out) {
    const auto text = read_text_file(root_ / out / "summary.json");
    return text.ok() ? nlohmann::json::parse(*text)["model_digest"].get<std::string>() : "none";
  }

  std::string toy_ =
      "--model=quadratic:dimension=2000 --nodes=12 --sharing=jwins --evaluate=every=30 --quiet "
      "--protocol=dpsgd:rounds=150";
  fs::path root_;
};

// Not a test by itself: what the next one starts, with one start of MPI for all experiments.
TEST(MpiStory, DISABLED_IsWritten) {
  const std::unique_ptr<Cluster> cluster = join_cluster();
  std::string story;
  for (const auto& [name, experiment] : ranks_matrix()) {
    SimulatedRun run(read_plan(experiment), 1, cluster.get());
    story += name + "\n" + story_of(run) + "\n";
  }
  if (!cluster || cluster->mine() == 0) or_throw(write_file("story", bytes_of(story)));
}

TEST_F(Mpi, TwentyExperimentsEndInTheSameBitsOnAnyNumberOfRanks) {
  const std::string write =
      fmt::format("{} --gtest_also_run_disabled_tests --gtest_filter=MpiStory.DISABLED_IsWritten",
                  fs::read_symlink("/proc/self/exe").string());
  ASSERT_EQ(shell(write), 0) << said("err");
  const std::string alone = said("story");
  ASSERT_GT(alone.size(), 10'000u);
  for (const int ranks : {2, 3, 4, 7}) {
    fs::remove(root_ / "story");
    ASSERT_EQ(mpirun(ranks, write), 0) << said("err");
    EXPECT_EQ(said("story"), alone) << ranks;
  }
}

TEST_F(Mpi, TheProgramSpeaksWithOneVoice) {
  ASSERT_EQ(shell(fmt::format("{} sim {} --out=alone", TESSERA_PROGRAM, toy_)), 0) << said("err");
  ASSERT_EQ(sim(3, "--out=three"), 0) << said("err");
  EXPECT_EQ(digest("three"), digest("alone"));
  EXPECT_EQ(*read_text_file(root_ / "three/metrics.jsonl"),
            *read_text_file(root_ / "alone/metrics.jsonl"));
  const std::string out = said("out");
  EXPECT_EQ(out.find("accuracy"), out.rfind("accuracy", out.find("their mean") - 1)) << out;

  EXPECT_EQ(sim(3, "--out=three"), 2);  // It is there already.
  const std::string err = said("err");
  EXPECT_NE(err.find("three"), err.npos) << err;
  EXPECT_EQ(err.find("tessera:"), err.rfind("tessera:")) << err;
}

TEST_F(Mpi, KilledItIsResumedByAnotherNumberOfRanks) {
  ASSERT_EQ(sim(2, "--out=whole"), 0) << said("err");
  int killed = 0;
  for (int attempt = 0; killed < 4; ++attempt) {
    const int code = sim(2 + attempt % 3, "--checkpoint-every=1 --resume --out=killed",
                         fmt::format("timeout -s KILL {:.2f}", 0.5 + 0.15 * attempt));
    if (code == 0) break;
    ++killed;
    // mpirun was killed; its ranks end when they notice.
    shell("while pgrep -f [o]ut=killed > /dev/null; do sleep 0.1; done");
  }
  EXPECT_GT(killed, 0);
  if (!fs::exists(root_ / "killed/summary.json")) {
    ASSERT_EQ(sim(3, "--resume --out=killed"), 0) << said("err");
  }
  EXPECT_EQ(digest("killed"), digest("whole"));
}

// As Slurm does before a time limit.
TEST_F(Mpi, ASignalStopsAllRanksWithACheckpoint) {
  toy_ += "0";  // Long enough for a signal to find it at work.
  ASSERT_EQ(sim(2, "--out=whole"), 0) << said("err");
  int stopped = 0;
  for (int attempt = 1; attempt < 50 && stopped < 3; ++attempt) {
    // Before the run has written anything MPICH's mpirun may not pass a signal on.
    const int code = shell(fmt::format(
        "{{ {} mpirun -n 3 {} sim {} --resume --out=stopped & run=$!; while kill -0 $run && ! [ -e "
        "stopped/metrics.jsonl ]; do sleep 0.05; done; sleep {:.2f}; kill -USR1 $run; wait $run; "
        "}}",
        kSurroundings, TESSERA_PROGRAM, toy_, 0.15 * attempt));
    if (fs::exists(root_ / "stopped/summary.json")) break;
    // Caught before the ranks could listen, the signal ends them at once; after that it is an
    // orderly stop.
    if (code == 0) ++stopped;
  }
  EXPECT_GT(stopped, 0);
  if (!fs::exists(root_ / "stopped/summary.json")) {
    ASSERT_EQ(sim(2, "--resume --out=stopped"), 0) << said("err");
  }
  EXPECT_EQ(digest("stopped"), digest("whole"));
}

TEST_F(Mpi, ARankThatFailsEndsAllAndSaysWhy) {
  const auto fails_with = [&](const std::string& flags, const std::string& why) {
    EXPECT_NE(mpirun(2, fmt::format("{} sim {} --quiet --out=x", TESSERA_PROGRAM, flags)), 0);
    const std::string err = said("err");
    EXPECT_NE(err.find(why), err.npos) << err;
    EXPECT_EQ(err.find("tessera:"), err.rfind("tessera:")) << err;
  };
  fails_with("--model=mlp --data=idx:dir=nowhere", "nowhere");
  fails_with("--nodes=4 --nodes=5", "more than once");
  fails_with("--training=sgd:lr=1e30 --protocol=dpsgd:rounds=20", "diverged");
}

// A script that gives each process something else to do meant several runs, and got one. Open MPI
// and MPICH have each their own variable for the rank.
TEST_F(Mpi, RanksThatWereGivenDifferentThingsAreRefused) {
  const auto one_line = [&](const std::string& script, const std::string& why) {
    EXPECT_NE(mpirun(2, fmt::format("sh -c '{}'", script)), 0);
    const std::string err = said("err");
    EXPECT_NE(err.find(why), err.npos) << err;
    EXPECT_EQ(err.find("tessera:"), err.rfind("tessera:")) << err;
  };
  one_line(fmt::format("{} sim --model=quadratic --seed=$OMPI_COMM_WORLD_RANK$PMI_RANK --out=x",
                       TESSERA_PROGRAM),
           "rank 1 of 2 was given another");
  or_throw(write_file(root_ / "0.toml", bytes_of(std::string("model = \"quadratic\"\n"))));
  one_line(fmt::format("{} sim $OMPI_COMM_WORLD_RANK$PMI_RANK.toml --out=x", TESSERA_PROGRAM),
           "rank 1: ");
}

}  // namespace
}  // namespace tessera
