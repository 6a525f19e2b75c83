// What a user, a terminal, a disk or another process can do to a simulation while it goes on, and
// to what it prints: work is not lost, and the exit code is true.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "cli/process_for_tests.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class SimTrouble : public SimProcess {
 protected:
  bool has_said(const char* where, std::string_view words) const {
    return said(where).find(words) != std::string::npos;
  }
  std::ptrdiff_t lines(const char* where) const {
    const std::string words = said(where);
    return std::count(words.begin(), words.end(), '\n');
  }
  bool has_checkpoint(const char* run) const { return !fs::is_empty(root_ / run / "checkpoint"); }
  const std::string tiny_ =
      "sim --nodes=4 --topology=ring --model=quadratic --protocol=dpsgd:rounds=30 "
      "--evaluate=every=1 ";
  const std::string endless_ =
      "sim --nodes=8 --topology=ring --model=quadratic:dimension=5000 "
      "--protocol=dpsgd:rounds=1000000 --evaluate=every=1 ";
};

// The first goes on and is stopped; the second had one line for us.
TEST_F(SimTrouble, ASecondProcessInTheSameFolderIsRefused) {
  for (const char* how : {"", "--resume", "--overwrite"}) {
    fs::remove_all(root_ / "two");
    EXPECT_EQ(shell("$tessera " + endless_ +
                    "--out=$root/two > $root/out1 2> $root/err1 & first=$!;"
                    "while [ ! -s $root/two/metrics.jsonl ]; do :; done;"
                    "touch $root/two/checkpoint/3.bin.part1-00;"
                    "$tessera " +
                    endless_ + how +
                    " --out=$root/two > $root/out 2> $root/err;"
                    "echo $? > $root/second;"
                    "kill -INT $first; wait $first"),
              130);
    EXPECT_EQ(said("second"), "2\n");
    EXPECT_EQ(lines("err"), 1) << said("err");
    EXPECT_TRUE(has_said("err", "two is in use by process ")) << said("err");
    EXPECT_TRUE(fs::exists(root_ / "two" / "checkpoint" / "3.bin.part1-00"));
    EXPECT_TRUE(has_said("err1", "--resume continues it"));
    EXPECT_FALSE(fs::exists(root_ / "two" / "lock"));
  }
}

TEST_F(SimTrouble, ProgressThatCannotBeWrittenEndsNothing) {
  ASSERT_EQ(shell("$tessera " + tiny_ + "--out=$root/whole > $root/out 2> $root/err"), 0);
  for (const char* where : {"2> /dev/full", "2>&-", "> /dev/null 2>&-"}) {
    EXPECT_EQ(shell("$tessera " + tiny_ + "--out=$root/run --overwrite " + where), 0) << where;
    EXPECT_EQ(digest("run"), digest("whole"));
    EXPECT_EQ(metrics("run"), metrics("whole"));
  }
}

// As `| tee` does that dies of the same Ctrl-C, before the next line of progress.
TEST_F(SimTrouble, AReaderThatLeavesEndsNothing) {
  // The program begins when nobody reads any more.
  EXPECT_EQ(shell("(until [ -e $root/left ]; do sleep 0.01; done; $tessera " + tiny_ +
                  "--out=$root/run 2>&1; echo $? > $root/code) | (exec <&-; : > $root/left)"),
            0);
  EXPECT_EQ(said("code"), "1\n");  // The summary was not read.
  EXPECT_EQ(lines("run/metrics.jsonl"), 30);
  EXPECT_FALSE(digest("run").empty());
}

TEST_F(SimTrouble, AClosedTerminalIsAskedToStopUnlessItIsIgnored) {
  EXPECT_EQ(shell("$tessera " + endless_ +
                  "--out=$root/run > $root/out 2> $root/err & run=$!;"
                  "while [ ! -s $root/run/metrics.jsonl ]; do :; done; kill -HUP $run; wait $run"),
            130)
      << said("err");
  EXPECT_TRUE(has_checkpoint("run"));
  EXPECT_EQ(shell("trap '' HUP; $tessera " + endless_ +
                  "--out=$root/run --resume > $root/out 2> $root/err & run=$!;"
                  "rows=$(wc -l < $root/run/metrics.jsonl);"
                  "while [ $(wc -l < $root/run/metrics.jsonl) -le $((rows + 2)) ]; do :; done;"
                  "kill -HUP $run; rows=$(wc -l < $root/run/metrics.jsonl);"
                  "while [ $(wc -l < $root/run/metrics.jsonl) -le $((rows + 2)) ]; do :; done;"
                  "kill -TERM $run; wait $run"),
            130)
      << said("err");
}

