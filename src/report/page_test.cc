// Runs' folders made by hand: what the readers, the thinning, the comparison and the page's figures
// make of them.
#include "report/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "report/compare.h"
#include "report/json_depth.h"
#include "report/metrics_csv.h"
#include "report/metrics_table.h"
#include "report/welch.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class PageTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_), fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    ASSERT_TRUE(write_file(root_ / path, bytes_of(text)).ok());
  }
  // A run whose accuracy grows by a tenth per row and ends at `accuracy`.
  void write_run(const std::string& folder, double accuracy, double bytes, bool finished = true,
                 const std::string& seed = "90", const std::string& data = "synthetic") const {
    write(folder + "/config.toml",
          fmt::format("nodes = \"2\"\nseed = \"{}\"\ndata = \"{}\"\nmodel = \"logistic\"\n"
                      "protocol = \"dpsgd:rounds=40\"\n",
                      seed, data));
    std::string rows;
    for (int i = 3; i >= 0; --i)
      rows += fmt::format(
          "{{\"round\":{},\"accuracy\":{},\"loss\":{},\"bytes_sent_per_node\":{},"
          "\"virtual_seconds\":{}}}\n",
          10 * (4 - i), accuracy - 0.1 * i, 1 + 0.1 * i, bytes * (4 - i) / 4, 4 - i);
    write(folder + "/metrics.jsonl", rows);
    if (!finished) return;
    write(folder + "/summary.json",
          fmt::format("{{\"accuracy\":{},\"loss\":1,\"bytes_sent_per_node\":{},\"rounds\":40,"
                      "\"virtual_seconds\":4,\"wall_seconds\":1,\"edges\":[[0,1]],"
                      "\"command\":\"tessera sim </script>\"}}",
                      accuracy, bytes));
  }
  FoundRuns find(const std::vector<std::string>& names) const {
    std::vector<std::string> folders;
    for (const std::string& name : names) folders.push_back((root_ / name).string());
    return find_runs(folders);
  }

  fs::path root_ = fs::path(testing::TempDir()) / fmt::format("tessera_page_test_{}", ::getpid());
};

TEST_F(PageTest, AFolderOfRunsStandsForThemAndWhatIsNoneIsNamed) {
  write_run("all/b", 0.5, 100);
  write_run("all/a/seed-10", 0.5, 100, true, "10");
  write_run("all/a/seed-9", 0.5, 100, true, "9");
  write_run("other/b", 0.5, 100, false);
  write("all/notes/readme", "");
  const FoundRuns found = find({"all", "other/b", "all/notes", "gone"});
  ASSERT_EQ(found.runs.size(), 3u);
  EXPECT_EQ(found.runs[0].name, "all/a");
  EXPECT_EQ(found.runs[1].name, "all/b");
  EXPECT_EQ(found.runs[2].name, "other/b");
  ASSERT_EQ(found.runs[0].seeds.size(), 2u);
  EXPECT_EQ(found.runs[0].seeds[0].seed, "9");  // By number, not by name.
  EXPECT_TRUE(found.runs[1].finished());
  EXPECT_FALSE(found.runs[2].finished());
  EXPECT_EQ(found.runs[2].seeds[0].figure("rounds"), 40);
  EXPECT_EQ(found.left_out.size(), 2u);
}

TEST_F(PageTest, ARowThatIsStillBeingWrittenWaits) {
  write("metrics.jsonl", "{\"round\":1,\"loss\":2}\n{\"round\":2,\"extra\":5}\n{\"rou");
  const MetricsTable table = read_metrics(root_ / "metrics.jsonl");
  EXPECT_EQ(table.note, "");
  EXPECT_EQ(table.rows, 2u);
  EXPECT_TRUE(std::isnan(table.find("loss")->values[1]));
  EXPECT_TRUE(std::isnan(table.find("extra")->values[0]));
  EXPECT_EQ(table.find("extra")->values[1], 5);
}

TEST_F(PageTest, ALineOfGarbageCostsThatLineOnly) {
  write("metrics.jsonl", "{\"round\":1}\nnonsense\n{\"round\":3}\n[4]\n");
  const MetricsTable table = read_metrics(root_ / "metrics.jsonl");
  EXPECT_EQ(table.find("round")->values, (std::vector<double>{1, 3}));
  EXPECT_TRUE(table.note.ends_with("2 of 4 lines are no rows of figures, the first is line 2"))
      << table.note;
}

