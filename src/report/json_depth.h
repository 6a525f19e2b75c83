// JSON is read without recursion but copied and written with it: text nested too deep would take
// more stack than there is.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera {

constexpr std::size_t kJsonDepthMax = 64;  // What we write is 4 deep.

inline bool is_too_deep(std::string_view json) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size() && depth <= kJsonDepthMax; ++i) {
    const char c = json[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;  // The next one ends nothing.
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return depth > kJsonDepthMax;
}

}  // namespace tessera