TEST_F(SimTrouble, OutputThatIsLostIsAnError) {
  ASSERT_EQ(shell("$tessera " + tiny_ + "--out=$root/run > $root/out 2> $root/err"), 0);
  for (const char* command : {"list", "list sharings", "--help", "--version", "sim --help",
                              "help --man", "completion bash", "compare $root/run --format=latex",
                              "inspect --model=quadratic", "report $root/run --csv=-"}) {
    EXPECT_EQ(shell(fmt::format("$tessera {} > /dev/full 2> $root/err", command)), 1) << command;
    EXPECT_EQ(said("err"), "tessera: cannot write to standard output: No space left on device\n")
        << command;
    EXPECT_EQ(shell(fmt::format("$tessera {} 2> $root/err >&-", command)), 1) << command;
  }
  // A run is in its folder all the same.
  EXPECT_EQ(shell("$tessera " + tiny_ + "--quiet --out=$root/full > /dev/full 2> $root/err"), 1);
  EXPECT_EQ(digest("full"), digest("run"));
  EXPECT_EQ(lines("err"), 1) << said("err");
}

TEST_F(SimTrouble, TheLongestFileAllowedIsAnErrorWithAName) {
  EXPECT_EQ(shell("(ulimit -f 8; $tessera " + endless_ +
                  "--quiet --out=$root/run > $root/out 2> $root/err)"),
            1);
  EXPECT_TRUE(has_said("err", "metrics.jsonl: cannot write: File too large")) << said("err");
  EXPECT_EQ(said("run/metrics.jsonl").back(), '\n');
}

// Saved by the clock and killed: it goes on from where it was, to the same bits, and a run that
// came to its end keeps no checkpoint.
TEST_F(SimTrouble, CheckpointsComeByTime) {
  ASSERT_EQ(tessera(toy_ + "--out=" + out("whole")), 0) << said("err");
  EXPECT_EQ(shell("$tessera " + toy_ +
                  "--checkpoint-every=1ms --out=$root/run 2> $root/err & run=$!;"
                  "until ls $root/run/checkpoint/*.bin > $root/out 2>&1; do :; done;"
                  "kill -KILL $run; wait $run"),
            137);
  ASSERT_TRUE(has_checkpoint("run"));
  EXPECT_EQ(shell("$tessera " + toy_ + "--resume --out=$root/run > $root/out 2> $root/err"), 0);
  EXPECT_EQ(digest("run"), digest("whole"));
  EXPECT_EQ(metrics("run"), metrics("whole"));
  EXPECT_FALSE(has_checkpoint("run"));
  EXPECT_EQ(tessera(toy_ + "--checkpoint-every=50 --out=" + out("rounds")), 0);
  EXPECT_TRUE(has_checkpoint("rounds"));
}

TEST_F(SimTrouble, WhatHasNoEndIsNoExperiment) {
  EXPECT_EQ(tessera("sim /dev/zero --out=" + out("run")), 2);
  EXPECT_EQ(said("err"), "tessera: /dev/zero: is longer than 1048576 bytes\n");
}

TEST_F(SimTrouble, ASlipIsAnsweredBeforeTheFolder) {
  ASSERT_EQ(tessera(tiny_ + "--seeds=1,2 --out=" + out("run")), 0) << said("err");
  EXPECT_EQ(tessera(tiny_ + "--seeds=1,2 --sharing=jwnis --out=" + out("run")), 2);
  EXPECT_TRUE(has_said("err", "Did you mean 'jwins'?")) << said("err");
  EXPECT_EQ(tessera(tiny_ + "--seeds=1,2 --out=" + out("run")), 2);
  EXPECT_TRUE(has_said("err", "is there already")) << said("err");
  EXPECT_EQ(tessera(tiny_ + "--seed=5 --seeds=1,2 --out=" + out("other")), 2);
  EXPECT_EQ(said("err"), "tessera: --seed=5 is one run and --seeds=1,2 are several: give one\n");
}

TEST_F(SimTrouble, RowsGoThroughAPipe) {
  ASSERT_EQ(tessera(tiny_ + "--out=" + out("run")), 0) << said("err");
  for (const char* name : {"-", "/dev/stdout"}) {
    ASSERT_EQ(tessera("report " + out("run") + " --csv=" + name), 0) << said("err");
    EXPECT_TRUE(said("out").starts_with("run,seed,round,"));
    EXPECT_EQ(lines("out"), 31);
  }
  EXPECT_FALSE(fs::exists("-"));
}

}  // namespace
}  // namespace tessera
