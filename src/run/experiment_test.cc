#include "run/experiment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "base/files.h"
#include "run/plan.h"
#include "run/sweep.h"

namespace tessera {
namespace {

std::filesystem::path written(const std::string& text) {
  // Of this process alone: tests run side by side.
  const auto folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("experiments_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const auto path = folder / "experiment_test.toml";
  std::ofstream(path) << text;
  return path;
}

std::string refusal(const std::string& text) {
  try {
    (void)read_experiment(written(text));
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    return message.substr(message.find("experiment_test.toml") + 20);
  }
  return "(accepted)";
}

TEST(Experiment, ReadsItsKeysAndKeepsDefaults) {
  const Experiment experiment = read_experiment(written("nodes = 96\nmodel = \"gn-lenet\"\n"));
  EXPECT_EQ(parse_nodes(experiment.nodes), 96u);
  EXPECT_EQ(experiment.model, "gn-lenet");
  EXPECT_EQ(parse_seed(experiment.seed), 90u);
}

TEST(Experiment, WhatItWritesItReadsBack) {
  Experiment experiment;
  experiment.data = "csv:file='a \"quoted\" one.csv'";
  const Experiment again = read_experiment(written(to_toml(experiment)));
  for (const ExperimentKey& key : experiment_keys())
    EXPECT_EQ(again.*(key.value), experiment.*(key.value)) << key.name;
}

TEST(Experiment, ABaseHoldsWhereAFileSaysNothing) {
  const auto folder = written("").parent_path();
  std::ofstream(folder / "experiment_base.toml") << "nodes = 7\nseed = 1\n";
  const Experiment experiment =
      read_experiment(written("base = \"experiment_base.toml\"\nseed = 2\n"));
  EXPECT_EQ(parse_nodes(experiment.nodes), 7u);
  EXPECT_EQ(parse_seed(experiment.seed), 2u);
  EXPECT_NE(refusal("base = \"experiment_test.toml\"\n").find("circle"), std::string::npos);
}

// What ships must be readable, and its lines must name things that exist.
TEST(Experiment, EveryFileThatShipsIsRead) {
  std::size_t experiments = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TESSERA_SOURCE_DIR "/experiments")) {
    if (entry.path().extension() != ".toml") continue;
    const std::string text = *read_text_file(entry.path());
    const auto has = [&](const char* line) { return text.find(line) != text.npos; };
    if (!has("\n[sweep]") && !has("\n[[case]]") && !has("\ncase ")) {
      EXPECT_NO_THROW((void)read_live_plan(read_experiment(entry.path()))) << entry;
      ++experiments;
      continue;
    }
    for (const SweepCell& cell : read_sweep(entry.path())) {
      EXPECT_NO_THROW((void)read_live_plan(cell.experiment)) << entry << ": " << cell.name;
      ++experiments;
    }
  }
  EXPECT_GE(experiments, 80u);
}

TEST(Experiment, FlagsWin) {
  ExperimentArguments arguments;
  arguments.file = written("nodes = 96\nseed = 3\n").string();
  arguments.flags["nodes"] = "4";
  EXPECT_EQ(parse_nodes(arguments.resolve().nodes), 4u);
  EXPECT_EQ(parse_seed(arguments.resolve().seed), 3u);
}

TEST(Experiment, RefusalsNameLineKeyAndRemedy) {
  EXPECT_EQ(refusal("nodes = 4\nmodle = \"mlp\"\n"),
            ":2: there is no key 'modle'. Did you mean 'model'?");
  EXPECT_EQ(refusal("nodes = 1.5\n"), ":1: nodes must be a text or a whole number");
  EXPECT_EQ(refusal("seed = 1\nnodes = \"four\"\n"), ":2: nodes: 'four' is not a whole number");
  EXPECT_EQ(refusal("seed = -1\n"), ":1: seed: -1 must be at least 0");
  EXPECT_EQ(refusal("evaluate = \"5s\"\n"),
            ":1: evaluate: '5s' does not say what it is; write every=5s or every=10");
  EXPECT_EQ(refusal("nodes = 4\n[foo]\nbar = 1\n").substr(0, 29), ":2: there is no key 'foo'. Kn");
  EXPECT_EQ(refusal("base = 1.5\n"), ":1: base must be a text or a whole number");
  EXPECT_EQ(refusal("nodes = \n").substr(0, 14), ":1: not TOML: ");
  EXPECT_THROW((void)read_experiment("no/such.toml"), std::invalid_argument);
  Experiment experiment;
  experiment.nodes = "0";
  EXPECT_THROW((void)parse_nodes(experiment.nodes), std::invalid_argument);
  experiment.nodes = "many";
  EXPECT_THROW((void)parse_nodes(experiment.nodes), std::invalid_argument);
}

}  // namespace
// toml++ 3.3 runs into undefined behaviour on the first three of these.
TEST(Experiment, LettersBeyondAsciiStandInDoubleQuotesOrComments) {
  EXPECT_EQ(refusal("\xD2\x93").substr(0, 14), ":1: not TOML: ");
  EXPECT_EQ(refusal("seed = 1\nll=8=....'..\xEF\xB5\xBB"),
            ":2: letters beyond ASCII stand in double quotes");
  EXPECT_NE(refusal("a = \"\"\"\\\n\xEF\xBB\x81\"\"\""), "(accepted)");
  EXPECT_EQ(refusal("model = '\xD2\x93'\n"), ":1: letters beyond ASCII stand in double quotes");
  EXPECT_EQ(refusal("\n\nmodel = \"\xD2\"\n"), ":3: this is not UTF-8");
  const Experiment read = parse_experiment(
      "\xEF\xBB\xBF  # \xD2\x93's\ndata = \"csv:file=\xD2\x93\xF0\x9F\x98\x80.csv\"  # \xD2\x93\n",
      "x.toml");
  EXPECT_EQ(read.data, "csv:file=\xD2\x93\xF0\x9F\x98\x80.csv");
  EXPECT_EQ(refusal("i=i\n\t").find('\n'), std::string::npos);
}

}  // namespace tessera
