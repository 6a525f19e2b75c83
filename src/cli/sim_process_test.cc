// The program as a user and a crash meet it: whole processes on the quadratic toy, killed,
// interrupted and resumed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/random.h"
#include "cli/process_for_tests.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

TEST_F(SimProcess, ThreadsDoNotChangeABit) {
  for (const int threads : {1, 2, 4})
    ASSERT_EQ(tessera(fmt::format("{} --threads={} --out={}", toy_, threads,
                                  out(fmt::format("t{}", threads).c_str()))),
              0)
        << said("err");
  EXPECT_EQ(digest("t1"), digest("t2"));
  EXPECT_EQ(digest("t1"), digest("t4"));
  EXPECT_EQ(metrics("t1"), metrics("t4"));
}

TEST_F(SimProcess, KilledAtAnyMomentItResumesToTheSameBits) {
  ASSERT_EQ(tessera(toy_ + "--out=" + out("whole")), 0) << said("err");
  Random random(11);
  int killed = 0;
  // Later attempts live longer, so that the run ends however slow the machine is.
  for (int attempt = 0; attempt < 200; ++attempt) {
    const double seconds = (0.05 + 0.1 * random.uniform()) * (1 + attempt * 0.1);
    const int code = tessera(toy_ + "--checkpoint-every=1 --resume --out=" + out("killed"),
                             fmt::format("timeout --foreground -s KILL {:.3f}", seconds));
    if (code == 0) break;
    // timeout's word for a run that ended by itself just as it was to be killed: the next attempt
    // finds it finished.
    if (code == 124) continue;
    ASSERT_EQ(code, 137) << said("err");
    ++killed;
  }
  EXPECT_GT(killed, 0);
  EXPECT_EQ(digest("killed"), digest("whole"));
  EXPECT_EQ(metrics("killed"), metrics("whole"));
}

// 200 models of 400 KB. The buffer in which a checkpoint is put together must not lie in memory
// twice while it grows.
TEST_F(SimProcess, ACheckpointTakesItsOwnSizeInMemory) {
  if (TESSERA_SANITIZED) GTEST_SKIP() << "sanitizers have memory of their own";
  const auto peak = [&](const char* run, const char* every) {
    EXPECT_EQ(tessera(fmt::format("sim --nodes=80 --model=quadratic:dimension=100000 --threads=1 "
                                  "--protocol=dpsgd:rounds=3 --evaluate=every=9 --quiet "
                                  "--checkpoint-every={} --out={}",
                                  every, out(run))),
              0)
        << said("err");
    return nlohmann::json::parse(*read_text_file(root_ / run / "summary.json"))["peak_rss_bytes"]
        .get<double>();
  };
  const double without = peak("without", "none"), with = peak("with", "2");
  const auto bytes = static_cast<double>(fs::file_size(root_ / "with/checkpoint/2.bin"));
  EXPECT_GT(bytes, 32e6);
  EXPECT_LT(with - without, 1.5 * bytes);
}

TEST_F(SimProcess, CtrlCWritesACheckpointAndSaysHowToGoOn) {
  ASSERT_EQ(tessera(toy_ + "--out=" + out("whole")), 0) << said("err");
  int interrupted = 0;
  for (int attempt = 1; attempt < 100; ++attempt) {
    const int code = tessera(toy_ + "--resume --out=" + out("stopped"),
                             fmt::format("timeout --preserve-status -s INT {:.2f}", 0.1 * attempt));
    if (code == 0) break;
    // Caught before the program could listen, the signal ends it at once; after that it is an
    // orderly stop.
    if (code != 130 || said("err").find("--resume continues it") == std::string::npos) continue;
    ++interrupted;
  }
  EXPECT_GT(interrupted, 0);
  EXPECT_EQ(digest("stopped"), digest("whole"));
  EXPECT_EQ(metrics("stopped"), metrics("whole"));
}

