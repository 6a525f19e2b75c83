#include "run/experiment_text.h"

#include <algorithm>
#include <cstdint>

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

// The letter of UTF-8 that begins the text, which is shortened by it; 0 where there is none.
char32_t take_letter(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  char32_t letter = lead & (0xff >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    letter = letter << 6 | (byte & 0x3f);
  }
  text.remove_prefix(length);
  return letter;
}

// toml++ 3.3 runs into undefined behaviour on some letters beyond ASCII where it does not expect
// them, which fuzzing found. It is handed ASCII alone: in double quotes \u0493 is the same, in a
// comment nobody reads it, and elsewhere it is refused. In single quotes it would be another text.
std::string in_ascii(std::string_view text, const std::filesystem::path& path) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // A byte order mark.
  const bool many_lines = text.find("'''") != text.npos;
  std::string ascii;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view rest = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(rest.size() + 1, text.size()));
    const bool is_comment = rest.substr(0, rest.find_first_not_of(" \t") + 1).ends_with('#');
    const bool exact = !is_comment && (many_lines || rest.find('\'') != rest.npos);
    while (!rest.empty()) {
      if (static_cast<unsigned char>(rest[0]) < 0x80) {
        ascii += rest[0];
        rest.remove_prefix(1);
      } else if (const char32_t letter = take_letter(rest); letter == 0 || exact) {
        throw std::invalid_argument(fmt::format(
            "{}:{}: {}", path.string(), line,
            letter == 0 ? "this is not UTF-8" : "letters beyond ASCII stand in double quotes"));
      } else {
        ascii += fmt::format("\\U{:08X}", static_cast<std::uint32_t>(letter));
      }
    }
    ascii += '\n';
  }
  return ascii;
}

std::string in_one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return line;
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
  const std::string ascii = in_ascii(text, path);
  try {
    return toml::parse(ascii, path.string());
  } catch (const toml::parse_error& error) {
    throw std::invalid_argument(
        fmt::format("{}:{}: not TOML: {}{}", path.string(), error.source().begin.line,
                    in_one_line(error.description()), hint_for(error.description())));
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
