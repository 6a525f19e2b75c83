// A sweep as a user and a crash meet it: whole processes on the quadratic toy.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/random.h"
#include "cli/process_for_tests.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class SweepProcess : public SimProcess {
 protected:
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(root_ / name, bytes_of(text)).ok());
  }
  int sweep(const std::string& arguments, const std::string& before = "") const {
    return tessera("sweep " + arguments, before);
  }
  std::string path(const char* name) const { return (root_ / name).string(); }
  bool has_said(const char* where, std::string_view words) const {
    return said(where).find(words) != std::string::npos;
  }
  std::string text_of(const std::string& name) const { return *read_text_file(root_ / name); }

  const std::string grid_ =
      "nodes = 4\ntopology = \"ring\"\nmodel = \"quadratic:dimension=2000\"\n"
      "protocol = \"dpsgd:rounds=60\"\nevaluate = \"every=7\"\n"
      "[sweep]\nseed = \"90..92\"\nsharing = [\"full\", \"jwins\", \"topk\"]\n";
};

// Killed with all its cells at random moments, it ends with the table of one that was left alone.
TEST_F(SweepProcess, KilledAtRandomMomentsItEndsWithTheSameTable) {
  write("grid.toml", grid_);
  ASSERT_EQ(sweep(path("grid.toml") + " --jobs=2 --quiet --out=" + out("whole")), 0) << said("err");
  const std::string table = said("out");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4) << table;
  EXPECT_NE(table.find(" 3\n"), std::string::npos) << "three seeds: " << table;
  Random random(17);
  int killed = 0, code = 137;
  // Later attempts live longer, so that the sweep ends however slow the machine is.
  for (int attempt = 0; attempt < 100 && code != 0; ++attempt) {
    const std::string before =
        killed == 10 ? ""
                     : fmt::format("setsid timeout -s KILL {:.3f}",
                                   (0.05 + 0.2 * random.uniform()) * (1 + attempt * 0.1));
    code =
        sweep(path("grid.toml") + " --jobs=2 --quiet --checkpoint-every=1 --out=" + out("killed"),
              before);
    ASSERT_TRUE(code == 0 || code == 137 || code == 124) << code << said("err");
    killed += code == 137;
  }
  EXPECT_EQ(code, 0) << said("err");
  EXPECT_GT(killed, 0);
  EXPECT_EQ(said("out"), table);
  for (const char* file : {"table.csv", "table.tex"})
    EXPECT_EQ(text_of(std::string("killed/") + file), text_of(std::string("whole/") + file));
  for (const char* cell : {"full/seed-90", "jwins/seed-92"}) {
    EXPECT_EQ(digest(fmt::format("killed/{}", cell).c_str()),
              digest(fmt::format("whole/{}", cell).c_str()));
    EXPECT_EQ(metrics(fmt::format("killed/{}", cell).c_str()),
              metrics(fmt::format("whole/{}", cell).c_str()));
  }
}

TEST_F(SweepProcess, WhatIsFinishedIsNotRunAgain) {
  write("grid.toml", grid_);
  const std::string line = path("grid.toml") + " --out=" + out("grid");
  ASSERT_EQ(sweep(line + " --only=full"), 0) << said("err");
  EXPECT_TRUE(has_said("err", "3 cells, 0 finished before")) << said("err");
  const auto before = fs::last_write_time(root_ / "grid/full/seed-90/summary.json");
  ASSERT_EQ(sweep(line + " --dry-run"), 0) << said("err");
  EXPECT_TRUE(has_said("out", "finished   full/seed-92\nnew        jwins/seed-90\n"))
      << said("out");
  EXPECT_TRUE(has_said("err", "9 cells, 6 to run")) << said("err");
  EXPECT_FALSE(fs::exists(root_ / "grid/jwins"));
  ASSERT_EQ(sweep(line), 0) << said("err");
  EXPECT_TRUE(has_said("err", "9 cells, 3 finished before")) << said("err");
  EXPECT_EQ(fs::last_write_time(root_ / "grid/full/seed-90/summary.json"), before);
  EXPECT_TRUE(fs::exists(root_ / "grid/report.html"));
  EXPECT_TRUE(text_of("grid/figures/loss-bytes.svg").starts_with("<svg "));
  EXPECT_TRUE(text_of("grid/table.csv").starts_with("run,sharing,accuracy,accuracy_deviation,"));
  EXPECT_EQ(sweep(line + " --band=wide"), 2);
  EXPECT_TRUE(has_said("err", "there is no band 'wide'")) << said("err");
  ASSERT_EQ(tessera("report --svg=" + out("figures") + " --band=confidence " + out("grid")), 0);
  EXPECT_TRUE(text_of("figures/loss-rounds.svg").find("<polygon") != std::string::npos);
}

