#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "report/metrics_csv.h"
#include "report/welch.h"

namespace tessera {
namespace {

constexpr std::array kFormats = {
    TableFormatName{"plain", "columns for a terminal; the best are marked *", TableFormat::kPlain},
    TableFormatName{"markdown", "a Markdown table; the best are bold", TableFormat::kMarkdown},
    TableFormatName{"csv", "numbers without units, for programs", TableFormat::kCsv},
    TableFormatName{"latex", "a tabular environment for papers; the best are bold",
                    TableFormat::kLatex},
};

struct Cell {
  std::string text{};    // For people.
  std::string number{};  // For programs; empty where there is none.
  bool best = false;
};
using Row = std::vector<Cell>;

std::optional<double> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double mean = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  return mean;
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = *mean_of(values);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Settings in which runs must agree for their accuracies to mean the same.
std::vector<std::string_view> incompatible_settings(const StoredRun& run, const StoredRun& first) {
  std::vector<std::string_view> differing;
  for (const std::string_view key : {"data", "partition", "model"})
    if (run.setting(key) != first.setting(key)) differing.push_back(key);
  return differing;
}

bool compares(const StoredRun& run, const StoredRun& first) {
  return run.finished() && incompatible_settings(run, first).empty();
}

Cell none() {
  return {.text = "-"};
}

template <typename Show>
Cell figure_cell(const StoredRun& run, std::string_view figure, Show show) {
  const std::optional<double> mean = mean_of(run.figures(figure));
  if (!mean) return none();
  return {.text = show(*mean), .number = fmt::format("{}", *mean)};
}

Cell accuracy_cell(const StoredRun& run, std::string_view figure) {
  const std::vector<double> values = run.figures(figure);
  return figure_cell(run, figure, [&](double mean) {
    if (values.size() < 2) return fmt::format("{:.2f}%", 100 * mean);
    return fmt::format("{:.2f} +- {:.2f}%", 100 * mean, 100 * deviation_of(values));
  });
}

Cell saved_cell(const StoredRun& run, const StoredRun& first) {
  const auto mine = mean_of(run.figures("bytes_sent_per_node"));
  const auto theirs = mean_of(first.figures("bytes_sent_per_node"));
  if (&run == &first || !mine || !theirs || *theirs <= 0) return none();
  const double saved = 1 - *mine / *theirs;
  return {.text = fmt::format("{:.1f}%", 100 * saved), .number = fmt::format("{}", saved)};
}

Cell points_cell(const StoredRun& run, const StoredRun& first) {
  const auto mine = mean_of(run.figures("accuracy")), theirs = mean_of(first.figures("accuracy"));
  if (&run == &first || !mine || !theirs) return none();
  const double points = 100 * (*mine - *theirs);
  return {.text = fmt::format("{:+.2f}", points), .number = fmt::format("{}", points)};
}

Cell chance_cell(const StoredRun& run, const StoredRun& first) {
  const auto p = welch_p_value(run.figures("accuracy"), first.figures("accuracy"));
  if (&run == &first || !p) return none();
  return {.text = *p < 0.001 ? std::string("<0.001") : fmt::format("{:.3f}", *p),
          .number = fmt::format("{}", *p)};
}

std::string progress_of(const StoredRun& run) {
  if (run.finished()) return "";
  const auto rounds = mean_of(run.figures("rounds"));
  return fmt::format(" (unfinished, round {:.0f}{})", rounds.value_or(0),
                     run.rounds_planned ? fmt::format(" of {}", *run.rounds_planned) : "");
}

constexpr std::array<std::string_view, 13> kHeads = {
    "run",          "accuracy", "loss",   "sent/node",   "saved", "points", "chance",
    "virtual time", "wall",     "merged", "merged loss", "apart", "seeds"};

Row row_of(const StoredRun& run, const StoredRun& first) {
  // Without a model of the network no time passes.
  const auto seconds = [](double s) {
    return s > 0 ? show_duration(Duration(static_cast<std::int64_t>(s * 1e9))) : std::string("-");
  };
  const auto four_digits = [](double loss) { return fmt::format("{:.4f}", loss); };
  const auto three_digits = [](double part) { return fmt::format("{:.3g}", part); };
  const bool comparable = compares(run, first);
  const std::string name = run.name + progress_of(run);
  return {{.text = name, .number = run.name},
          accuracy_cell(run, "accuracy"),
          figure_cell(run, "loss", four_digits),
          figure_cell(run, "bytes_sent_per_node", show_bytes),
          comparable ? saved_cell(run, first) : none(),
          comparable ? points_cell(run, first) : none(),
          comparable ? chance_cell(run, first) : none(),
          figure_cell(run, "virtual_seconds", seconds),
          figure_cell(run, "wall_seconds", seconds),
          accuracy_cell(run, "merged_accuracy"),
          figure_cell(run, "merged_loss", four_digits),
          figure_cell(run, "consensus_relative", three_digits),
          {.text = std::to_string(run.seeds.size()), .number = std::to_string(run.seeds.size())}};
}

// The columns that can be won: the higher accuracy, the lower loss, fewer bytes, less virtual time.
struct Contest {
  std::size_t column;
  std::string_view figure;
  double sign;
};
constexpr std::array kContests = {
    Contest{1, "accuracy", -1},           Contest{2, "loss", 1},
    Contest{3, "bytes_sent_per_node", 1}, Contest{7, "virtual_seconds", 1},
    Contest{9, "merged_accuracy", -1},    Contest{10, "merged_loss", 1}};

void mark_best(std::vector<Row>& rows, std::span<const StoredRun> runs) {
  for (const Contest& contest : kContests) {
    std::vector<std::pair<double, std::size_t>> scores;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (const auto value = mean_of(runs[i].figures(contest.figure));
          value && compares(runs[i], runs[0]))
        scores.emplace_back(contest.sign * *value, i);
    if (scores.size() < 2) continue;
    const double best = std::min_element(scores.begin(), scores.end())->first;
    const auto wins = [&](const auto& score) { return score.first == best; };
    // Where all are alike nobody has won.
    if (std::all_of(scores.begin(), scores.end(), wins)) continue;
    for (const auto& score : scores)
      if (wins(score)) rows[score.second][contest.column].best = true;
  }
}

std::string escaped_latex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("+-")) {
      out += "$\\pm$";
      ++i;
    } else if (text[i] == '<') {
      out += "$<$";
    } else {
      if (std::string_view("%&_#$").find(text[i]) != std::string_view::npos) out += '\\';
      out += text[i];
    }
  }
  return out;
}

