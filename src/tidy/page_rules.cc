#include "tidy/page_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/text.h"

namespace tessera::tidy {
namespace {

using Report = Rule::Report;

// "zlib" for find_package(ZLIB REQUIRED), "kissfft" for find_library(VAR kissfft-float): the part
// of a package's name that stays the same wherever it is written.
std::string package_asked_for(std::string_view line) {
  std::string_view words;
  for (std::string_view call : {"find_package(", "find_library(", "find_path("})
    if (line.starts_with(call)) words = line.substr(call.size());
  if (!line.starts_with("find_package("))
    words = trimmed(words.substr(std::min(words.find(' '), words.size())));
  std::string name;
  for (char c : words.substr(0, words.find_first_of(" )-_/+")))
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

bool mentions(const File& file, std::string_view word) {
  for (std::string line : file.lines) {
    for (char& c : line) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (line.find(word) != line.npos) return true;
  }
  return false;
}

// Reports the targets of [text](target) in one line that are neither in the tree nor elsewhere.
void check_links_of_line(const File& file, std::size_t i, const Tree& tree, Report& report) {
  namespace fs = std::filesystem;
  const std::string& line = file.lines[i];
  for (std::size_t at = line.find("]("); at != line.npos; at = line.find("](", at + 1)) {
    std::string target = line.substr(at + 2, line.find(')', at) - at - 2);
    target = target.substr(0, target.find('#'));
    if (target.empty() || target.find(':') != target.npos) continue;
    const std::string path =
        (fs::path(file.path).parent_path() / target).lexically_normal().generic_string();
    const auto next = tree.lower_bound(path);  // A folder exists if some file in it does.
    const bool exists = next != tree.end() && next->first.starts_with(path);
    if (!exists && path != "LICENSE")
      report.add(i, fmt::format("links to {}, which does not exist", path));
  }
}

}  // namespace

void check_shell(const File& file, const Tree&, Report& report) {
  if (!file.is_shell()) return;
  if (file.lines.empty() || file.lines[0] != "#!/usr/bin/env bash")
    report.add(0, "begin with '#!/usr/bin/env bash'");
  std::size_t i = 0;
  while (i < file.lines.size() && (file.lines[i].empty() || file.lines[i][0] == '#')) ++i;
  if (i == file.lines.size() || file.lines[i] != "set -euo pipefail")
    report.add(i, "'set -euo pipefail' must be the first command, so that no failure goes unseen");
}

void check_packages(const File& file, const Tree& tree, Report& report) {
  if (file.folder().empty() || !file.ends_with("/CMakeLists.txt")) return;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string name = package_asked_for(file.lines[i]);
    if (name.empty() || name == "threads") continue;
    for (const char* page : {"scripts/setup.sh", "THIRD_PARTY.md"}) {
      const auto found = tree.find(page);
      if (found == tree.end() || !mentions(found->second, name))
        report.add(i, fmt::format("{} knows no {}: add its line", page, name));
    }
  }
}

void check_links(const File& file, const Tree& tree, Report& report) {
  if (!file.ends_with(".md")) return;
  for (std::size_t i = 0; i < file.lines.size(); ++i) check_links_of_line(file, i, tree, report);
}

}  // namespace tessera::tidy