// Copying or writing JSON recurses: such a summary ended the program.
TEST_F(PageTest, ASummaryNestedTooDeepIsLeftOut) {
  write_run("deep", 0.5, 100);
  const std::string nested = std::string(100'000, '[') + std::string(100'000, ']');
  write("deep/summary.json", "{\"node_accuracy\":" + nested + "}");
  const FoundRuns found = find({"deep"});
  EXPECT_TRUE(found.runs.empty());
  ASSERT_EQ(found.left_out.size(), 1u);
  EXPECT_NE(found.left_out[0].message.find("not a run's summary"), std::string::npos);
  const std::string words = "{\"command\":\"" + std::string(100, '[') + "\\\"\"}";
  EXPECT_FALSE(is_too_deep(words));
}

TEST_F(PageTest, ThinningKeepsTheEndsAndEveryExtreme) {
  MetricsTable table{.columns = {{"accuracy", {}}, {"loss", {}}}, .rows = 5000};
  for (std::size_t i = 0; i < table.rows; ++i) {
    table.columns[0].values.push_back(i == 1234 ? 0.9 : 0.1 + 1e-5 * static_cast<double>(i));
    table.columns[1].values.push_back(i == 4321 ? 50 : 1.0);
  }
  const std::vector<std::size_t> rows = rows_to_draw(table, 300);
  EXPECT_LE(rows.size(), 300u);
  EXPECT_GE(rows.size(), 100u);
  EXPECT_EQ(rows.front(), 0u);
  EXPECT_EQ(rows.back(), 4999u);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  for (const std::size_t wanted : {1234u, 4321u})
    EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), wanted)) << wanted;
  EXPECT_EQ(rows_to_draw(table, 5000).size(), 5000u);
}

TEST_F(PageTest, TheFiguresAreJsonThatCannotEndTheScriptAroundThem) {
  write_run("a", 0.5, 100);
  write_run("b", 0.6, 50);
  const FoundRuns found = find({"a", "b", "gone"});
  const std::string data = page_data(found, read_metrics(found.runs), {});
  EXPECT_EQ(data.find('<'), std::string::npos);
  const Json json = Json::parse(data);
  EXPECT_EQ(json["runs"][0]["command"], "tessera sim </script>");
  EXPECT_EQ(json["runs"][0]["seeds"][0]["columns"]["round"], Json({10, 20, 30, 40}));
  EXPECT_EQ(json["runs"][0]["config"]["model"], "logistic");
  EXPECT_EQ(json["runs"][0]["facts"]["edges"], Json({{0, 1}}));
  EXPECT_EQ(json["runs"][1]["facts"]["edges"], 0);  // The same as the first run's.
  EXPECT_EQ(json["left_out"].size(), 1u);
  const std::string page = page_with(data, false);
  EXPECT_NE(page.find(data), std::string::npos);
  for (const char* gap : {"{{data}}", "{{live}}", "{{script}}", "{{style}}"})
    EXPECT_EQ(page.find(gap), std::string::npos) << gap;
}

TEST_F(PageTest, CsvHoldsEveryRow) {
  write_run("a,b", 0.5, 100);
  const FoundRuns found = find({"a,b"});
  const std::string csv = metrics_csv(found.runs, read_metrics(found.runs));
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "run,seed,round,accuracy,loss,bytes_sent_per_node,virtual_seconds");
  EXPECT_NE(csv.find("\"a,b\",90,40,0.5,1,100,4\n"), std::string::npos) << csv;
}

// Lists of a row, such as every node's accuracy, are columns of the CSV and not of the page.
TEST_F(PageTest, CsvHoldsEveryNodesFigures) {
  write_run("a", 0.5, 100);
  write(
      "a/metrics.jsonl",
      "{\"round\":10,\"loss\":1}\n{\"round\":20,\"loss\":2,\"node_accuracy\":[0.25,null,0.75]}\n");
  const FoundRuns found = find({"a"});
  const std::string csv = metrics_csv(found.runs, read_metrics(found.runs));
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "run,seed,round,loss,node_accuracy_0,node_accuracy_2");
  EXPECT_NE(csv.find("a,90,10,1,,\na,90,20,2,0.25,0.75\n"), std::string::npos) << csv;
  const std::string page = page_data(found, read_metrics(found.runs), {});
  EXPECT_EQ(page.find("node_accuracy_0"), std::string::npos);
}