std::string plain(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const std::string_view head : kHeads) widths.push_back(head.size());
  const auto shown = [](const Cell& cell) { return cell.text + (cell.best ? "*" : ""); };
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], shown(row[c]).size());
  std::string table;
  const auto add = [&](std::size_t c, std::string_view text) {
    table +=
        c == 0 ? fmt::format("{:<{}}", text, widths[c]) : fmt::format("  {:>{}}", text, widths[c]);
    if (c + 1 == kHeads.size()) table += "\n";
  };
  for (std::size_t c = 0; c < kHeads.size(); ++c) add(c, kHeads[c]);
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) add(c, shown(row[c]));
  return table;
}

std::string markdown(const std::vector<Row>& rows) {
  std::string table = "|", rule = "|";
  for (const std::string_view head : kHeads) {
    table += fmt::format(" {} |", head);
    rule += head == kHeads[0] ? "---|" : "---:|";
  }
  table += "\n" + rule + "\n";
  for (const Row& row : rows) {
    table += "|";
    for (const Cell& cell : row)
      table += fmt::format(" {0}{1}{0} |", cell.best ? "**" : "", cell.text);
    table += "\n";
  }
  return table;
}

std::string csv(const std::vector<Row>& rows) {
  std::string table =
      "run,accuracy,loss,bytes_sent_per_node,saved,points,p_value,virtual_seconds,wall_seconds,"
      "merged_accuracy,merged_loss,consensus_relative,seeds\n";
  for (const Row& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      table += (c == 0 ? csv_words(row[c].number) : csv_field(row[c].number)) +
               (c + 1 == row.size() ? "\n" : ",");
  return table;
}

std::string latex(const std::vector<Row>& rows) {
  std::string table =
      fmt::format("\\begin{{tabular}}{{l{}}}\n\\hline\n", std::string(kHeads.size() - 1, 'r'));
  for (const std::string_view head : kHeads)
    table += fmt::format("{}{}", head == kHeads[0] ? "" : " & ", head);
  table += " \\\\\n\\hline\n";
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      table += fmt::format("{}{}{}{}", c == 0 ? "" : " & ", row[c].best ? "\\textbf{" : "",
                           escaped_latex(row[c].text), row[c].best ? "}" : "");
    table += " \\\\\n";
  }
  return table + "\\hline\n\\end{tabular}\n";
}

}  // namespace

std::span<const TableFormatName> table_formats() {
  return kFormats;
}

std::string comparison_table(std::span<const StoredRun> runs, TableFormat format) {
  CHECK(!runs.empty());
  std::vector<Row> rows;
  for (const StoredRun& run : runs) rows.push_back(row_of(run, runs[0]));
  mark_best(rows, runs);
  switch (format) {
    case TableFormat::kMarkdown:
      return markdown(rows);
    case TableFormat::kCsv:
      return csv(rows);
    case TableFormat::kLatex:
      return latex(rows);
    case TableFormat::kPlain:
      break;
  }
  return plain(rows);
}

std::vector<std::string> comparison_notes(std::span<const StoredRun> runs) {
  std::vector<std::string> notes;
  const auto seeds_of = [](const StoredRun& run) {
    std::vector<std::string> seeds;
    for (const StoredSeed& seed : run.seeds) seeds.push_back(seed.seed);
    return seeds;
  };
  bool other_seeds = false;
  for (const StoredRun& run : runs) {
    const std::vector<std::string_view> differing = incompatible_settings(run, runs[0]);
    if (!differing.empty())
      notes.push_back(fmt::format("{} does not compare with {}: it has another {}", run.name,
                                  runs[0].name, join(differing, ", another ")));
    if (run.setting("nodes") != runs[0].setting("nodes"))
      notes.push_back(fmt::format("{} has {} nodes, {} has {}", run.name, run.setting("nodes"),
                                  runs[0].name, runs[0].setting("nodes")));
    if (const auto hostile = mean_of(run.figures("hostile_nodes")))
      notes.push_back(fmt::format("{}: {:.0f} of {} nodes are hostile; figures are of the others",
                                  run.name, *hostile, run.setting("nodes")));
    if (!run.finished())
      notes.push_back(fmt::format(
          "{} is not finished: its figures are those of its last evaluation; continue it with {}",
          run.name, run.command));
    other_seeds = other_seeds || seeds_of(run) != seeds_of(runs[0]);
  }
  if (other_seeds) notes.push_back("the runs have different seeds");
  return notes;
}

}  // namespace tessera
