#include "run/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/spec.h"
#include "base/table.h"
#include "run/experiment_text.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct Entry {
  std::string key{};
  const toml::node* node = nullptr;
};

// In the order of the file: the table itself is sorted by name.
std::vector<Entry> entries_of(const toml::table& table) {
  std::vector<Entry> entries;
  for (const auto& [key, node] : table) entries.push_back({std::string(key.str()), &node});
  const auto place = [](const Entry& entry) {
    const toml::source_position at = entry.node->source().begin;
    return std::pair(at.line, at.column);
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Entry& a, const Entry& b) { return place(a) < place(b); });
  return entries;
}

// "90..94"; nothing where it is no range of whole numbers. A path may have dots too.
std::optional<std::vector<std::string>> range_of(std::string_view text) {
  const std::size_t dots = text.find("..");
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == part.npos;
  };
  if (dots == text.npos || !digits(text.substr(0, dots)) || !digits(text.substr(dots + 2)))
    return std::nullopt;
  return parse_seeds(text);
}

// A text or a number as people write it in a spec.
std::string value_text(const toml::node& node, std::string_view name) {
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  if (node.is_array() || node.is_table() || node.is_boolean())
    throw std::invalid_argument(
        fmt::format("{}: a value must be a text or a number; write yes and no in quotes", name));
  return text_of(node, name);
}

// The values of a list or a range; nothing for a single value.
std::optional<std::vector<std::string>> list_of(const toml::node& node, std::string_view name) {
  if (const auto text = node.value_exact<std::string>()) return range_of(*text);
  const toml::array* array = node.as_array();
  if (!array) return std::nullopt;
  std::vector<std::string> values;
  for (const toml::node& value : *array) values.push_back(value_text(value, name));
  if (values.empty())
    throw std::invalid_argument(fmt::format(
        "{} = []: an empty list makes no experiment; give it values, or remove it", name));
  std::set<std::string> seen;
  for (const std::string& value : values)
    if (!seen.insert(value).second)
      throw std::invalid_argument(fmt::format("{}: {} is in its list twice", name, value));
  return values;
}

// What can be in a folder's name, on any file system and without quotes in a shell.
std::string plain_label(std::string_view text) {
  std::string label(text);
  for (char& c : label) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && std::string_view("._=+-").find(c) == std::string_view::npos) c = '_';
  }
  if (label.starts_with('.')) label[0] = '_';
  return label;
}

// A spec's name where that tells the values apart, else the whole of it.
std::vector<std::string> labels_of(const SweepTarget& target,
                                   const std::vector<std::string>& values) {
  std::vector<std::string> labels, names;
  for (const std::string& value : values) names.push_back(value.substr(0, value.find(':')));
  const bool apart = std::set<std::string>(names.begin(), names.end()).size() == names.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string label = apart ? names[i] : values[i];
    if (!target.option.empty()) label = fmt::format("{}={}", target.option, values[i]);
    if (target.key == "nodes") label = "nodes=" + values[i];
    if (target.key == "seed") label = "seed-" + values[i];
    labels.push_back(plain_label(label));
  }
  return labels;
}

// A table under [sweep] or of a [[case]], taken apart.
class Part {
 public:
  Part(const fs::path& path, bool is_case) : path_(path), is_case_(is_case) {}

  void read(const toml::table& table) {
    for (const Entry& entry : entries_of(table)) {
      if (is_case_ && entry.key == "name") continue;
      const std::size_t dot = entry.key.find('.');
      if (const toml::table* options = entry.node->as_table())
        for (const Entry& option : entries_of(*options)) add({entry.key, option.key}, option);
      else if (dot != entry.key.npos)
        add({entry.key.substr(0, dot), entry.key.substr(dot + 1)}, entry);
      else
        add({entry.key, ""}, entry);
    }
  }

  std::vector<SweepSetting> settings{};
  std::vector<SweepDimension> dimensions{};

 private:
  void add(SweepTarget target, const Entry& entry) {
    located(path_, *entry.node, [&] {
      (void)require_entry(experiment_keys(), "key", target.key);
      const std::string name = target.name();
      if (!target.option.empty() && (target.key == "nodes" || target.key == "seed"))
        throw std::invalid_argument(fmt::format("{}: {} has no options", name, target.key));
      if (auto values = list_of(*entry.node, name)) {
        std::vector<std::string> labels = labels_of(target, *values);
        dimensions.push_back({std::move(target), std::move(*values), std::move(labels)});
      } else if (is_case_) {
        std::string value = value_text(*entry.node, name);
        settings.push_back({std::move(target), std::move(value)});
      } else {
        throw std::invalid_argument(
            fmt::format("{} = {} does not vary: write a list, or put the line above [sweep]", name,
                        value_text(*entry.node, name)));
      }
    });
  }

  const fs::path& path_;
  bool is_case_;
};

// A case's name is the first part of folders' names.
std::string case_name(const toml::table& table) {
  const toml::node* name = table.get("name");
  const std::string text = name ? text_of(*name, "name") : "";
  if (text.empty())
    throw std::invalid_argument("a [[case]] needs a name, such as name = \"jwins\"");
  if (text != plain_label(text) || text.starts_with("seed-") || text.starts_with('-'))
    throw std::invalid_argument(fmt::format(
        "a case cannot be called '{}': letters, digits and ._=+- name a folder, and seed- begins "
        "those of seeds",
        text));
  return text;
}

std::vector<SweepCase> cases_of(const toml::node& node, const fs::path& path) {
  const toml::array* array = node.as_array();
  std::vector<SweepCase> cases;
  for (std::size_t i = 0; array && i < array->size(); ++i)
    if (const toml::table* table = array->get(i)->as_table()) {
      Part part(path, true);
      part.read(*table);
      cases.push_back({located(path, *table, [&] { return case_name(*table); }),
                       std::move(part.settings), std::move(part.dimensions)});
    }
  if (cases.empty() || cases.size() != array->size())
    throw std::invalid_argument(fmt::format("{}:{}: case: write [[case]] above the lines of each",
                                            path.string(), node.source().begin.line));
  return cases;
}

}  // namespace

SweepFile parse_sweep_file(std::string_view text, const fs::path& where) {
  toml::table table = parse_toml(text, where);
  SweepFile file;
  if (const toml::node* cases = table.get("case")) file.cases = cases_of(*cases, where);
  if (const toml::node* sweep = table.get("sweep")) {
    const toml::table* lists = sweep->as_table();
    if (!lists)
      throw std::invalid_argument(fmt::format("{}:{}: sweep: write [sweep] above the lists",
                                              where.string(), sweep->source().begin.line));
    Part part(where, false);
    part.read(*lists);
    file.dimensions = std::move(part.dimensions);
  }
  table.erase("case");
  table.erase("sweep");
  file.lines = lines_of(table, where);
  if (file.cases.empty()) file.cases.emplace_back();
  return file;
}

}  // namespace tessera
