#include "run/experiment.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <array>
#include <stdexcept>
#include <vector>

#include "base/files.h"
#include "base/spec.h"
#include "base/table.h"

namespace tessera {
namespace {

constexpr std::array kKeys = {
    ExperimentKey{"nodes", "How many nodes train together", &Experiment::nodes},
    ExperimentKey{"seed", "The number every random decision descends from", &Experiment::seed},
    ExperimentKey{"data", "Dataset, see: tessera list datasets", &Experiment::data},
    ExperimentKey{"partition", "Who gets which samples, see: tessera list partitions",
                  &Experiment::partition},
    ExperimentKey{"model", "Model, see: tessera list models", &Experiment::model},
    ExperimentKey{"training", "Local steps: sgd:lr=…,batch=…,steps=…", &Experiment::training},
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
    ExperimentKey{
        "evaluate",
        "When and on how much to test: every=10 (rounds) or every=5s; samples=…; merged=no",
        &Experiment::evaluate},
    ExperimentKey{"device", "cpu or cuda", &Experiment::device},
};

const ExperimentKey& require_key(std::string_view name) {
  return require_entry(experiment_keys(), "key", name);
}

std::string text_of(const toml::node& node, std::string_view key) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  throw std::invalid_argument(fmt::format("{} must be a text or a whole number", key));
}

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

// What can be said of a key's value by itself, while it is known where it was written.
void check_value(std::string_view key, std::string_view value) {
  if (key == "nodes") (void)parse_nodes(value);
  if (key == "seed") (void)parse_seed(value);
  if (key == "evaluate" && value.substr(0, value.find(',')).find('=') == value.npos)
    throw std::invalid_argument(
        fmt::format("evaluate: '{}' does not say what it is; write every=5s or every=10", value));
}

constexpr int kLongestChain = 8;
constexpr std::size_t kFileBytesMax = 1 << 20;  // An experiment is a page.

toml::table parse_toml(std::string_view text, const std::filesystem::path& path) {
  try {
    return toml::parse(text, path.string());
  } catch (const toml::parse_error& error) {
    throw std::invalid_argument(fmt::format("{}:{}: not TOML: {}", path.string(),
                                            error.source().begin.line, error.description()));
  }
}

Experiment parse_chain(std::string_view text, const std::filesystem::path& path, int longest);

// A file may name another one beside it as its base, whose keys hold where it says nothing itself.
Experiment read_chain(const std::filesystem::path& path, int longest) {
  return parse_chain(or_throw<std::invalid_argument>(read_text_file(path, kFileBytesMax)), path,
                     longest);
}

Experiment parse_chain(std::string_view text, const std::filesystem::path& path, int longest) {
  const toml::table table = parse_toml(text, path);
  // Runs `take` and adds to whatever it refuses where that stands.
  const auto located = [&](const toml::node& node, auto take) {
    try {
      return take();
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(
          fmt::format("{}:{}: {}", path.string(), node.source().begin.line, error.what()));
    }
  };
  Experiment experiment;
  if (const toml::node* base = table.get("base")) {
    if (longest == 0)
      throw std::invalid_argument(fmt::format("{}: its bases go round in a circle", path.string()));
    const std::string name = located(*base, [&] { return text_of(*base, "base"); });
    experiment = read_chain(path.parent_path() / name, longest - 1);
  }
  for (const auto& [key, node] : table) {
    const std::string_view name = key.str();
    if (name == "base") continue;
    located(node, [&, &node = node] {
      std::string& value = experiment.*(require_key(name).value);
      value = text_of(node, name);
      check_value(name, value);
    });
  }
  return experiment;
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
  return read_chain(path, kLongestChain);
}

Experiment parse_experiment(std::string_view text, const std::filesystem::path& where) {
  return parse_chain(text, where, kLongestChain);
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
    if (!value.empty()) {
      check_value(name, value);
      experiment.*(require_key(name).value) = value;
    }
}

Experiment ExperimentArguments::resolve() const {
  Experiment experiment = file.empty() ? Experiment{} : read_experiment(file);
  set_lines(experiment, flags);
  return experiment;
}

}  // namespace tessera
