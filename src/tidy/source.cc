#include "tidy/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/files.h"
#include "base/text.h"
#include "tidy/layers.h"
#include "tidy/names.h"

namespace tessera::tidy {
namespace {

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Where the literal or comment that begins at `at` ends, one past its last character; `at` itself
// when none begins there.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  const auto past = [&](std::string_view mark, std::size_t from) {
    const std::size_t found = text.find(mark, from);
    return found == text.npos ? text.size() : found + mark.size();
  };
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
  if (rest.starts_with("/*")) return past("*/", at + 2);
  if (rest.starts_with("R\"") && (at == 0 || !is_word_char(text[at - 1]))) {
    const std::size_t open = text.find('(', at);
    if (open == text.npos) return text.size();
    return past(fmt::format("){}\"", text.substr(at + 2, open - at - 2)), open);
  }
  // A quote after a digit is a separator, as in 1'000.
  const bool separator = rest[0] == '\'' && at > 0 && is_word_char(text[at - 1]);
  if (rest[0] != '"' && (rest[0] != '\'' || separator)) return at;
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != rest[0] && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

// Preprocessor lines, with their continuations, may hold unbalanced braces.
std::string without_directives(const std::vector<std::string>& lines) {
  std::string text;
  bool directive = false;
  for (const std::string& line : lines) {
    directive = directive || trimmed(line).starts_with('#');
    if (!directive) text += line;
    text += '\n';
    directive = directive && line.ends_with('\\');
  }
  return text;
}

// Whether a brace after `head`, the text since the last statement or brace, opens a function's
// body.
bool opens_function(std::string_view head) {
  head = trimmed(head);
  if (head.find('(') == head.npos) return false;
  for (std::string_view word : {"class", "struct", "union", "enum", "namespace"})
    if (head.starts_with(word) && !is_word_char(head.substr(word.size()).front())) return false;
  return true;
}

bool is_text_of_ours(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 13> kEndings = {
      ".cc", ".h",    ".cu",  ".cuh",    ".sh",      ".py",   ".cmake",
      ".md", ".toml", ".svg", ".sbatch", ".service", ".ipynb"};
  const std::string name = path.filename().string();
  return name == "CMakeLists.txt" || name == "run" || name.ends_with(".cmake.in") ||
         std::ranges::any_of(kEndings, [&](auto ending) { return name.ends_with(ending); });
}

void add_file(Tree& tree, const std::filesystem::path& root, const std::filesystem::path& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return;  // Someone's editor removed it between listing and reading.
  std::string name = path.lexically_relative(root).generic_string();
  tree[name] = make_file(name, *text);
}

}  // namespace

std::string_view File::folder() const {
  constexpr std::string_view kSources = "src/";
  if (!path.starts_with(kSources)) return {};
  const std::string_view rest = std::string_view(path).substr(kSources.size());
  const std::size_t slash = rest.rfind('/');
  return slash == rest.npos ? std::string_view{} : layer_of(rest.substr(0, slash));
}

Tree read_tree(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  Tree tree;
  for (const fs::directory_entry& entry : fs::directory_iterator(root))
    if (entry.is_regular_file() && is_text_of_ours(entry.path()))
      add_file(tree, root, entry.path());
  for (const char* folder :
       {"src", "scripts", "docs", "cmake", "experiments", "examples", "deploy", ".ci"}) {
    if (!fs::is_directory(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && is_text_of_ours(entry.path()))
        add_file(tree, root, entry.path());
  }
  return tree;
}

File make_file(std::string path, std::string_view text) {
  File file{.path = std::move(path), .lines = lines_of(text)};
  file.code = file.is_cpp() ? lines_of(without_comments_and_literals(text)) : file.lines;
  file.words = words_said(file);
  file.named = names_given(file);
  for (const std::string& line : file.lines)
    if (file.is_cpp() && line.starts_with("#include "))
      file.includes.emplace_back(trimmed(std::string_view(line).substr(9)));
  return file;
}

std::string without_comments_and_literals(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = end_of_quoted(text, at);
    for (std::size_t i = at; i < end; ++i)
      if (out[i] != '\n') out[i] = ' ';
    at = std::max(end, at + 1);
  }
  return out;
}

bool has_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != line.npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word_char(line[at - 1])) &&
        (end == line.size() || !is_word_char(line[end])))
      return true;
  }
  return false;
}

std::vector<FunctionLines> functions_of(const File& file) {
  const std::string text = without_directives(file.code);
  std::vector<FunctionLines> functions;
  std::size_t line = 0, head = 0, depth = 0;
  std::size_t inside = 0;  // The depth of the function we are in; zero outside of any.
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') ++line;
    if (c == '{') {
      ++depth;
      if (inside == 0 && opens_function(std::string_view(text).substr(head, at - head))) {
        inside = depth;
        functions.push_back({line, line});
      }
    }
    if (c == '}' && depth > 0) {
      if (inside == depth) {
        functions.back().last = line;
        inside = 0;
      }
      --depth;
    }
    if (c == ';' || c == '{' || c == '}') head = at + 1;
  }
  return functions;
}

}  // namespace tessera::tidy