TEST_F(PageTest, NoNameIsAFormulaToASpreadsheet) {
  for (const char* name : {"=cmd()", "+1", "-1", "@sum"}) {
    write_run(name, 0.5, 100);
    const FoundRuns found = find({name});
    const std::string wanted = fmt::format("\n'{},90,40,", name);
    const std::string csv = metrics_csv(found.runs, read_metrics(found.runs));
    EXPECT_NE(csv.find(wanted), std::string::npos) << csv;
    const std::string compared = comparison_table(found.runs, TableFormat::kCsv);
    EXPECT_NE(compared.find(fmt::format("\n'{},0.5,,", name)), std::string::npos) << compared;
  }
  // Numbers stay numbers.
  EXPECT_EQ(csv_field("-1.5"), "-1.5");
}

// Values from tables of Student's t.
TEST(Welch, AgreesWithTables) {
  EXPECT_NEAR(student_t_two_sided(12.706, 1), 0.05, 1e-5);
  EXPECT_NEAR(student_t_two_sided(2.228, 10), 0.05, 1e-4);
  EXPECT_NEAR(student_t_two_sided(2.704, 40), 0.01, 1e-4);
  EXPECT_NEAR(student_t_two_sided(1.0, 1), 0.5, 1e-12);
  EXPECT_EQ(student_t_two_sided(0, 7), 1);
  // Both have a variance of 2.5, so the variance of the difference is 1: t = 3, 8 degrees.
  const std::vector<double> a = {1, 2, 3, 4, 5}, b = {4, 5, 6, 7, 8}, one = {1};
  EXPECT_NEAR(*welch_p_value(a, b), student_t_two_sided(3.0, 8), 1e-12);
  EXPECT_FALSE(welch_p_value(a, one).has_value());
}

TEST_F(PageTest, TheComparisonMarksTheBestAndNamesWhatDoesNotCompare) {
  for (const int seed : {1, 2, 3}) {
    const std::string name = fmt::format("seed-{}", seed);
    write_run("full/" + name, 0.50 + 0.001 * seed, 1000, true, std::to_string(seed));
    write_run("jwins/" + name, 0.60 + 0.001 * seed, 250, true, std::to_string(seed));
  }
  write_run("stopped", 0.9, 10, false);
  write_run("other", 0.95, 1, true, "90", "cifar10");
  FoundRuns found = find({"full", "jwins", "stopped", "other"});
  EXPECT_NE(comparison_table(found.runs, TableFormat::kPlain).find("(unfinished, round 40)"),
            std::string::npos);
  found.runs[2].rounds_planned = 50;
  const std::string table = comparison_table(found.runs, TableFormat::kPlain);
  EXPECT_NE(table.find("60.20 +- 0.10%*"), std::string::npos) << table;
  EXPECT_NE(table.find("75.0%"), std::string::npos) << table;
  EXPECT_NE(table.find("+10.00"), std::string::npos) << table;
  EXPECT_NE(table.find("<0.001"), std::string::npos) << table;
  EXPECT_NE(table.find("stopped (unfinished, round 40 of 50)"), std::string::npos) << table;
  EXPECT_EQ(table.find("95.00%*"), std::string::npos) << "not comparable, and yet it won";
  EXPECT_NE(comparison_table(found.runs, TableFormat::kMarkdown).find("**60.20 +- 0.10%**"),
            std::string::npos);
  EXPECT_NE(
      comparison_table(found.runs, TableFormat::kLatex).find("\\textbf{60.20 $\\pm$ 0.10\\%}"),
      std::string::npos);
  const std::string csv = comparison_table(found.runs, TableFormat::kCsv);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  // The deviation that the terminal shows.
  EXPECT_TRUE(csv.starts_with("run,accuracy,accuracy_deviation,loss,")) << csv;
  EXPECT_NE(csv.find("\njwins,0.602,0.0010"), std::string::npos) << csv;
  const std::vector<std::string> notes = comparison_notes(found.runs);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_NE(notes[0].find("stopped is not finished"), std::string::npos);
  EXPECT_NE(notes[1].find("other does not compare with full: it has another data"),
            std::string::npos);
}

