#include "run/experiment_text.h"

#include "base/files.h"
#include "base/table.h"

namespace tessera {
namespace {

constexpr int kLongestChain = 8;
constexpr std::size_t kFileBytesMax = 1 << 20;

// What can be said of a key's value by itself, while it is known where it was written.
void check_value(std::string_view key, std::string_view value) {
  if (key == "nodes") (void)parse_nodes(value);
  if (key == "seed") (void)parse_seed(value);
  if (key == "evaluate" && value.substr(0, value.find(',')).find('=') == value.npos)
    throw std::invalid_argument(
        fmt::format("evaluate: '{}' does not say what it is; write every=5s or every=10", value));
}

void refuse_sweep(const toml::table& table, const std::filesystem::path& path) {
  if (table.contains("sweep") || table.contains("case"))
    throw std::invalid_argument(
        fmt::format("{0} is a sweep of several experiments: run them with tessera sweep {0}, or "
                    "name one as {0}:CELL; tessera sweep {0} --dry-run lists them",
                    path.string()));
}

// Where a line and an option of it stand in one table, TOML takes the second for a slip.
std::string_view hint_for(std::string_view description) {
  return description.find("dotted") == description.npos
             ? ""
             : "; beside its own line an option stands in quotes: \"sharing.budget\" = [0.1, 0.2]";
}

Experiment chain_of(const toml::table& table, const std::filesystem::path& path, int longest) {
  refuse_sweep(table, path);
  Experiment experiment;
  if (const toml::node* base = table.get("base")) {
    if (longest == 0)
      throw std::invalid_argument(fmt::format("{}: its bases go round in a circle", path.string()));
    const std::filesystem::path file =
        path.parent_path() / located(path, *base, [&] { return text_of(*base, "base"); });
    experiment = chain_of(parse_toml(read_page(file), file), file, longest - 1);
  }
  for (const auto& [key, node] : table) {
    const std::string_view name = key.str();
    if (name == "base") continue;
    located(path, node, [&, &node = node] {
      (void)require_entry(experiment_keys(), "key", name);
      set_line(experiment, name, text_of(node, name));
    });
  }
  return experiment;
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::filesystem::path& path) {
  try {
    return toml::parse(text, path.string());
  } catch (const toml::parse_error& error) {
    throw std::invalid_argument(fmt::format("{}:{}: not TOML: {}{}", path.string(),
                                            error.source().begin.line, error.description(),
                                            hint_for(error.description())));
  }
}

std::string read_page(const std::filesystem::path& path) {
  return or_throw<std::invalid_argument>(read_text_file(path, kFileBytesMax));
}

std::string text_of(const toml::node& node, std::string_view key) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  throw std::invalid_argument(fmt::format(
      "{} must be a text or a whole number{}", key,
      node.is_array() || node.is_table() ? "; lists and single options stand under [sweep]" : ""));
}

void set_line(Experiment& experiment, std::string_view key, const std::string& value) {
  std::string& line = experiment.*(require_entry(experiment_keys(), "key", key).value);
  check_value(key, value);
  line = value;
}

Experiment lines_of(const toml::table& table, const std::filesystem::path& path) {
  return chain_of(table, path, kLongestChain);
}

}  // namespace tessera