TEST_F(SimProcess, ARunThatIsKeptIsMadeLonger) {
  const std::string toy = "sim --nodes=4 --topology=ring --model=quadratic --quiet --protocol=";
  ASSERT_EQ(tessera(toy + "dpsgd:rounds=25 --out=" + out("whole")), 0) << said("err");
  ASSERT_EQ(tessera(toy + "dpsgd:rounds=12 --keep --out=" + out("kept")), 0) << said("err");
  EXPECT_NE(digest("kept"), digest("whole"));
  EXPECT_EQ(tessera(toy + "dpsgd:rounds=9 --resume --out=" + out("kept")), 2);
  EXPECT_EQ(tessera(toy + "dpsgd:rounds=25,patience=9s --resume --out=" + out("kept")), 2);
  ASSERT_EQ(tessera(toy + "dpsgd:rounds=25 --resume --out=" + out("kept")), 0) << said("err");
  EXPECT_EQ(digest("kept"), digest("whole"));
  EXPECT_EQ(metrics("kept"), metrics("whole"));
  EXPECT_EQ(*read_text_file(root_ / "kept" / "config.toml"),
            *read_text_file(root_ / "whole" / "config.toml"));
  const std::string summary = *read_text_file(root_ / "whole" / "summary.json");
  EXPECT_EQ(tessera(toy + "dpsgd:rounds=30 --resume --out=" + out("whole")), 2);
  EXPECT_NE(said("err").find("--keep"), std::string::npos) << said("err");
  EXPECT_EQ(*read_text_file(root_ / "whole" / "summary.json"), summary);
}

TEST_F(SimProcess, SummariesSayWhichProgramMadeThem) {
  ASSERT_EQ(tessera("sim --nodes=4 --topology=ring --model=quadratic --protocol=dpsgd:rounds=3 "
                    "--quiet --out=" +
                    out("one")),
            0)
      << said("err");
  const auto made =
      nlohmann::json::parse(*read_text_file(root_ / "one" / "summary.json")).at("made");
  for (const char* key : {"version", "date", "host"})
    EXPECT_NE(made.at(key).get<std::string>(), "") << key;
  EXPECT_EQ(made.at("date").get<std::string>().size(), std::string("2026-01-01T00:00:00Z").size());
  EXPECT_TRUE(made.contains("commit"));
}

TEST_F(SimProcess, SeveralSeedsEndInMeanAndSpread) {
  ASSERT_EQ(tessera("sim --nodes=4 --topology=ring --model=quadratic --protocol=dpsgd:rounds=10 "
                    "--quiet --seeds=1..3 --out=" +
                    out("seeds")),
            0)
      << said("err");
  const auto summary = nlohmann::json::parse(*read_text_file(root_ / "seeds" / "summary.json"));
  EXPECT_EQ(summary["seeds"].size(), 3u);
  EXPECT_EQ(summary["runs"].size(), 3u);
  EXPECT_GT(summary["loss_deviation"].get<double>(), 0);
  EXPECT_EQ(summary["rounds"].get<double>(), 10);
}

TEST_F(SimProcess, NothingFinishedIsOverwrittenUnasked) {
  const std::string toy =
      "sim --nodes=4 --topology=ring --model=quadratic --protocol=dpsgd:rounds=3 --quiet --out=" +
      out("one");
  ASSERT_EQ(tessera(toy), 0) << said("err");
  const std::string summary = *read_text_file(root_ / "one" / "summary.json");
  EXPECT_NE(summary.find("tessera sim --nodes=4"), std::string::npos) << summary;
  EXPECT_EQ(tessera(toy), 2);
  EXPECT_EQ(tessera(toy + " --seeds=1,2"), 2);
  EXPECT_EQ(tessera(toy + " --resume"), 0);
  EXPECT_EQ(*read_text_file(root_ / "one" / "summary.json"), summary);
  EXPECT_EQ(tessera("sim --model=quadratic --seeds=1,1 --out=" + out("two")), 2);
  EXPECT_FALSE(fs::exists(root_ / "two"));
}

