// Bits in bytes, most significant first: the first bit written is the highest of the first byte.
// The writer keeps a 64-bit word and stores it after every code, so it has no branch to mispredict;
// the reader hands out 64-bit windows for codes to be looked up in, and single bits for the plain
// versions those are tested against.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace tessera {

inline std::uint64_t load_big_endian(const std::byte* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return __builtin_bswap64(word);
}

inline void store_big_endian(std::byte* to, std::uint64_t word) {
  word = __builtin_bswap64(word);
  std::memcpy(to, &word, sizeof word);
}

class BitWriter {
 public:
  // Whole words are stored, so the room must extend this far past the last bit.
  static constexpr std::size_t kSlackBytes = 8;
  // With up to seven bits pending, the widest code that still fits a word.
  static constexpr unsigned kWidestCode = 57;

  explicit BitWriter(std::byte* out) : start_(out), next_(out) {}

  // 1 <= width <= kWidestCode, code < 2^width.
  [[gnu::always_inline]] void put(std::uint64_t code, unsigned width) {
    word_ = word_ << width | code;
    pending_ += width;
    store_big_endian(next_, word_ << (64 - pending_));
    next_ += pending_ / 8;
    pending_ %= 8;
  }

  [[gnu::always_inline]] void put_zeros(std::uint64_t count) {
    for (; count > kWidestCode; count -= kWidestCode) put(0, kWidestCode);
    if (count > 0) put(0, static_cast<unsigned>(count));
  }

  // Bytes touched so far; the bits that fill up the last one are zero.
  std::size_t bytes() const {
    return static_cast<std::size_t>(next_ - start_) + (pending_ > 0 ? 1 : 0);
  }

 private:
  std::byte* start_;
  std::byte* next_;
  std::uint64_t word_ = 0;
  unsigned pending_ = 0;  // Bits of word_ that are not in a finished byte yet; below 8.
};

// Appends what `write(BitWriter&)` writes, at most `bytes_max` bytes of it.
template <typename Write>
void append_bits(Bytes& out, std::size_t bytes_max, const Write& write) {
  const std::size_t start = out.size();
  out.resize(start + bytes_max + BitWriter::kSlackBytes);
  BitWriter bits(out.data() + start);
  write(bits);
  out.resize(start + bits.bytes());
}

class BitReader {
 public:
  // Bits of a window that are sure to be the stream's.
  static constexpr unsigned kWindowBits = 57;

  explicit BitReader(ByteSpan in) : in_(in) {}

  // The next kWindowBits bits, highest first; zeros past the end. The bits below them mean nothing.
  std::uint64_t window() const {
    if (has_whole_word()) return whole_window();
    const std::size_t at = position_ / 8;
    std::byte padded[8] = {};
    if (at < in_.size()) std::memcpy(padded, in_.data() + at, in_.size() - at);
    return load_big_endian(padded) << (position_ % 8);
  }
  // Whether a window can be loaded as one word; that word.
  bool has_whole_word() const { return position_ / 8 + 8 <= in_.size(); }
  std::uint64_t whole_window() const {
    return load_big_endian(in_.data() + position_ / 8) << (position_ % 8);
  }

  void skip(std::uint64_t bits) { position_ += bits; }

  // One bit; zero past the end.
  bool bit() {
    const std::size_t at = position_ / 8;
    const unsigned shift = 7 - position_ % 8;
    ++position_;
    return at < in_.size() && (std::to_integer<unsigned>(in_[at]) >> shift & 1) != 0;
  }

  bool past_end() const { return position_ > bits_total(); }
  std::uint64_t bits_left() const { return past_end() ? 0 : bits_total() - position_; }

 private:
  std::uint64_t bits_total() const { return std::uint64_t{in_.size()} * 8; }

  ByteSpan in_;
  std::uint64_t position_ = 0;
};

}  // namespace tessera
