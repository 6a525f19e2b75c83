// An adaptive binary range coder (Martin, "Range encoding", 1979; the carry as in LZMA): each yes
// or no costs about -log2 of the chance it was given, and the chance follows what was coded before.
// What says how a thing is made of such bits is written once, for an encoder and a decoder alike:
// bit() of the encoder writes its argument, bit() of the decoder ignores it, and both return what
// was written.
//
// The decoder trusts nothing: past the end it reads zeros and remembers it, and every bit takes the
// same time. The stream ends in four bytes of what the encoder has left, so that after the last bit
// an undamaged decoder has read all bytes and stands at zero; finish() refuses anything else. One
// sequence of bits has one stream.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

// The chance that a bit is zero: the mean of a quick and a slow estimate, in 16 bits each, drawn in
// a little from both ends. So no bit is impossible, and none so cheap that a few bytes could stand
// for millions.
class BitChance {
 public:
  static constexpr unsigned kBits = 15;
  // A bit costs no less and no more than these: chances are from 99 to 32,668 of 32,768.
  static constexpr double kBitsMin = 0.00435;
  static constexpr double kBitsMax = 8.38;

  std::uint32_t of_zero() const {
    const std::uint32_t sum = std::uint32_t{quick_} + slow_;
    return ((sum - (sum >> 8)) >> 2) + 64;
  }
  void learn(bool bit) {
    const std::uint32_t target = bit ? 0 : 0xffff;
    quick_ = toward(quick_, target, 4);
    slow_ = toward(slow_, target, 7);
  }

 private:
  static std::uint16_t toward(std::uint32_t from, std::uint32_t target, unsigned shift) {
    return static_cast<std::uint16_t>(target > from ? from + ((target - from) >> shift)
                                                    : from - ((from - target) >> shift));
  }
  std::uint16_t quick_ = 0x8000, slow_ = 0x8000;
};

class RangeEncoder {
 public:
  explicit RangeEncoder(Bytes& out) : out_(out) {}

  bool bit(BitChance& chance, bool bit) {
    const std::uint32_t zero = (range_ >> BitChance::kBits) * chance.of_zero();
    if (bit) low_ += zero;
    range_ = bit ? range_ - zero : zero;
    chance.learn(bit);
    normalize();
    return bit;
  }
  // One of two equal chances: nothing is learnt.
  bool even_bit(bool bit) {
    range_ >>= 1;
    if (bit) low_ += range_;
    normalize();
    return bit;
  }
  void finish() {
    for (int i = 0; i < 5; ++i) shift();
  }

 private:
  void normalize() {
    while (range_ < 1u << 24) {
      range_ <<= 8;
      shift();
    }
  }
  // Moves the highest byte out. A byte that a carry may still change waits, and so do those of all
  // ones behind it.
  void shift() {
    if (low_ < 0xff000000u || low_ >> 32 != 0) {
      const auto carry = static_cast<std::uint8_t>(low_ >> 32);
      if (begun_) out_.push_back(static_cast<std::byte>(waiting_ + carry));
      for (; ones_ > 0; --ones_) out_.push_back(static_cast<std::byte>(0xff + carry));
      begun_ = true;
      waiting_ = static_cast<std::uint8_t>(low_ >> 24);
    } else {
      ++ones_;
    }
    low_ = (low_ & 0x00ffffff) << 8;
  }

  Bytes& out_;
  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xffffffff;
  std::uint8_t waiting_ = 0;
  bool begun_ = false;  // The first byte to be shifted out is always zero and is left out.
  std::uint64_t ones_ = 0;
};

class RangeDecoder {
 public:
  explicit RangeDecoder(ByteSpan in) : in_(in) {
    for (int i = 0; i < 4; ++i) above_low_ = above_low_ << 8 | next_byte();
  }

  bool bit(BitChance& chance, bool = false) {
    const std::uint32_t zero = (range_ >> BitChance::kBits) * chance.of_zero();
    const bool bit = above_low_ >= zero;
    if (bit) above_low_ -= zero;
    range_ = bit ? range_ - zero : zero;
    chance.learn(bit);
    normalize();
    return bit;
  }
  bool even_bit(bool = false) {
    range_ >>= 1;
    const bool bit = above_low_ >= range_;
    if (bit) above_low_ -= range_;
    normalize();
    return bit;
  }

  bool past_end() const { return at_ > in_.size(); }
  Result<void> finish() const {
    if (past_end()) return Error{"truncated", "the range code ends before the last bit"};
    if (at_ < in_.size()) return Error{"trailing", "bytes follow the range code"};
    if (above_low_ != 0) return Error{"trailing", "the range code does not end where it should"};
    return {};
  }

 private:
  void normalize() {
    while (range_ < 1u << 24) {
      range_ <<= 8;
      above_low_ = above_low_ << 8 | next_byte();
    }
  }
  std::uint32_t next_byte() {
    const std::size_t at = at_++;
    return at < in_.size() ? std::to_integer<std::uint32_t>(in_[at]) : 0;
  }

  ByteSpan in_;
  std::size_t at_ = 0;
  std::uint32_t range_ = 0xffffffff;
  std::uint32_t above_low_ = 0;  // Where the stream stands above the lower end of the range.
};

}  // namespace tessera
