#include "tidy/names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "tidy/source.h"

namespace tessera::tidy {
namespace {

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Where the name stands that a line of a header declares as a function: after a type and before the
// first bracket. Nothing where the line declares none.
struct Place {
  std::size_t begin = 0, end = 0;
};

Place declared_in(const std::string& line) {
  constexpr std::array<std::string_view, 9> kNoTypes = {"return", "else",  "if",     "while", "for",
                                                        "case",   "throw", "delete", "using"};
  const std::size_t first = line.find_first_not_of(' ');
  const std::size_t bracket = line.find('(');
  if (first > 2 || bracket == line.npos) return {};
  std::size_t begin = bracket;
  while (begin > first && is_word_char(line[begin - 1])) --begin;
  const std::string before = line.substr(first, begin - first);
  constexpr std::string_view kTypes = " :<>,*&[]_";
  const bool is_type = std::all_of(before.begin(), before.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || kTypes.find(c) != kTypes.npos;
  });
  if (begin == bracket || before.empty() || !is_type || before.back() == ':') return {};
  const std::string word = before.substr(0, before.find_first_of(" <:*&"));
  if (std::find(kNoTypes.begin(), kNoTypes.end(), word) != kNoTypes.end()) return {};
  return {begin, bracket};
}

// All but the one at `left_out`.
void add_words(const std::string& line, Place left_out, std::set<std::string>& words) {
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at;
    while (end < line.size() && is_word_char(line[end])) ++end;
    if (end > at && (at != left_out.begin || end != left_out.end))
      words.insert(line.substr(at, end - at));
    at = end + 1;
  }
}

std::string word_at(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_word_char);
  return {text.begin(), end};
}

// The type that a line defines; nothing where it defines none.
std::string type_in(std::string_view line) {
  for (std::string_view word : {"struct ", "class ", "enum class ", "enum ", "using "}) {
    if (!line.starts_with(word)) continue;
    if (word == "using " && line.find(" = ") == line.npos) return {};
    return word_at(line.substr(word.size()));
  }
  return {};
}

}  // namespace

std::vector<DeclaredName> types_defined(const File& file) {
  std::vector<DeclaredName> types;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    const std::string& line = file.code[i];
    const std::string type = type_in(line);
    if (!type.empty() && (!line.ends_with(';') || line.starts_with("using ")))
      types.push_back({type, i});
  }
  return types;
}

std::set<std::string> names_given(const File& file) {
  std::set<std::string> names;
  if (!file.is_cpp()) return names;
  for (const std::string& line : file.code) {
    const std::string_view text = trimmed(line);
    names.insert(type_in(text));
    if (text.starts_with("using ") && text.ends_with(';'))
      names.insert(word_at(text.substr(text.find_last_of(":") + 1)));
    constexpr std::string_view kParameter = "typename ";
    for (std::size_t at = text.find(kParameter); at != text.npos;
         at = text.find(kParameter, at + 1))
      names.insert(word_at(text.substr(at + kParameter.size())));
    const Place function = line.starts_with(' ') ? Place{} : declared_in(line);
    names.insert(line.substr(function.begin, function.end - function.begin));
  }
  return names;
}

std::vector<DeclaredName> functions_declared(const File& file) {
  // Called by the standard library, or no names at all.
  constexpr std::array<std::string_view, 3> kNotOurs = {"deallocate", "volatile", "decltype"};
  std::vector<DeclaredName> names;
  if (!file.ends_with(".h")) return names;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    const Place place = declared_in(file.code[i]);
    const std::string name = file.code[i].substr(place.begin, place.end - place.begin);
    if (!name.empty() && std::find(kNotOurs.begin(), kNotOurs.end(), name) == kNotOurs.end())
      names.push_back({name, i});
  }
  return names;
}

std::set<std::string> words_said(const File& file) {
  std::set<std::string> words;
  if (!file.is_cpp()) return words;
  for (const std::string& line : file.code)
    if (file.ends_with(".h"))
      add_words(line, declared_in(line), words);
    else if (line.starts_with(' '))
      add_words(line, {}, words);
  return words;
}

std::vector<ClassMembers> classes_of(const File& file) {
  std::vector<ClassMembers> classes;
  bool inside = false;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    const std::string& line = file.code[i];
    if (line.starts_with("class ") || line.starts_with("struct ")) {
      inside = line.find(';') == line.npos;
      if (inside) classes.push_back({.line = i});
    }
    if (line.starts_with('}')) inside = false;
    if (inside && line.find_first_not_of(' ') == 2) add_words(line, {}, classes.back().names);
  }
  for (ClassMembers& each : classes)
    std::erase_if(each.names, [](const std::string& word) { return !word.ends_with('_'); });
  return classes;
}

}  // namespace tessera::tidy
