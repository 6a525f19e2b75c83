#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "base/check.h"
#include "base/spec.h"
#include "base/text.h"
#include "report/welch.h"

namespace tessera {
namespace {

using Cell = TableCell;

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
  if (values.size() < 2)
    return figure_cell(run, figure, [](double mean) { return fmt::format("{:.2f}%", 100 * mean); });
  const double deviation = deviation_of(values);
  Cell cell = figure_cell(run, figure, [&](double mean) {
    return fmt::format("{:.2f} +- {:.2f}%", 100 * mean, 100 * deviation);
  });
  cell.deviation = fmt::format("{}", deviation);
  return cell;
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
  const std::size_t diverged = run.diverged();
  if (diverged == run.seeds.size()) return " (diverged)";
  if (diverged > 0) return fmt::format(" ({} of {} seeds diverged)", diverged, run.seeds.size());
  const auto rounds = mean_of(run.figures("rounds"));
  return fmt::format(" (unfinished, round {:.0f}{})", rounds.value_or(0),
                     run.rounds_planned ? fmt::format(" of {}", *run.rounds_planned) : "");
}

// Without a model of the network no time passes.
std::string show_seconds(double s) {
  return s > 0 ? show_duration(Duration(static_cast<std::int64_t>(s * 1e9))) : std::string("-");
}

std::string four_digits(double loss) {
  return fmt::format("{:.4f}", loss);
}

std::string three_digits(double part) {
  return fmt::format("{:.3g}", part);
}

Cell name_cell(const StoredRun& run) {
  return {.text = run.name + progress_of(run), .number = run.name};
}

Cell seeds_cell(const StoredRun& run) {
  return {.text = std::to_string(run.seeds.size()), .number = std::to_string(run.seeds.size())};
}

// A column: its names, how a run's cell is made, and whether it can be won: the higher accuracy,
// the lower loss, fewer bytes, less virtual time.
struct Column {
  std::string_view name{};   // To choose it by, and for programs.
  std::string_view title{};  // For people.
  Cell (*cell)(const StoredRun& run, const StoredRun& first) = nullptr;
  std::string_view contest{};  // The figure that is compared; none: nobody wins.
  double sign = 1;             // -1: the highest wins.
  bool by_name_only = false;   // Not in a table of all columns.
};

using Run = const StoredRun&;
constexpr std::array kColumns = {
    Column{"run", "run", [](Run run, Run) { return name_cell(run); }},
    Column{"accuracy", "accuracy", [](Run run, Run) { return accuracy_cell(run, "accuracy"); },
           "accuracy", -1},
    Column{"loss", "loss", [](Run run, Run) { return figure_cell(run, "loss", four_digits); },
           "loss"},
    Column{"bytes_sent_per_node", "sent/node",
           [](Run run, Run) { return figure_cell(run, "bytes_sent_per_node", show_bytes); },
           "bytes_sent_per_node"},
    Column{
        "saved", "saved",
        [](Run run, Run first) { return compares(run, first) ? saved_cell(run, first) : none(); }},
    Column{
        "points", "points",
        [](Run run, Run first) { return compares(run, first) ? points_cell(run, first) : none(); }},
    Column{
        "p_value", "chance",
        [](Run run, Run first) { return compares(run, first) ? chance_cell(run, first) : none(); }},
    Column{"virtual_seconds", "virtual time",
           [](Run run, Run) { return figure_cell(run, "virtual_seconds", show_seconds); },
           "virtual_seconds"},
    Column{"wall_seconds", "wall",
           [](Run run, Run) { return figure_cell(run, "wall_seconds", show_seconds); }},
    Column{"merged_accuracy", "merged",
           [](Run run, Run) { return accuracy_cell(run, "merged_accuracy"); }, "merged_accuracy",
           -1},
    Column{"merged_loss", "merged loss",
           [](Run run, Run) { return figure_cell(run, "merged_loss", four_digits); },
           "merged_loss"},
    Column{"consensus_relative", "apart",
           [](Run run, Run) { return figure_cell(run, "consensus_relative", three_digits); }},
    Column{
        .name = "consensus_distance",
        .title = "distance",
        .cell = [](Run run, Run) { return figure_cell(run, "consensus_distance", three_digits); },
        .by_name_only = true},
    Column{"seeds", "seeds", [](Run run, Run) { return seeds_cell(run); }},
};

void mark_best(std::vector<TableRow>& rows, std::size_t c, const Column& column,
               std::span<const StoredRun> runs) {
  if (column.contest.empty()) return;
  std::vector<std::pair<double, std::size_t>> scores;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (const auto value = mean_of(runs[i].figures(column.contest));
        value && compares(runs[i], runs[0]))
      scores.emplace_back(column.sign * *value, i);
  if (scores.size() < 2) return;
  const double best = std::min_element(scores.begin(), scores.end())->first;
  const auto wins = [&](const auto& score) { return score.first == best; };
  // Where all are alike nobody has won.
  if (std::all_of(scores.begin(), scores.end(), wins)) return;
  for (const auto& score : scores)
    if (wins(score)) rows[score.second][c].best = true;
}

// By either of its names; null where it is none.
const Column* find_column(std::string_view word) {
  for (const Column& column : kColumns)
    if (column.title == word || column.name == word) return &column;
  return nullptr;
}

// A line of the run's config.toml, or one option of it: "network", "network.slowdown".
Cell setting_cell(const StoredRun& run, std::string_view name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  std::string line = run.setting(name.substr(0, dot));
  if (dot == name.size()) return {.text = line.empty() ? "-" : line, .number = line};
  // Some lines are options without a name before them.
  if (line.find('=') < line.find(':')) line = "options:" + line;
  try {
    const Spec spec = parse_spec(line);
    for (const auto& [option, value] : spec.options)
      if (option == name.substr(dot + 1)) return {.text = value, .number = value};
  } catch (const std::invalid_argument&) {
  }
  return none();
}

// The name of a column, or of a setting whose key is known.
std::string column_named(std::string_view word, std::span<const std::string_view> keys) {
  if (const Column* column = find_column(word)) return std::string(column->name);
  const std::string_view key = word.substr(0, word.find('.'));
  if (std::find(keys.begin(), keys.end(), key) != keys.end()) return std::string(word);
  std::vector<std::string_view> known(keys.begin(), keys.end());
  for (const Column& column : kColumns) known.push_back(column.name);
  throw std::invalid_argument(
      fmt::format("there is no column '{}'.{}", word, suggestion(word, known)));
}

void add_column(TextTable& table, std::span<const StoredRun> runs, const std::string& name) {
  const Column* column = find_column(name);
  const std::size_t c = table.heads.size();
  table.heads.push_back({.title = column ? std::string(column->title) : name,
                         .name = name,
                         .is_words = !column || name == "run",
                         .has_deviation = name.ends_with("accuracy")});
  for (std::size_t i = 0; i < runs.size(); ++i)
    table.rows[i].push_back(column ? column->cell(runs[i], runs[0]) : setting_cell(runs[i], name));
  if (column) mark_best(table.rows, c, *column, runs);
}

}  // namespace

