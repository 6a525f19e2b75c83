#include "tidy/layers.h"

#include <array>
#include <sstream>

namespace tessera::tidy {
namespace {

struct Layer {
  std::string_view folder;
  int rank;
};

constexpr std::array kLayers = {
    Layer{"base", 0},   Layer{"math", 1},    Layer{"codec", 2},        Layer{"topology", 2},
    Layer{"data", 2},   Layer{"sharing", 3}, Layer{"node", 4},         Layer{"protocol", 5},
    Layer{"attack", 5}, Layer{"learn", 5},   Layer{"torch/door", 6},   Layer{"torch", 7},
    Layer{"cuda", 6},   Layer{"sim", 6},     Layer{"live/link", 1},    Layer{"live/sign", 1},
    Layer{"live", 6},   Layer{"report", 7},  Layer{"run", 8},          Layer{"cli", 9},
    Layer{"python", 9}, Layer{"tidy", 9},    Layer{"cluster/door", 7}, Layer{"cluster", 8},
};

// What stands between the brackets of tessera_folder(...), or nothing where there is no such call.
std::string folder_call(std::string_view folder, const Tree& tree) {
  const auto found = tree.find("src/" + std::string(folder) + "/CMakeLists.txt");
  if (found == tree.end()) return {};
  std::string text;
  for (const std::string& line : found->second.lines) text += line.substr(0, line.find('#')) + ' ';
  constexpr std::string_view kCall = "tessera_folder(";
  const std::size_t start = text.find(kCall);
  if (start == text.npos) return {};
  return text.substr(start + kCall.size(), text.find(')', start) - start - kCall.size());
}

bool is_keyword(std::string_view word) {
  return word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == word.npos;
}

// The words after a keyword, or after one that begins like it, up to the next.
std::set<std::string> named_after(std::string_view keyword, const std::string& call) {
  std::set<std::string> names;
  std::istringstream words(call);
  bool after = false;
  for (std::string word; words >> word;) {
    if (is_keyword(word))
      after = word.starts_with(keyword);
    else if (after)
      names.insert(word);
  }
  return names;
}

}  // namespace

std::string_view layer_of(std::string_view folder) {
  for (std::size_t slash; rank_of(folder) < 0 && (slash = folder.rfind('/')) != folder.npos;)
    folder = folder.substr(0, slash);
  return folder;
}

int rank_of(std::string_view folder) {
  for (const Layer& layer : kLayers)
    if (layer.folder == folder) return layer.rank;
  return -1;
}

std::set<std::string> used_directly(std::string_view folder, const Tree& tree) {
  const std::string call = folder_call(folder, tree);
  if (!call.empty()) return named_after("USES", call);
  std::set<std::string> used;
  for (const Layer& layer : kLayers)
    if (layer.rank < rank_of(folder)) used.emplace(layer.folder);
  return used;
}

std::set<std::string> used_by_tests(std::string_view folder, const Tree& tree) {
  return named_after("TEST_USES", folder_call(folder, tree));
}

std::set<std::string> visible_from(std::string_view folder, const Tree& tree) {
  std::set<std::string> visible = {std::string(folder)};
  for (const std::string& below : used_directly(folder, tree))
    // A folder that wrongly uses one above it is reported on its own; following it would not end.
    if (rank_of(below) < rank_of(folder)) visible.merge(visible_from(below, tree));
  return visible;
}

}  // namespace tessera::tidy
