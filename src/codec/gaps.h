// Decoding sets of indices that travel as their first index and the gaps between neighbours, each
// gap in a prefix code. Gaps are at least one, so what comes out increases by construction and only
// the last index needs to be held against the dimension.
//
// Dense sets have codes of two or three bits, and reading them one by one would be one long chain
// of dependent steps. So a table maps the next twelve bits to all the gaps that end within them:
// one look-up yields up to eight indices, which are stored by two vector instructions whether all
// of them count or not.
//
// A Code is a struct with
//   Gap read(std::uint64_t window)     one gap from a BitReader's window; bits = 0 when the code is
//                                      longer than a window is sure to be;
//   std::uint64_t read_bit_by_bit(BitReader&)  one gap, bit by bit; 0 when no gap below 2^32 is
//   coded.
//                                      The reference, and what reads the long ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/result.h"
#include "codec/bits.h"

namespace tessera {

struct Gap {
  std::uint64_t gap = 0;
  unsigned bits = 0;
};

class GapTable {
 public:
  // 4,096 entries of 12 bytes: more than a first-level cache, but most of them are rare.
  static constexpr unsigned kBits = 12;
  static constexpr std::size_t kGapsMax = 8;

  struct Step {
    std::uint8_t bits = 0;    // Of all its gaps.
    std::uint8_t gaps = 0;    // How many there are; none if the first is longer than kBits.
    std::uint8_t total = 0;   // The gaps' sum.
    std::uint8_t unused = 0;  // A step is loaded as one word.
  };

  template <typename Code>
  explicit GapTable(const Code& code) {
    for (std::size_t pattern = 0; pattern < steps_.size(); ++pattern) {
      Step& step = steps_[pattern];
      while (step.gaps < kGapsMax) {
        // Zeros follow the pattern, so a code that is longer than it reads as longer.
        const Gap next = code.read(std::uint64_t{pattern} << (64 - kBits) << step.bits);
        if (next.bits == 0 || step.bits + next.bits > kBits) break;
        CHECK(step.total + next.gap <= 255);
        step.bits = static_cast<std::uint8_t>(step.bits + next.bits);
        step.total = static_cast<std::uint8_t>(step.total + next.gap);
        sums_[pattern][step.gaps++] = step.total;
      }
    }
  }

  const Step& step(std::size_t pattern) const { return steps_[pattern]; }
  const std::uint8_t* sums(std::size_t pattern) const { return sums_[pattern].data(); }

 private:
  std::array<Step, 1u << kBits> steps_{};
  std::array<std::array<std::uint8_t, kGapsMax>, 1u << kBits> sums_{};
};

// Where a reading of gaps stands. Passed and returned by value, so that it lives in registers.
struct GapCursor {
  BitReader bits{ByteSpan()};
  std::uint64_t last = 0;      // The last index read.
  std::uint32_t* next{};       // The next index goes here.
  const std::uint32_t* end{};  // One past the place of the last index.
};

// Reads on until the table or the end of the payload is of no more help.
inline GapCursor read_by_table(const GapTable& table, GapCursor at) {
  constexpr unsigned kSteps = BitReader::kWindowBits / GapTable::kBits;
  constexpr std::ptrdiff_t kRoom = kSteps * GapTable::kGapsMax;
  while (at.end - at.next >= kRoom && at.bits.has_whole_word()) {
    std::uint64_t window = at.bits.whole_window();
    unsigned used = 0;
    for (unsigned s = 0; s < kSteps; ++s) {
      const std::size_t pattern = window >> (64 - GapTable::kBits);
      const GapTable::Step step = table.step(pattern);
      if (step.gaps == 0) [[unlikely]]
        break;
      const std::uint8_t* sums = table.sums(pattern);
      const auto base = static_cast<std::uint32_t>(at.last);
      for (std::size_t i = 0; i < GapTable::kGapsMax; ++i) at.next[i] = base + sums[i];
      at.next += step.gaps;
      at.last += step.total;
      used += step.bits;
      window <<= step.bits;
    }
    if (used == 0) break;
    at.bits.skip(used);
  }
  return at;
}

// Whatever the path, the stream must have ended exactly here.
inline Result<void> finish_gaps(BitReader& bits, std::uint64_t last, std::uint32_t dimension) {
  if (bits.past_end()) return Error{"truncated", "the code ends before the last index"};
  if (last >= dimension) return Error{"indices", "they reach the dimension"};
  if (bits.bits_left() >= 8) return Error{"trailing", "bytes follow the last index"};
  while (bits.bits_left() > 0)
    if (bits.bit()) return Error{"trailing", "a padding bit is set"};
  return {};
}

// Fills `indices` with those that follow `first`. Without a table it reads gap by gap.
template <typename Code>
Result<void> decode_gaps(ByteSpan payload, const Code& code, const GapTable* table,
                         std::uint32_t first, std::uint32_t dimension,
                         std::span<std::uint32_t> indices) {
  GapCursor at{BitReader(payload), first, indices.data(), indices.data() + indices.size()};
  while (at.next != at.end) {
    if (table) at = read_by_table(*table, at);
    if (at.next == at.end) break;
    const Gap next = code.read(at.bits.window());
    at.bits.skip(next.bits);
    const std::uint64_t gap = next.bits > 0 ? next.gap : code.read_bit_by_bit(at.bits);
    if (gap == 0 || at.bits.past_end())
      return Error{at.bits.past_end() ? "truncated" : "indices",
                   "there is no gap where one is due"};
    at.last += gap;
    if (at.last >= dimension) return Error{"indices", "they reach the dimension"};
    *at.next++ = static_cast<std::uint32_t>(at.last);
  }
  return finish_gaps(at.bits, at.last, dimension);
}

// The same, bit by bit: the reference that tests and benchmarks hold the above against.
namespace plain {
template <typename Code>
Result<void> decode_gaps(ByteSpan payload, const Code& code, std::uint32_t first,
                         std::uint32_t dimension, std::span<std::uint32_t> indices) {
  BitReader bits(payload);
  std::uint64_t last = first;
  for (std::uint32_t& index : indices) {
    const std::uint64_t gap = code.read_bit_by_bit(bits);
    if (gap == 0 || bits.past_end())
      return Error{bits.past_end() ? "truncated" : "indices", "there is no gap where one is due"};
    last += gap;
    if (last >= dimension) return Error{"indices", "they reach the dimension"};
    index = static_cast<std::uint32_t>(last);
  }
  return finish_gaps(bits, last, dimension);
}
}  // namespace plain

}  // namespace tessera
