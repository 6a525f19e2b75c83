#include "tidy/standard_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/names.h"

namespace tessera::tidy {
namespace {

struct Header {
  std::string_view name{};
  std::string_view declares{};
};

// Names that nearly every header brings (size_t, move, swap) are left out.
constexpr std::array kHeaders = {
    Header{"algorithm",
           "sort stable_sort find find_if copy copy_n copy_if fill fill_n any_of all_of none_of "
           "count count_if lower_bound upper_bound nth_element transform equal min max minmax "
           "clamp min_element max_element reverse rotate unique remove_if binary_search replace "
           "equal_range is_sorted for_each merge push_heap pop_heap make_heap"},
    Header{"array", "array to_array"},
    Header{"atomic", "atomic memory_order_relaxed memory_order_acquire memory_order_release"},
    Header{"bit", "bit_cast popcount countl_zero countr_zero endian bit_ceil bit_width"},
    Header{"charconv", "from_chars to_chars"},
    Header{"chrono", "chrono"},
    Header{"cmath",
           "sqrt pow exp log log2 floor ceil round lround llround isfinite isnan isinf cos sin "
           "tanh fma ldexp frexp hypot nextafter trunc fabs copysign fmod"},
    Header{"condition_variable", "condition_variable"},
    Header{"cstddef", "byte ptrdiff_t nullptr_t"},
    Header{"cstdint",
           "uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t uintptr_t"},
    Header{"cstdio", "FILE fopen fclose fread fwrite fflush snprintf"},
    Header{"cstdlib", "getenv strtod strtoull abort exit system _Exit"},
    Header{"cstring", "memcpy memcmp memset memmove strerror strlen"},
    Header{"deque", "deque"},
    Header{"exception", "exception_ptr current_exception rethrow_exception"},
    Header{"filesystem", "filesystem"},
    Header{"fstream", "ifstream ofstream fstream"},
    Header{"functional", "function reference_wrapper"},
    Header{"future", "future promise async"},
    Header{"initializer_list", "initializer_list"},
    Header{"iterator", "back_inserter istreambuf_iterator"},
    Header{"limits", "numeric_limits"},
    Header{"list", "list"},
    Header{"map", "map multimap"},
    Header{"memory", "unique_ptr shared_ptr weak_ptr make_unique make_shared"},
    Header{"mutex", "mutex lock_guard unique_lock scoped_lock once_flag call_once"},
    Header{"new", "bad_alloc align_val_t"},
    Header{"numbers", "numbers"},
    Header{"numeric", "accumulate iota reduce gcd lcm"},
    Header{"optional", "optional nullopt"},
    Header{"queue", "priority_queue queue"},
    Header{"set", "set multiset"},
    Header{"span", "span as_bytes as_writable_bytes"},
    Header{"sstream", "istringstream ostringstream stringstream"},
    Header{"stdexcept", "runtime_error invalid_argument logic_error out_of_range"},
    Header{"string", "string to_string"},
    Header{"string_view", "string_view"},
    Header{"thread", "thread this_thread jthread"},
    Header{"tuple", "tuple tie make_tuple apply"},
    Header{"type_traits", "is_same_v decay_t remove_cvref_t conditional_t enable_if_t"},
    Header{"unordered_map", "unordered_map"},
    Header{"unordered_set", "unordered_set"},
    Header{"variant", "variant visit get_if monostate holds_alternative"},
    Header{"vector", "vector"},
};

// What a file includes itself and through headers of ours, with their brackets: "<vector>".
std::set<std::string> included_by(const File& file, const Tree& tree) {
  std::set<std::string> found;
  std::vector<const File*> open = {&file};
  while (!open.empty()) {
    const File& next = *open.back();
    open.pop_back();
    for (const std::string& name : next.includes) {
      if (!found.insert(name).second || !name.starts_with('"')) continue;
      const auto ours = tree.find("src/" + name.substr(1, name.find('"', 1) - 1));
      if (ours != tree.end()) open.push_back(&ours->second);
    }
  }
  return found;
}

// From a name to its header.
std::map<std::string, std::string_view, std::less<>> header_of_names() {
  std::map<std::string, std::string_view, std::less<>> headers;
  for (const Header& header : kHeaders) {
    std::istringstream names{std::string(header.declares)};
    for (std::string name; names >> name;) headers[name] = header.name;
  }
  return headers;
}

// The names after "std::" in a line of code.
std::vector<std::string_view> standard_names_in(std::string_view line) {
  constexpr std::string_view kSpace = "std::";
  std::vector<std::string_view> names;
  for (std::size_t at = line.find(kSpace); at != line.npos; at = line.find(kSpace, at + 1)) {
    const std::string_view rest = line.substr(at + kSpace.size());
    const auto end = std::find_if(rest.begin(), rest.end(),
                                  [](unsigned char c) { return !std::isalnum(c) && c != '_'; });
    names.push_back(rest.substr(0, static_cast<std::size_t>(end - rest.begin())));
  }
  return names;
}

// Whether a file says the name, and not as another library's: torch::nn::Linear.
bool says(const File& file, const std::string& type) {
  if (!file.words.contains(type)) return false;
  return std::any_of(file.code.begin(), file.code.end(), [&](const std::string& line) {
    const std::size_t at = line.find(type);
    return has_word(line, type) && (at == 0 || (line[at - 1] != ':' && line[at - 1] != '.'));
  });
}

// Whether other headers give their own types that name.
bool is_shared(const File& header, const std::string& type, const Tree& tree) {
  return std::any_of(tree.begin(), tree.end(), [&](const auto& other) {
    return other.second.is_header() && other.second.path != header.path &&
           other.second.named.contains(type);
  });
}

// The names of a header that stands in for another library's are not ours.
bool stands_in(const File& header) {
  return !header.lines.empty() && header.lines[0].starts_with("// Stands in for ");
}

}  // namespace

void check_standard_names(const File& file, const Tree& tree, Rule::Report& report) {
  if (!file.is_cpp() || file.folder().empty()) return;
  static const auto headers = header_of_names();
  std::set<std::string> included = included_by(file, tree);
  for (std::size_t i = 0; i < file.code.size(); ++i)
    for (std::string_view name : standard_names_in(file.code[i])) {
      const auto header = headers.find(name);
      if (header == headers.end()) continue;
      const std::string needed = fmt::format("<{}>", header->second);
      if (included.insert(needed).second)
        report.add(i, fmt::format("std::{} is declared in {}: include it", name, needed));
    }
}

void check_own_names(const File& header, const Tree& tree, Rule::Report& report) {
  if (!header.is_header() || header.folder().empty() || stands_in(header)) return;
  const std::string needed = '"' + header.path.substr(4) + '"';
  for (const DeclaredName& type : types_defined(header)) {
    if (is_shared(header, type.name, tree)) continue;
    for (const auto& [path, file] : tree)
      if (path != header.path && !file.folder().empty() && !file.named.contains(type.name) &&
          says(file, type.name) && !included_by(file, tree).contains(needed))
        report.add(type.line,
                   fmt::format("{} says {} and does not include {}", path, type.name, needed));
  }
}

}  // namespace tessera::tidy
