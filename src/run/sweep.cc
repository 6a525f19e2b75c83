#include "run/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>

#include "base/spec.h"
#include "base/text.h"
#include "run/experiment_text.h"
#include "run/sweep_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameMax = 200;  // Bytes; file systems have 255 for a folder's name.

// Sets one option of a line and leaves the others. Two lines have no name before their options.
void set_option(Experiment& experiment, const SweepTarget& target, const std::string& value) {
  const auto keys = experiment_keys();
  const auto key = std::find_if(keys.begin(), keys.end(),
                                [&](const auto& known) { return known.name == target.key; });
  std::string& line = experiment.*(key->value);
  const bool nameless = target.key == "evaluate" || target.key == "faults";
  if (line.empty() && !nameless)
    throw std::invalid_argument(
        fmt::format("{}: there is no line {} to change an option of", target.name(), target.key));
  const std::string before = target.key + ":";
  const bool nothing = line.empty() || line == "none";
  Spec spec = parse_spec(!nameless ? line : nothing ? target.key : before + line);
  const auto same = std::find_if(spec.options.begin(), spec.options.end(),
                                 [&](const auto& option) { return option.first == target.option; });
  if (same != spec.options.end())
    same->second = value;
  else
    spec.options.emplace_back(target.option, value);
  line = to_string(spec).substr(nameless ? before.size() : 0);
}

// Lines first: an option changes the line that holds in the end.
void apply_settings(Experiment& experiment, const std::vector<SweepSetting>& settings) {
  for (const SweepSetting& setting : settings)
    if (setting.target.option.empty()) set_line(experiment, setting.target.key, setting.value);
  for (const SweepSetting& setting : settings)
    if (!setting.target.option.empty()) set_option(experiment, setting.target, setting.value);
}

std::string joined(const std::vector<std::string>& labels, std::string_view between) {
  return join(std::vector<std::string_view>(labels.begin(), labels.end()), between);
}

// A case's dimensions and those of all cases, seeds last. Nothing may be said twice.
std::vector<SweepDimension> dimensions_of(const SweepFile& file, const SweepCase& one) {
  std::vector<SweepDimension> all = one.dimensions;
  all.insert(all.end(), file.dimensions.begin(), file.dimensions.end());
  std::vector<SweepTarget> targets;
  for (const SweepSetting& setting : one.settings) targets.push_back(setting.target);
  for (const SweepDimension& dimension : all) targets.push_back(dimension.target);
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (std::find(targets.begin(), targets.begin() + static_cast<std::ptrdiff_t>(i), targets[i]) !=
        targets.begin() + static_cast<std::ptrdiff_t>(i))
      throw std::invalid_argument(
          fmt::format("case {}: {} is said twice, in the case and under [sweep]; keep one",
                      one.name, targets[i].name()));
  std::stable_partition(all.begin(), all.end(), [](const SweepDimension& dimension) {
    return dimension.target.key != "seed";
  });
  return all;
}

std::size_t cells_of(const std::vector<SweepDimension>& dimensions) {
  std::size_t count = 1;
  for (const SweepDimension& dimension : dimensions)
    count = std::min(kCellsMax + 1, count * dimension.values.size());
  return count;
}

// The cell at a place of the grid; the last dimension varies fastest.
SweepCell cell_at(std::size_t place, const SweepFile& file, const SweepCase& one,
                  const std::vector<SweepDimension>& dimensions) {
  SweepCell cell{.experiment = file.lines};
  std::vector<SweepSetting> settings;
  for (std::size_t d = dimensions.size(); d-- > 0; place /= dimensions[d].values.size()) {
    const std::size_t i = place % dimensions[d].values.size();
    settings.push_back({dimensions[d].target, dimensions[d].values[i]});
    cell.labels.push_back(dimensions[d].labels[i]);
    cell.varied.emplace_back(dimensions[d].target.name(), dimensions[d].values[i]);
  }
  settings.insert(settings.end(), one.settings.begin(), one.settings.end());
  if (!one.name.empty()) {
    cell.labels.push_back(one.name);
    cell.varied.emplace_back("case", one.name);
  }
  std::reverse(cell.labels.begin(), cell.labels.end());
  std::reverse(cell.varied.begin(), cell.varied.end());
  const bool by_seed = !dimensions.empty() && dimensions.back().target.key == "seed";
  std::vector<std::string> without_seed = cell.labels;
  if (by_seed) without_seed.pop_back();
  cell.run = joined(without_seed, "-");
  cell.name = !by_seed ? cell.run : (cell.run.empty() ? "" : cell.run + "/") + cell.labels.back();
  try {
    apply_settings(cell.experiment, settings);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("cell {}: {}", cell.name, error.what()));
  }
  return cell;
}

void refuse_bad_names(const std::vector<SweepCell>& cells) {
  std::set<std::string> names;
  for (const SweepCell& cell : cells) {
    if (!names.insert(cell.name).second)
      throw std::invalid_argument(fmt::format(
          "two cells are called {}: names that differ tell folders apart; give a [[case]] another "
          "name, or name the values of a list by cases",
          cell.name));
    if (cell.run.size() > kNameMax)
      throw std::invalid_argument(
          fmt::format("a cell's name has {} bytes and a folder's may have {}: name what varies by "
                      "cases; it is {}",
                      cell.run.size(), kNameMax, cell.run));
    if (cell.run == "logs" || cell.run == "figures")
      throw std::invalid_argument(
          fmt::format("a cell cannot be called {}: the sweep keeps its own there", cell.run));
  }
}