TEST_F(SimProcess, WrongWordsAreAnsweredInOneLineWithExitCodeTwo) {
  const auto refusal = [&](const std::string& arguments) {
    EXPECT_EQ(tessera(arguments), 2) << arguments;
    const std::string words = said("err");
    EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), 1) << words;
    return words;
  };
  const std::string toy = "sim --model=quadratic --out=" + out("none") + " ";
  EXPECT_EQ(refusal("smi"), "tessera: there is no command 'smi'. Did you mean 'sim'?\n");
  EXPECT_NE(refusal(toy + "--sharing=jwins:bugdet=1").find("Did you mean 'budget'?"),
            std::string::npos);
  EXPECT_NE(refusal(toy + "--sharing=topk:budget=1.5").find("(0, 1]"), std::string::npos);
  EXPECT_NE(refusal(toy + "--topology=regular:degree=20").find("degree"), std::string::npos);
  EXPECT_NE(refusal(toy + "--nodes=15 --topology=regular:degree=3").find("degree"),
            std::string::npos);
  EXPECT_NE(refusal(toy + "--sharing=choco --topology=regular:degree=4,redraw=yes").find("redraw"),
            std::string::npos);
  EXPECT_NE(refusal(toy + "--sharing=choco --codec=gamma+int8").find("lossless"),
            std::string::npos);
  EXPECT_NE(refusal(toy + "--nodse=3").find("Did you mean '--nodes'?"), std::string::npos);
  EXPECT_NE(refusal(toy + "--evaluate=5s").find("write every=5s or every=10"), std::string::npos);
  EXPECT_NE(refusal("sim no/such.toml").find("no/such.toml"), std::string::npos);
  EXPECT_FALSE(fs::exists(root_ / "none"));
}

TEST_F(SimProcess, TheCommandLineIsRefusedInPlainWords) {
  const auto refusal = [&](const std::string& arguments) {
    EXPECT_EQ(tessera(arguments), 2) << arguments;
    return said("err");
  };
  EXPECT_EQ(refusal("--hlep"), "tessera: tessera has no flag '--hlep'. Did you mean '--help'?\n");
  EXPECT_EQ(refusal("-v"), "tessera: tessera has no flag '-v'. Did you mean '--version'?\n");
  EXPECT_EQ(refusal("sim --out= --quiet"),
            "tessera: --out= is empty: give it a value, or leave it out\n");
  EXPECT_EQ(refusal("sim --nodes"), "tessera: --nodes needs a value. Try tessera sim --help\n");
  EXPECT_EQ(refusal("sim --nodes=3 --nodes=4"),
            "tessera: --nodes is given more than once. Try tessera sim --help\n");
  EXPECT_EQ(refusal("sim a.toml b.toml"),
            "tessera: sim has no use for 'b.toml'. Try tessera sim --help\n");
  EXPECT_EQ(refusal("report"), "tessera: runs is required. Try tessera report --help\n");
  for (const char* rows : {"0", "-4", "99999999999999999999"})
    EXPECT_NE(refusal(fmt::format("report x --rows={}", rows)).find("at least 1"),
              std::string::npos);
  for (const char* flag : {"--steps=0", "--steps=-1", "--lines=0", "--steps=99999999999999999999"})
    EXPECT_NE(refusal(fmt::format("train {}", flag)).find("at least 1. Try tessera train --help"),
              std::string::npos);
}

TEST_F(SimProcess, HelpAloneListsTheCommands) {
  ASSERT_EQ(tessera("--help"), 0);
  const std::string asked_by_flag = said("out");
  ASSERT_EQ(tessera("help"), 0);
  EXPECT_EQ(said("out"), asked_by_flag);
  EXPECT_NE(asked_by_flag.find("inspect"), std::string::npos);
}

#if TESSERA_WITH_LIVE
TEST_F(SimProcess, KeygenMakesAFolderForItsOwnerAlone) {
  ASSERT_EQ(tessera("keygen alice --dir=" + out("keys")), 0) << said("err");
  EXPECT_EQ(fs::status(root_ / "keys").permissions(), fs::perms::owner_all);
}
#endif

TEST_F(SimProcess, ADivergedModelIsReportedNotAveragedOn) {
  EXPECT_EQ(tessera("sim --nodes=4 --topology=ring --model=quadratic:lr=3 "
                    "--protocol=dpsgd:rounds=400 --quiet --out=" +
                    out("wild")),
            1);
  EXPECT_NE(said("err").find("model has diverged by round"), std::string::npos) << said("err");
  EXPECT_NE(said("err").find(", at "), std::string::npos) << said("err");
  EXPECT_TRUE(fs::exists(root_ / "wild/diverged"));
}

}  // namespace
}  // namespace tessera
