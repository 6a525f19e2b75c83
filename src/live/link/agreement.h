// What the nodes of a run must have in common before they talk: the experiment's lines, the classes
// of their data and the shape of a sample. Each says it in its hello, as lines of text with a key
// each; one that differs is turned down with the other's, so that both can say in what.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera {

class Agreement {
 public:
  static constexpr std::size_t kBytesMax = 16 << 10;  // Of the text.

  // Control characters become '?'; what no longer fits is cut.
  void add(std::string_view key, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// In what a peer's text differs, for people: "codec: here gamma+planes, there raw+f32". A few keys
// and a line's length at most, whatever the peer says.
std::string difference(std::string_view here, std::string_view there);

// A terminal would obey control characters, those of both sets: each becomes '?'.
std::string without_controls(std::string_view text);

}  // namespace tessera
