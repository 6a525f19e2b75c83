#include "run/sweep.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "run/plan.h"

namespace tessera {
namespace {

std::vector<std::string> names(const std::vector<SweepCell>& cells) {
  std::vector<std::string> found;
  for (const SweepCell& cell : cells) found.push_back(cell.name);
  return found;
}

std::string refusal(const std::string& text, const std::map<std::string, std::string>& flags = {}) {
  try {
    (void)parse_sweep(text, "s.toml", flags);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(accepted)";
}

using Names = std::vector<std::string>;

TEST(Sweep, CrossesItsListsInTheOrderOfTheFileWithSeedsInnermost) {
  const auto cells = parse_sweep(
      "nodes = 8\n[sweep]\nseed = \"90..91\"\nsharing = [\"full\", \"jwins\"]\n"
      "protocol = [\"dpsgd:rounds=5\"]\n",
      "s.toml");
  EXPECT_EQ(names(cells), (Names{"full-dpsgd/seed-90", "full-dpsgd/seed-91", "jwins-dpsgd/seed-90",
                                 "jwins-dpsgd/seed-91"}));
  EXPECT_EQ(cells[3].run, "jwins-dpsgd");
  EXPECT_EQ(cells[3].experiment.sharing, "jwins");
  EXPECT_EQ(cells[3].experiment.seed, "91");
  EXPECT_EQ(cells[3].experiment.nodes, "8");
}

TEST(Sweep, AnOptionChangesItsLineAndLeavesTheRest) {
  const auto cells = parse_sweep(
      "network = \"links:up=60Mbit/s,slowdown=5,stragglers=3\"\n[sweep]\n"
      "network.slowdown = [1, 2.5]\nevaluate.every = [7]\nfaults.loss = [0.1]\n",
      "s.toml");
  EXPECT_EQ(names(cells), (Names{"slowdown=1-every=7-loss=0.1", "slowdown=2.5-every=7-loss=0.1"}));
  EXPECT_EQ(cells[1].experiment.network, "links:up=60Mbit/s,slowdown=2.5,stragglers=3");
  EXPECT_EQ(cells[1].experiment.evaluate, "every=7");
  EXPECT_EQ(cells[1].experiment.faults, "loss=0.1");
}

TEST(Sweep, ACaseIsLinesThatGoTogetherAndMayHaveListsOfItsOwn) {
  const auto cells = parse_sweep(
      "[sweep]\nseed = [7]\n[[case]]\nname = \"full\"\nsharing = \"full\"\n"
      "[[case]]\nname = \"jwins\"\nsharing = \"jwins\"\ncodec = \"gamma+planes\"\n"
      "\"sharing.budget\" = [0.1, 0.2]\n",
      "s.toml");
  EXPECT_EQ(names(cells),
            (Names{"full/seed-7", "jwins-budget=0.1/seed-7", "jwins-budget=0.2/seed-7"}));
  EXPECT_EQ(cells[2].experiment.sharing, "jwins:budget=0.2");
  EXPECT_EQ(cells[2].varied[0], (std::pair<std::string, std::string>{"case", "jwins"}));
  EXPECT_EQ(cells[2].varied[1], (std::pair<std::string, std::string>{"sharing.budget", "0.2"}));
}

// Four sharings, five seeds, three budgets: one file.
TEST(Sweep, SharingsTimesSeedsTimesBudgets) {
  const auto cells = parse_sweep(
      "model = \"quadratic\"\n[sweep]\nseed = \"90..94\"\n"
      "sharing = [\"random\", \"topk\", \"jwins\", \"choco\"]\n\"sharing.budget\" = [0.1, 0.2, "
      "0.4]\n",
      "s.toml");
  ASSERT_EQ(cells.size(), 60u);
  EXPECT_EQ(cells[0].name, "random-budget=0.1/seed-90");
  EXPECT_EQ(cells[59].name, "choco-budget=0.4/seed-94");
  for (const SweepCell& cell : cells)
    EXPECT_NO_THROW((void)read_plan(cell.experiment)) << cell.name;
}

TEST(Sweep, ValuesThatBeginAlikeAreCalledByAllOfTheirText) {
  const auto cells =
      parse_sweep("[sweep]\nsharing = [\"topk:budget=0.1\", \"topk:budget=0.2\"]\n", "s.toml");
  EXPECT_EQ(names(cells), (Names{"topk_budget=0.1", "topk_budget=0.2"}));
}

TEST(Sweep, OnlySeedsAreOneRun) {
  const auto cells = parse_sweep("[sweep]\nseed = \"90..92\"\n", "s.toml");
  EXPECT_EQ(names(cells), (Names{"seed-90", "seed-91", "seed-92"}));
  EXPECT_EQ(cells[0].run, "");
}

TEST(Sweep, AFlagIsForLinesThatDoNotVary) {
  const std::string text = "nodes = 8\n[sweep]\nsharing = [\"full\", \"jwins\"]\n";
  EXPECT_EQ(parse_sweep(text, "s.toml", {{"nodes", "4"}, {"seed", ""}})[1].experiment.nodes, "4");
  EXPECT_EQ(refusal(text, {{"sharing", "topk"}}),
            "--sharing=topk: the sweep varies sharing itself; choose cells with --only, or change "
            "its file");
}

TEST(Sweep, SeedsOfAFlagReplaceItsOwn) {
  const std::string text = "[sweep]\nseed = [1, 2, 3]\nsharing = [\"full\"]\n";
  EXPECT_EQ(names(parse_sweep(text, "s.toml", {{"seeds", "7..8"}})),
            (Names{"full/seed-7", "full/seed-8"}));
  EXPECT_EQ(names(parse_sweep("[[case]]\nname = \"a\"\nseed = 4\n", "s.toml", {{"seeds", "5"}})),
            (Names{"a/seed-5"}));
}

TEST(Sweep, CellsAreChosenByNameRunOrLabel) {
  const auto cells = parse_sweep(
      "[sweep]\nseed = \"90..91\"\nsharing = [\"full\", \"jwins\"]\nnodes = [4, 8]\n", "s.toml");
  EXPECT_EQ(chosen_cells(cells, {"jwins"}).size(), 4u);
  EXPECT_EQ(chosen_cells(cells, {"jwins-nodes=8", "full-nodes=4/seed-90"}).size(), 3u);
  EXPECT_EQ(chosen_cells(cells, {}).size(), 8u);
  try {
    (void)chosen_cells(cells, {"jwin"});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "there is no cell 'jwin'. Did you mean 'jwins'?");
  }
}

TEST(Sweep, RefusesInOneLineThatNamesThingValueAndRemedy) {
  EXPECT_EQ(refusal("[sweep]\nsharin = [\"full\"]\n"),
            "s.toml:2: there is no key 'sharin'. Did you mean 'sharing'?");
  EXPECT_EQ(refusal("[sweep]\nsharing = []\n"),
            "s.toml:2: sharing = []: an empty list makes no experiment; give it values, or remove "
            "it");
  EXPECT_EQ(refusal("sharing = [\"full\"]\n[sweep]\nseed = [1]\n"),
            "s.toml:1: sharing must be a text or a whole number; lists and single options stand "
            "under [sweep]");
  EXPECT_EQ(refusal("[sweep]\nsharing = \"full\"\n"),
            "s.toml:2: sharing = full does not vary: write a list, or put the line above [sweep]");
  EXPECT_EQ(refusal("[sweep]\nseed = [1, 2, 1]\n"), "s.toml:2: seed: 1 is in its list twice");
  EXPECT_EQ(refusal("[sweep]\nnodes = [[1]]\n"),
            "s.toml:2: nodes: a value must be a text or a number; write yes and no in quotes");
  EXPECT_EQ(refusal("[sweep]\nseed = \"1..200\"\nnodes = \"1..200\"\n"),
            "s.toml: the grid has more than 10000 cells: shorten a list, or split the sweep");
  EXPECT_EQ(refusal("nodes = 4\n"),
            "s.toml: nothing varies: give it lists under [sweep], or run it with tessera sim");
  EXPECT_EQ(refusal("[[case]]\nname = \"a\"\n[[case]]\nname = \"a\"\n"),
            "s.toml: two cells are called a: names that differ tell folders apart; give a [[case]] "
            "another name, or name the values of a list by cases");
  EXPECT_EQ(refusal("[sweep]\nnodes = [4]\n[[case]]\nname = \"a\"\nnodes = 3\n"),
            "s.toml: case a: nodes is said twice, in the case and under [sweep]; keep one");
  EXPECT_NE(refusal("[[case]]\nsharing = \"full\"\n").find("needs a name"), std::string::npos);
  EXPECT_NE(refusal("[[case]]\nname = \"a/b\"\n").find("cannot be called 'a/b'"),
            std::string::npos);
  EXPECT_NE(refusal("sweep = 3\n").find("s.toml:1: sweep: write [sweep] above"), std::string::npos);
  EXPECT_NE(refusal("case = 3\n").find("s.toml:1: case: write [[case]] above"), std::string::npos);
  EXPECT_NE(refusal("[sweep]\nsharing = [\"full\"]\nsharing.budget = [1]\n").find("in quotes"),
            std::string::npos);
  EXPECT_NE(refusal("[sweep]\nmerge.every = [1]\n").find("there is no line merge"),
            std::string::npos);
}

TEST(Sweep, IsNoSingleExperiment) {
  try {
    (void)parse_experiment("[sweep]\nseed = [1]\n", "s.toml");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("s.toml is a sweep of several experiments"),
              std::string::npos);
  }
}

TEST(Sweep, ACellIsNamedBehindItsFile) {
  EXPECT_FALSE(named_cell("some/file.toml"));
  EXPECT_FALSE(named_cell("some:file"));
  const auto cell = named_cell("some/file.toml:jwins-budget=0.1/seed-90");
  ASSERT_TRUE(cell);
  EXPECT_EQ(cell->first, "some/file.toml");
  EXPECT_EQ(cell->second, "jwins-budget=0.1/seed-90");
}

std::string refused_cell(const std::string& file, const std::string& name) {
  try {
    (void)read_cell(file, name);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Sweep, ACellThatIsNotThereIsRefusedWithARemedy) {
  const std::string sweep = TESSERA_SOURCE_DIR "/experiments/fashion_sharings.toml";
  EXPECT_EQ(read_cell(sweep, "jwins").experiment.sharing, "jwins");
  EXPECT_EQ(refused_cell(sweep, "jwns"),
            sweep + ": there is no cell 'jwns'. Did you mean 'jwins'?");
  const std::string one = TESSERA_SOURCE_DIR "/experiments/fashion.toml";
  EXPECT_EQ(refused_cell(one, "jwins"), one +
                                            ": there is no cell 'jwins': the file is one "
                                            "experiment and no sweep; write " +
                                            one + " without :jwins");
}

}  // namespace
}  // namespace tessera
