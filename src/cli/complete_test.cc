// What shells are told may come next: the program is asked as their scripts ask it, and bash's
// script is driven as bash does.
#include <algorithm>

#include "base/text.h"
#include "cli/process_for_tests.h"
#include "run/experiment.h"

namespace tessera {
namespace {

class Complete : public SimProcess {
 protected:
  // The words offered, without their notes; `typed` is quoted as a shell would have it.
  std::vector<std::string> offered(const std::string& typed) const {
    EXPECT_EQ(tessera("complete " + typed), 0) << said("err");
    return words_in(said("out"));
  }
  // What bash puts behind the cursor, at the end of `line`.
  std::vector<std::string> in_bash(const std::string& line) const {
    EXPECT_EQ(shell(fmt::format("LINE='{}' TESSERA=$tessera bash -c '"
                                "set -u; source <($TESSERA completion bash);"
                                "compopt() {{ echo \"$*\" >&2; }};"
                                "COMP_LINE=$LINE COMP_POINT=${{#LINE}}; _tessera $TESSERA;"
                                "printf \"%s\\n\" \"${{COMPREPLY[@]}}\"' > $root/out 2> $root/err",
                                line)),
              0)
        << said("err");
    return words_in(said("out"));
  }
  bool has_no_space() const { return said("err").find("nospace") != std::string::npos; }

 private:
  static std::vector<std::string> words_in(const std::string& text) {
    std::vector<std::string> words;
    for (const std::string_view line : split(trimmed(text), '\n'))
      words.emplace_back(line.substr(0, line.find('\t')));
    return words;
  }
};

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

using Words = std::vector<std::string>;

TEST_F(Complete, CommandsPartsAndFlags) {
  EXPECT_EQ(offered("si"), Words{"sim"});
  EXPECT_TRUE(has(offered("''"), "--version"));
  EXPECT_FALSE(has(offered("''"), "complete"));
  EXPECT_EQ(offered("sim --sh"), Words{"--sharing="});
  EXPECT_TRUE(has(offered("sim -"), "--quiet"));
  EXPECT_EQ(offered("sim --sharing=full --over"), Words{"--overwrite"});
  EXPECT_EQ(offered("nonsense --sh"), Words{});
#if TESSERA_WITH_LIVE
  EXPECT_EQ(offered("roster rep"), Words{"replace"});
  EXPECT_EQ(offered("roster replace --addr"), Words{"--address="});
#endif
}

TEST_F(Complete, ValuesComeFromTheTables) {
  EXPECT_EQ(offered("list shar"), Words{"sharings"});
  EXPECT_EQ(offered("completion b"), Words{"bash"});
  EXPECT_EQ(offered("bench wavel"), Words{"wavelet"});
  EXPECT_EQ(offered("compare run --format=mark"), Words{"--format=markdown"});
  EXPECT_EQ(offered("sim --device=c"), (Words{"--device=cpu", "--device=cuda"}));
  EXPECT_EQ(offered("sim --protocol=div"), (Words{"--protocol=divshare", "--protocol=divshare:"}));
  EXPECT_EQ(offered("sim --protocol div"), (Words{"divshare", "divshare:"}));
  EXPECT_EQ(offered("sim --rule=aut"), Words{"--rule=auto"});
  EXPECT_TRUE(has(offered("train --model="), "--model=gn-lenet"));
  EXPECT_TRUE(has(offered("sim --codec=r"), "--codec=range+"));
  EXPECT_EQ(offered("sim --codec=range+pl"), Words{"--codec=range+planes"});
}

TEST_F(Complete, OptionsWithinALine) {
  EXPECT_EQ(offered("sim --sharing=jwins:bud"), Words{"--sharing=jwins:budget="});
  EXPECT_EQ(offered("sim --sharing=jwins:budget=0.1,lev"),
            Words{"--sharing=jwins:budget=0.1,levels="});
  EXPECT_FALSE(has(offered("sim --sharing=topk:budget=0.1,"), "--sharing=topk:budget=0.1,budget="));
  EXPECT_TRUE(has(offered("sim --sharing=jwins:wavelet="), "--sharing=jwins:wavelet=haar"));
  EXPECT_EQ(offered("sim --sharing=topk:budget=0"), Words{"--sharing=topk:budget=0.37"});
  EXPECT_EQ(offered("sim --training=sgd:nesterov="),
            (Words{"--training=sgd:nesterov=yes", "--training=sgd:nesterov=no"}));
  EXPECT_TRUE(
      has(offered("sim --training=sgd:lr=1,schedule="), "--training=sgd:lr=1,schedule=cosine"));
  EXPECT_EQ(offered("sim --faults=loss=0.1,dup"), Words{"--faults=loss=0.1,duplicate="});
  EXPECT_TRUE(has(offered("sim --faults=hostile=2,attack="), "--faults=hostile=2,attack=ipm"));
  EXPECT_EQ(offered("sim --faults=hostile=2,attack=ipm:"),
            Words{"--faults=hostile=2,attack=ipm:epsilon="});
  EXPECT_EQ(offered("sim --sharing=nothing:bud"), Words{});
}

// A shell offers files where the program offers nothing.
TEST_F(Complete, FilesAreLeftToTheShell) {
  for (const char* typed : {"sim ''", "sim --out=", "report ''", "sim --data=csv:file="})
    EXPECT_EQ(offered(typed), Words{}) << typed;
}

// Every flag that sends its reader to a list has that list's names to offer.
TEST_F(Complete, EveryListThatHelpNamesIsOffered) {
  std::size_t lists = 0;
  for (const ExperimentKey& key : experiment_keys()) {
    if (key.summary.find("see: tessera list") == key.summary.npos) continue;
    ++lists;
    EXPECT_GE(offered(fmt::format("sim --{}=", key.name)).size(), 2u) << key.name;
  }
  EXPECT_GE(lists, 12u);
}

TEST_F(Complete, BashIsGivenWhatFollowsItsLastBreak) {
  EXPECT_EQ(in_bash("tessera si"), Words{"sim"});
  EXPECT_EQ(in_bash("tessera sim --sharing=jw"), (Words{"jwins", "jwins:"}));
  EXPECT_EQ(in_bash("tessera sim toy.toml --sharing=jwins:bud"), Words{"budget="});
  EXPECT_TRUE(has_no_space());
  EXPECT_TRUE(has(in_bash("tessera list "), "networks"));
  EXPECT_FALSE(has_no_space());
  EXPECT_EQ(in_bash("tessera sim "), Words{});
}

// groff warns of what it cannot print: a line taken for a macro, a character it has not.
TEST_F(Complete, ManFindsNothingToWarnOf) {
  if (shell("command -v man > $root/out") != 0) GTEST_SKIP() << "no man here";
  ASSERT_EQ(shell("$tessera help --man > $root/tessera.1"), 0);
  EXPECT_EQ(shell("LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "
                  "$root/tessera.1 > $root/out 2> $root/err"),
            0);
  EXPECT_EQ(said("err"), "");
}

}  // namespace
}  // namespace tessera
