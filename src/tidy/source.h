// A source tree as the house rules see it: each file as lines, and once more with comments and the
// insides of literals blanked out, so that a rule about code does not trip over a sentence about
// it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tidy {

struct File {
  std::string path{};  // From the root of the tree.
  std::vector<std::string> lines{};
  std::vector<std::string> code{};  // The same lines, blanked; equal to them where it is not C++.
  std::set<std::string> words{};    // See words_said() in tidy/names.h.
  std::set<std::string> named{};    // See names_given() there.
  std::vector<std::string> includes{};  // With their brackets: "<vector>".

  bool ends_with(std::string_view suffix) const { return path.ends_with(suffix); }
  bool is_cpp() const { return ends_with(".cc") || is_header() || ends_with(".cu"); }
  bool is_header() const { return ends_with(".h") || ends_with(".cuh"); }
  bool is_shell() const { return ends_with(".sh") || ends_with(".sbatch") || path == ".ci/run"; }
  // Its layer: "codec" for src/codec/wire.h; empty outside src/.
  std::string_view folder() const;
};

using Tree = std::map<std::string, File>;  // By path, so that findings come in a fixed order.

// What people wrote: sources, scripts, build files and pages. Builds, data and runs are left out.
Tree read_tree(const std::filesystem::path& root);
File make_file(std::string path, std::string_view text);

// `text` with comments, and what stands between quotes, replaced by spaces; lines stay in place.
std::string without_comments_and_literals(std::string_view text);

// Whether `word` stands in `line` with no letter, digit or underscore on either side of it.
bool has_word(std::string_view line, std::string_view word);

// Lines of one function's body, braces included, counted from zero.
struct FunctionLines {
  std::size_t first = 0;
  std::size_t last = 0;
};
std::vector<FunctionLines> functions_of(const File& file);

}  // namespace tessera::tidy