// By its own name, into the folder the sweep would use.
TEST_F(SweepProcess, ASingleCellIsAnExperimentLikeAnyOther) {
  write("grid.toml", grid_);
  const std::string cell = path("grid.toml") + ":jwins/seed-91";
  ASSERT_EQ(tessera("sim " + cell + " --quiet --out=" + out("grid/jwins/seed-91")), 0)
      << said("err");
  ASSERT_EQ(sweep(path("grid.toml") + " --only=jwins --out=" + out("grid")), 0) << said("err");
  EXPECT_TRUE(has_said("err", "3 cells, 1 finished before")) << said("err");
  ASSERT_EQ(sweep(path("grid.toml") +
                  " --only=jwins --seeds=91..93 --target=loss=100 --out=" + out("grid")),
            0)
      << said("err");
  EXPECT_TRUE(has_said("err", "3 cells, 2 finished before")) << said("err");
  EXPECT_TRUE(has_said("out", "to a loss of 100")) << said("out");
  EXPECT_TRUE(has_said("out", "4 of 4\n")) << "the fourth is of another seed: " << said("out");
  EXPECT_EQ(tessera("sim " + path("grid.toml")), 2);
  EXPECT_TRUE(has_said("err", "is a sweep of several experiments")) << said("err");
  EXPECT_EQ(tessera("sim " + path("grid.toml") + ":jwin"), 2);
  EXPECT_TRUE(has_said("err", "there is no cell 'jwin'. Did you mean 'jwins'?")) << said("err");
}

TEST_F(SweepProcess, ACellThatFailsIsNamedAndTheRestGoesOn) {
  write("grid.toml", grid_);
  const std::string line = path("grid.toml") + " --only=full,jwins --out=" + out("grid");
  ASSERT_EQ(sweep(line), 0) << said("err");
  // A folder where its summary should be.
  ASSERT_EQ(shell("cd $root/grid/full; rm seed-91/summary.json seed-92/summary.json; "
                  "mkdir -p seed-91/summary.json/full"),
            0);
  EXPECT_EQ(sweep(line), 1) << said("err");
  EXPECT_TRUE(has_said("err", "\nfailed: full/seed-91: ")) << said("err");
  EXPECT_TRUE(has_said("err", "summary.json")) << said("err");
  EXPECT_TRUE(has_said("err", "1 of 6 cells failed")) << said("err");
  EXPECT_TRUE(fs::exists(root_ / "grid/full/seed-92/summary.json"));
  EXPECT_TRUE(has_said("out", "jwins")) << said("out");
}

TEST_F(SweepProcess, AFolderOfAnotherExperimentIsRefusedByName) {
  write("grid.toml", grid_);
  const std::string line = path("grid.toml") + " --only=full --quiet --out=" + out("grid");
  ASSERT_EQ(sweep(line), 0) << said("err");
  const std::string before = text_of("grid/full/seed-90/summary.json");
  EXPECT_EQ(sweep(line + " --nodes=6"), 2);
  EXPECT_TRUE(has_said("err",
                       "grid/full/seed-90/config.toml differs from what is asked for now "
                       "(nodes = 6)"))
      << said("err");
  EXPECT_EQ(text_of("grid/full/seed-90/summary.json"), before);
  ASSERT_EQ(tessera(toy_ + "--out=" + out("run")), 0);
  EXPECT_EQ(sweep(path("grid.toml") + " --out=" + out("run")), 2);
  EXPECT_TRUE(has_said("err", "run holds a run of its own")) << said("err");
}