std::vector<std::string> parse_columns(std::string_view text,
                                       std::span<const std::string_view> keys) {
  std::vector<std::string> names;
  for (const std::string_view word : split(text, ',')) {
    const std::string name = column_named(trimmed(word), keys);
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw std::invalid_argument(fmt::format("--columns={}: {} is there twice", text, name));
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> all_columns() {
  std::vector<std::string> names;
  for (const Column& column : kColumns)
    if (!column.by_name_only) names.emplace_back(column.name);
  return names;
}

std::string comparison_table(std::span<const StoredRun> runs, TableFormat format,
                             const std::vector<std::string>& columns) {
  CHECK(!runs.empty());
  TextTable table{.rows = std::vector<TableRow>(runs.size())};
  for (const std::string& name : columns.empty() ? all_columns() : columns)
    add_column(table, runs, name);
  return to_text(table, format);
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
    bool goes_on = false;
    for (const StoredSeed& seed : run.seeds) {
      if (!seed.diverged.empty())
        notes.push_back(fmt::format("{}, seed {}: {}", run.name, seed.seed, seed.diverged));
      goes_on = goes_on || (!seed.finished() && seed.diverged.empty());
    }
    if (goes_on)
      notes.push_back(fmt::format(
          "{} is not finished: its figures are those of its last evaluation; continue it with {}",
          run.name, run.command));
    other_seeds = other_seeds || seeds_of(run) != seeds_of(runs[0]);
  }
  if (other_seeds) notes.push_back("the runs have different seeds");
  return notes;
}

}  // namespace tessera