bool is_one_experiment(const SweepFile& file) {
  return file.dimensions.empty() && file.cases.size() == 1 && file.cases[0].name.empty();
}

// The nearest of some names; there may be thousands of them.
std::string near_or_how_to_list(std::string_view word, const std::set<std::string_view>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  if (!nearest(word, names).empty()) return suggestion(word, names);
  return " tessera sweep FILE --dry-run lists them.";
}

// The seeds of a flag, for all cells, in place of the file's own.
void set_seeds(SweepFile& file, const std::string& text) {
  const SweepTarget seed{"seed", ""};
  const auto is_seed = [&](const auto& said) { return said.target == seed; };
  for (SweepCase& one : file.cases) {
    std::erase_if(one.dimensions, is_seed);
    std::erase_if(one.settings, is_seed);
  }
  std::erase_if(file.dimensions, is_seed);
  SweepDimension dimension{.target = seed, .values = parse_seeds(text)};
  for (const std::string& value : dimension.values) dimension.labels.push_back("seed-" + value);
  file.dimensions.push_back(std::move(dimension));
}

// A flag is for lines that all cells share.
void apply_flags(SweepFile& file, const std::map<std::string, std::string>& flags) {
  for (const auto& [key, value] : flags) {
    if (value.empty()) continue;
    if (key == "seeds") {
      set_seeds(file, value);
      continue;
    }
    const SweepTarget line{key, ""};
    bool varies = false;
    for (const SweepDimension& dimension : file.dimensions) varies |= dimension.target == line;
    for (const SweepCase& one : file.cases) {
      for (const SweepDimension& dimension : one.dimensions) varies |= dimension.target == line;
      for (const SweepSetting& setting : one.settings) varies |= setting.target == line;
    }
    if (varies)
      throw std::invalid_argument(fmt::format(
          "--{}={}: the sweep varies {} itself; choose cells with --only, or change its file", key,
          value, key));
    set_line(file.lines, key, value);
  }
}

}  // namespace

std::vector<SweepCell> parse_sweep(std::string_view text, const fs::path& where,
                                   const std::map<std::string, std::string>& flags) {
  SweepFile file = parse_sweep_file(text, where);
  apply_flags(file, flags);
  std::vector<SweepCell> cells;
  try {
    for (const SweepCase& one : file.cases) {
      const std::vector<SweepDimension> dimensions = dimensions_of(file, one);
      const std::size_t count = cells_of(dimensions);
      if (cells.size() + count > kCellsMax)
        throw std::invalid_argument(fmt::format(
            "the grid has more than {} cells: shorten a list, or split the sweep", kCellsMax));
      for (std::size_t i = 0; i < count; ++i) cells.push_back(cell_at(i, file, one, dimensions));
    }
    if (is_one_experiment(file))
      throw std::invalid_argument(
          "nothing varies: give it lists under [sweep], or run it with tessera sim");
    refuse_bad_names(cells);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}", where.string(), error.what()));
  }
  return cells;
}

std::vector<SweepCell> read_sweep(const fs::path& path,
                                  const std::map<std::string, std::string>& flags) {
  return parse_sweep(read_page(path), path, flags);
}

std::vector<SweepCell> chosen_cells(std::vector<SweepCell> cells,
                                    const std::vector<std::string>& words) {
  if (words.empty()) return cells;
  std::set<std::string_view> known;
  for (const SweepCell& cell : cells) {
    known.insert(cell.labels.begin(), cell.labels.end());
    known.insert({cell.name, cell.run});
  }
  for (const std::string& word : words)
    if (!known.contains(word))
      throw std::invalid_argument(
          fmt::format("there is no cell '{}'.{}", word, near_or_how_to_list(word, known)));
  const auto chosen = [&](const SweepCell& cell) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return cell.name == word || cell.run == word ||
             std::find(cell.labels.begin(), cell.labels.end(), word) != cell.labels.end();
    });
  };
  std::vector<SweepCell> kept;
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(kept), chosen);
  return kept;
}

std::optional<std::pair<fs::path, std::string>> named_cell(const std::string& text) {
  std::error_code ignored;
  const std::size_t colon = text.rfind(".toml:");
  if (colon == text.npos || fs::exists(text, ignored)) return std::nullopt;
  return std::pair(fs::path(text.substr(0, colon + 5)), text.substr(colon + 6));
}

SweepCell read_cell(const fs::path& path, const std::string& name) {
  const std::string text = read_page(path);
  if (is_one_experiment(parse_sweep_file(text, path)))
    throw std::invalid_argument(fmt::format(
        "{0}: there is no cell '{1}': the file is one experiment and no sweep; write {0} without "
        ":{1}",
        path.string(), name));
  const std::vector<SweepCell> cells = parse_sweep(text, path);
  for (const SweepCell& cell : cells)
    if (cell.name == name || cell.run == name) return cell;
  std::set<std::string_view> known;
  for (const SweepCell& cell : cells) known.insert(cell.run.empty() ? cell.name : cell.run);
  throw std::invalid_argument(fmt::format("{}: there is no cell '{}'.{}", path.string(), name,
                                          near_or_how_to_list(name, known)));
}

}  // namespace tessera