TEST_F(SweepProcess, CtrlCStopsEveryCellWithACheckpoint) {
  write("grid.toml",
        "nodes = 8\nmodel = \"quadratic:dimension=5000\"\ntopology = \"ring\"\n"
        "protocol = \"dpsgd:rounds=1000000\"\nevaluate = \"every=1\"\n[sweep]\nseed = [1, 2]\n");
  EXPECT_EQ(
      shell("$tessera sweep $root/grid.toml --jobs=2 --out=$root/grid "
            "> $root/out 2> $root/err & sweep=$!;"
            "while kill -0 $sweep 2>/dev/null && { [ ! -s $root/grid/seed-1/metrics.jsonl ] || "
            "[ ! -s $root/grid/seed-2/metrics.jsonl ]; }; do sleep 0.01; done;"
            "kill -INT $sweep; wait $sweep"),
      130);
  EXPECT_TRUE(has_said("err", "stopped; the same command goes on where it was")) << said("err");
  for (const char* seed : {"grid/seed-1", "grid/seed-2"}) {
    EXPECT_FALSE(fs::is_empty(root_ / seed / "checkpoint")) << seed;
    EXPECT_FALSE(fs::exists(root_ / seed / "lock")) << seed;
  }
}

TEST_F(SweepProcess, StoppedItShowsWhatIsFinished) {
  write("two.toml",
        "nodes = 4\nmodel = \"quadratic:dimension=2000\"\ntopology = \"ring\"\n"
        "evaluate = \"every=1\"\ncase = [\n{ name = \"short\", protocol = \"dpsgd:rounds=5\" },\n"
        "{ name = \"endless\", protocol = \"dpsgd:rounds=1000000\" },\n]\n");
  EXPECT_EQ(shell("$tessera sweep $root/two.toml --jobs=1 --out=$root/two "
                  "> $root/out 2> $root/err & sweep=$!;"
                  "while kill -0 $sweep 2>/dev/null && [ ! -s $root/two/endless/metrics.jsonl ]; "
                  "do sleep 0.01; done;"
                  "kill -TERM $sweep; wait $sweep"),
            130);
  EXPECT_TRUE(has_said("out", "\nshort ")) << said("out") << said("err");
  EXPECT_FALSE(has_said("out", "endless")) << said("out");
  EXPECT_TRUE(fs::exists(root_ / "two/table.csv"));
}

TEST_F(SweepProcess, ACellThatDivergesIsDoneAndTheTableSaysSo) {
  write("two.toml",
        "nodes = 4\ntopology = \"ring\"\nprotocol = \"dpsgd:rounds=400\"\ncase = [\n"
        "{ name = \"tame\", model = \"quadratic\" },\n"
        "{ name = \"wild\", model = \"quadratic:lr=3\" },\n]\n");
  const std::string line = path("two.toml") + " --out=" + out("two");
  for (const char* already : {"0 finished before", ""}) {
    ASSERT_EQ(sweep(line), 0) << said("err");
    EXPECT_TRUE(has_said("err", already)) << said("err");
    EXPECT_TRUE(has_said("out", "\nwild (diverged) ")) << said("out");
    EXPECT_TRUE(has_said("err", "wild, seed 90: node ")) << said("err");
    EXPECT_TRUE(has_said("err", "has diverged by round")) << said("err");
  }
  EXPECT_FALSE(has_said("err", "wild  diverged")) << "it ran again: " << said("err");
  ASSERT_EQ(sweep(line + " --dry-run"), 0);
  EXPECT_EQ(said("out"), "finished   tame\ndiverged   wild\n");
  // By itself it is tried again, and what it had come to is forgotten.
  EXPECT_EQ(
      tessera("sim " + path("two.toml") + ":tame --overwrite --quiet --out=" + out("two/wild")), 0);
  EXPECT_FALSE(fs::exists(root_ / "two/wild/diverged"));
}

