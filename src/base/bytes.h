// Little-endian writing to and bounded reading from byte buffers. The reader never passes its end:
// a read that would is answered with zero and remembered, so that a decoder reads all its fields
// and asks once.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera {

static_assert(
    std::endian::native == std::endian::little,
    "the wire is little-endian and copied as it is; a big-endian port swaps in these two classes");

using Bytes = std::vector<std::byte>;
using ByteSpan = std::span<const std::byte>;

template <typename T>
concept Plain = std::is_trivially_copyable_v<T>;

template <Plain T>
ByteSpan bytes_of(std::span<const T> values) {
  return std::as_bytes(values);
}
inline ByteSpan bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class ByteWriter {
 public:
  explicit ByteWriter(Bytes& out) : out_(out) {}

  template <typename T>
  requires std::integral<T> || std::floating_point<T>
  void put(T value) { put_bytes(std::as_bytes(std::span(&value, 1))); }
  void put_bytes(ByteSpan bytes) {
    if (bytes.empty()) return;
    const std::size_t end = out_.size();
    out_.resize(end + bytes.size());
    std::memcpy(out_.data() + end, bytes.data(), bytes.size());
  }

 private:
  Bytes& out_;
};

class ByteReader {
 public:
  explicit ByteReader(ByteSpan in) : in_(in) {}

  template <typename T>
  requires std::integral<T> || std::floating_point<T> T get() {
    T value{};
    const ByteSpan bytes = get_bytes(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  // The next `count` bytes, or none at all when fewer are left.
  ByteSpan get_bytes(std::size_t count) {
    if (count > in_.size()) {
      in_ = {};
      short_ = true;
      return {};
    }
    const ByteSpan bytes = in_.first(count);
    in_ = in_.subspan(count);
    return bytes;
  }
  std::size_t left() const { return in_.size(); }
  bool ran_short() const { return short_; }

 private:
  ByteSpan in_;
  bool short_ = false;
};

}  // namespace tessera
