#include "run/experiment.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <stdexcept>

#include "base/spec.h"
#include "run/experiment_text.h"
#include "run/sweep.h"

namespace tessera {
namespace {

constexpr std::array kKeys = {
    ExperimentKey{"nodes", "How many nodes train together", &Experiment::nodes},
    ExperimentKey{"seed", "The number every random decision descends from", &Experiment::seed},
    ExperimentKey{"data", "Dataset, see: tessera list datasets", &Experiment::data},
    ExperimentKey{"partition", "Who gets which samples, see: tessera list partitions",
                  &Experiment::partition},
    ExperimentKey{"model", "Model, see: tessera list models", &Experiment::model},
    ExperimentKey{"training",
                  "Local steps: sgd:lr=…,batch=…,steps=…,momentum=…,weight_decay=…; see: tessera "
                  "list trainings",
                  &Experiment::training},
    ExperimentKey{"topology", "Who may talk to whom, see: tessera list topologies",
                  &Experiment::topology},
    ExperimentKey{"protocol", "When nodes talk, see: tessera list protocols",
                  &Experiment::protocol},
    ExperimentKey{"sharing", "What they tell, see: tessera list sharings", &Experiment::sharing},
    ExperimentKey{"rule", "How contributions are averaged, see: tessera list rules",
                  &Experiment::rule},
    ExperimentKey{"codec", "How it is written, see: tessera list codecs", &Experiment::codec},
    ExperimentKey{"merge", "When all nodes average exactly, see: tessera list merges",
                  &Experiment::merge},
    ExperimentKey{"network", "How long messages take, see: tessera list networks",
                  &Experiment::network},
    ExperimentKey{"compute", "How long training takes, see: tessera list computes",
                  &Experiment::compute},
    ExperimentKey{"faults", "What goes wrong: none, or loss=…,crash=…; see: tessera list faults",
                  &Experiment::faults},
    ExperimentKey{"evaluate",
                  "When and on how much to test: every=10 (rounds) or every=5s; samples=…; "
                  "merged=no; start=yes "
                  "for a row of round 0; nodes=yes for every node's scores",
                  &Experiment::evaluate},
    ExperimentKey{"device", "cpu or cuda", &Experiment::device},
};

// As TOML writes it: whole numbers bare, texts in quotes.
std::string toml_text(std::string_view value) {
  const bool whole =
      !value.empty() && value.size() < 19 && value.find_first_not_of("0123456789") == value.npos;
  if (whole && (value.size() == 1 || value[0] != '0')) return std::string(value);
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\')
      text += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      text += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      text += c;
  }
  return text + '"';
}

constexpr Interval kNodes{.low = 1, .high = 1'000'000};

std::int64_t integer_in(std::string_view key, std::string_view text, Interval accepted) {
  const std::int64_t number = [&] {
    try {
      return parse_integer(text);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{}: {}", key, error.what()));
    }
  }();
  if (!accepted.contains(static_cast<double>(number)))
    throw std::invalid_argument(fmt::format("{}: {} must be {}", key, text, accepted.to_string()));
  return number;
}

}  // namespace

std::span<const ExperimentKey> experiment_keys() {
  return kKeys;
}

std::uint32_t parse_nodes(std::string_view text) {
  return static_cast<std::uint32_t>(integer_in("nodes", text, kNodes));
}

std::uint64_t parse_seed(std::string_view text) {
  return static_cast<std::uint64_t>(integer_in("seed", text, at_least(0)));
}

Experiment read_experiment(const std::filesystem::path& path) {
  if (const auto cell = named_cell(path.string()))
    return read_cell(cell->first, cell->second).experiment;
  return parse_experiment(read_page(path), path);
}

Experiment parse_experiment(std::string_view text, const std::filesystem::path& where) {
  return lines_of(parse_toml(text, where), where);
}

std::vector<std::string> parse_seeds(std::string_view text) {
  const std::invalid_argument wrong(
      fmt::format("{}: write FIRST..LAST or a list without repeats, such as 90..94", text));
  std::vector<std::string> seeds;
  try {
    if (const std::size_t dots = text.find(".."); dots != text.npos) {
      const std::int64_t first = parse_integer(text.substr(0, dots));
      const std::int64_t last = parse_integer(text.substr(dots + 2));
      if (first < 0 || last < first || last - first > 10'000) throw wrong;
      for (std::int64_t seed = first; seed <= last; ++seed) seeds.push_back(std::to_string(seed));
    } else {
      for (const std::string_view seed : split(text, ','))
        seeds.push_back(std::to_string(parse_seed(seed)));
    }
  } catch (const std::invalid_argument&) {
    throw wrong;
  }
  if (std::set<std::string>(seeds.begin(), seeds.end()).size() != seeds.size()) throw wrong;
  return seeds;
}

std::string to_toml(const Experiment& experiment) {
  std::string text;
  for (const ExperimentKey& key : kKeys)
    if (const std::string& value = experiment.*(key.value); !value.empty())
      text += fmt::format("{:<9} = {}\n", key.name, toml_text(value));
  return text;
}

void set_lines(Experiment& experiment, const std::map<std::string, std::string>& lines) {
  for (const auto& [name, value] : lines)
    if (!value.empty()) set_line(experiment, name, value);
}

Experiment ExperimentArguments::resolve() const {
  Experiment experiment = file.empty() ? Experiment{} : read_experiment(file);
  set_lines(experiment, flags);
  return experiment;
}

}  // namespace tessera