// A run of one seed would stand for all: only it would be in the table.
TEST_F(SweepProcess, SeedsBesideARunOfOneSeedAreRefusedUntilItIsOneOfThem) {
  write("one.toml",
        "nodes = 4\nmodel = \"quadratic\"\ntopology = \"ring\"\nprotocol = \"dpsgd:rounds=5\"\n"
        "[sweep]\nsharing = [\"full\", \"jwins\"]\n");
  const std::string line = path("one.toml") + " --only=full --quiet --out=" + out("one");
  ASSERT_EQ(sweep(line), 0) << said("err");
  EXPECT_EQ(sweep(line + " --seeds=90..92"), 2);
  EXPECT_TRUE(has_said("err", "one/full holds a run of one seed")) << said("err");
  ASSERT_EQ(shell("cd $root/one; mkdir some; mv full some/seed-90; mv some full"), 0);
  const auto before = fs::last_write_time(root_ / "one/full/seed-90/summary.json");
  ASSERT_EQ(sweep(line + " --seeds=90..92"), 0) << said("err");
  EXPECT_TRUE(has_said("out", " 3\n")) << "three seeds: " << said("out");
  EXPECT_EQ(fs::last_write_time(root_ / "one/full/seed-90/summary.json"), before);
}

TEST_F(SweepProcess, ForSlurmItIsAJobArrayOfWhatIsNotFinished) {
  write("grid.toml", grid_);
  const std::string line = path("grid.toml") + " --out=" + out("grid");
  ASSERT_EQ(sweep(line + " --only=full"), 0) << said("err");
  ASSERT_EQ(sweep(line + " --slurm --dry-run"), 0) << said("err");
  EXPECT_TRUE(said("out").starts_with("#!/bin/bash\n# The 6 cells that were not finished"));
  EXPECT_TRUE(has_said("out", "#SBATCH --array=0-5\n")) << said("out");
  EXPECT_TRUE(has_said("out", "grid/jwins/seed-90'\n")) << said("out");
  EXPECT_FALSE(has_said("out", "full/seed-90")) << said("out");
  EXPECT_FALSE(fs::exists(root_ / "grid/sweep.sbatch"));
  EXPECT_FALSE(fs::exists(root_ / "grid/jwins"));
  // A stand-in for Slurm that runs the tasks one after the other.
  ASSERT_EQ(shell("mkdir $root/bin; printf '#!/bin/sh\\nexec \"$@\"\\n' > $root/bin/srun;"
                  "printf '#!/bin/sh\\nfor i in 0 1 2 3 4 5; do SLURM_ARRAY_TASK_ID=$i "
                  "bash \"$1\"; done\\n' > $root/bin/sbatch; chmod +x $root/bin/*;"
                  "PATH=$root/bin:$PATH $tessera sweep $root/grid.toml --out=$root/grid --slurm "
                  "> $root/out 2> $root/err"),
            0)
      << said("err");
  ASSERT_EQ(sweep(line), 0) << said("err");
  EXPECT_FALSE(has_said("err", "finished before")) << "nothing was left to run: " << said("err");
  EXPECT_TRUE(has_said("out", "topk")) << said("out");
}

TEST_F(SweepProcess, ASlipIsOneLineBeforeAnythingRuns) {
  write("grid.toml", grid_ + "protocol = [\"dpsgd:round=4\"]\n");
  EXPECT_EQ(sweep(path("grid.toml") + " --out=" + out("grid")), 2);
  EXPECT_TRUE(has_said("err", "cell full-dpsgd/seed-90: ")) << said("err");
  EXPECT_FALSE(fs::exists(root_ / "grid"));
  EXPECT_EQ(sweep(path("no.toml")), 2);
  EXPECT_EQ(sweep(""), 2);
  EXPECT_TRUE(has_said("err", "name the sweep's file")) << said("err");
  write("one.toml", "nodes = 4\n");
  EXPECT_EQ(sweep(path("one.toml")), 2);
  EXPECT_TRUE(has_said("err", "nothing varies")) << said("err");
}

}  // namespace
}  // namespace tessera