TEST_F(PageTest, ColumnsOfTheComparisonAreChosenByNameOrTitle) {
  write_run("full", 0.5, 1000);
  write_run("jwins", 0.25, 250);
  const FoundRuns found = find({"full", "jwins"});
  const std::vector<std::string> columns = parse_columns("run,sent/node,accuracy", {});
  EXPECT_EQ(comparison_table(found.runs, TableFormat::kLatex, columns),
            "\\begin{tabular}{lrr}\n\\hline\nrun & sent/node & accuracy \\\\\n\\hline\n"
            "full & 1000 B & \\textbf{50.00\\%} \\\\\n"
            "jwins & \\textbf{250 B} & 25.00\\% \\\\\n\\hline\n\\end{tabular}\n");
  EXPECT_TRUE(comparison_table(found.runs, TableFormat::kCsv, columns)
                  .starts_with("run,bytes_sent_per_node,accuracy,accuracy_deviation\n"));
  EXPECT_THROW((void)parse_columns("run,acuracy", {}), std::invalid_argument);
  EXPECT_THROW((void)parse_columns("loss,loss", {}), std::invalid_argument);
}

TEST_F(PageTest, ALineOfTheConfigurationAndAnOptionOfItAreColumnsToo) {
  write_run("a", 0.5, 1000);
  write_run("b", 0.25, 250);
  write("b/config.toml",
        "seed = 1\nnetwork = \"links:up=1MB/s,slowdown=5\"\nfaults = \"loss=0.1\"\n");
  const FoundRuns found = find({"a", "b"});
  const std::vector<std::string_view> keys = {"network", "faults"};
  const std::vector<std::string> columns =
      parse_columns("run,network.slowdown,faults.loss,faults", keys);
  EXPECT_EQ(comparison_table(found.runs, TableFormat::kCsv, columns),
            "run,network.slowdown,faults.loss,faults\na,,,\nb,5,0.1,loss=0.1\n");
  EXPECT_THROW((void)parse_columns("netwrk.slowdown", keys), std::invalid_argument);
}

TEST_F(PageTest, TheComparisonHasTheMergedModels) {
  const auto write_merged = [&](const std::string& name, double accuracy, double loss) {
    write_run(name, 0.5, 100);
    write(name + "/summary.json",
          fmt::format("{{\"accuracy\":0.5,\"merged_accuracy\":{},\"merged_loss\":{},"
                      "\"consensus_relative\":0.125,\"consensus_distance\":2.5}}",
                      accuracy, loss));
  };
  write_merged("a", 0.75, 1.5);
  write_merged("b", 0.625, 1.25);
  write_run("older", 0.5, 100);
  const FoundRuns found = find({"a", "b", "older"});
  const std::string table = comparison_table(found.runs, TableFormat::kPlain);
  EXPECT_NE(table.find("75.00%*"), std::string::npos) << table;
  EXPECT_NE(table.find("1.2500*"), std::string::npos) << table;
  EXPECT_NE(table.find(" 0.125 "), std::string::npos) << table;
  const std::string csv = comparison_table(found.runs, TableFormat::kCsv);
  EXPECT_NE(
      csv.find(",merged_accuracy,merged_accuracy_deviation,merged_loss,consensus_relative,seeds\n"),
      std::string::npos);
  EXPECT_NE(csv.find(",0.75,,1.5,0.125,1\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",,,,,1\n"), std::string::npos) << csv;
  const std::vector<std::string> columns = parse_columns("run,apart,consensus_distance", {});
  EXPECT_EQ(comparison_table(found.runs, TableFormat::kCsv, columns),
            "run,consensus_relative,consensus_distance\na,0.125,2.5\nb,0.125,2.5\nolder,,\n");
}

// Four of twenty nodes are hostile: a comparison says so, and the page knows which.
TEST_F(PageTest, HostileNodesAreNamed) {
  write_run("attacked", 0.5, 100);
  write("attacked/config.toml", "nodes = 20\nseed = 90\ndata = \"synthetic\"\n");
  write("attacked/summary.json",
        "{\"accuracy\":0.5,\"rounds\":40,\"hostile_nodes\":4,\"hostile\":[1,4,7,9],"
        "\"node_accuracy\":[0.5,null,0.5],\"edges\":[[0,1]]}");
  const FoundRuns found = find({"attacked"});
  const std::vector<std::string> notes = comparison_notes(found.runs);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "attacked: 4 of 20 nodes are hostile; figures are of the others");
  EXPECT_NE(page_data(found, read_metrics(found.runs), {}).find("\"hostile\":[1,4,7,9]"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
