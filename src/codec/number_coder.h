// Whole numbers in a range code (range_coder.h), coded or read by the same lines. The chances of a
// number's width and of the first three bits behind its highest are learnt, quickly enough to
// follow a message from layer to layer; the bits below them are told as they are.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "codec/range_coder.h"

namespace tessera {

// Numbers from 1 to 2^32 - 1: the width in unary, then the bits, highest first.
class NumberCoder {
 public:
  static constexpr unsigned kWidthMax = 32;
  static constexpr unsigned kLearntBits = 3;

  template <typename Coder>
  std::uint64_t operator()(Coder& coder, std::uint64_t number = 0) {
    const auto known = static_cast<unsigned>(std::bit_width(number));
    unsigned width = 1;
    while (width < kWidthMax && coder.bit(wider_[width], known > width)) ++width;
    std::uint64_t read = 1;
    for (unsigned i = 1; i < width; ++i) {
      const bool bit = (number >> (width - 1 - i) & 1) != 0;
      const bool told = i <= kLearntBits ? coder.bit(bits_[width][read], bit) : coder.even_bit(bit);
      read = read << 1 | (told ? 1 : 0);
    }
    return read;
  }

  // No number of so many bits costs more.
  static constexpr double bits_max(double width) {
    return (width + kLearntBits) * BitChance::kBitsMax + width;
  }

 private:
  std::array<BitChance, kWidthMax> wider_{};  // Than so many bits.
  std::array<std::array<BitChance, 1u << kLearntBits>, kWidthMax + 1> bits_{};
};

// Whole numbers of either sign, by their magnitude and an even bit for the sign where there is one.
class SignedCoder {
 public:
  template <typename Coder>
  std::int64_t operator()(Coder& coder, std::int64_t number = 0) {
    const auto given = static_cast<std::uint64_t>(number < 0 ? -number : number);
    const auto magnitude = static_cast<std::int64_t>(magnitudes_(coder, given + 1)) - 1;
    if (magnitude == 0) return 0;
    return coder.even_bit(number < 0) ? -magnitude : magnitude;
  }

 private:
  NumberCoder magnitudes_;
};

}  // namespace tessera
