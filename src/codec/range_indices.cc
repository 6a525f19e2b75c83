#include "codec/range_indices.h"

#include <array>
#include <bit>
#include <cmath>

#include "codec/range_coder.h"

namespace tessera {
namespace {

constexpr unsigned kWidthMax = 32;   // A gap is below 2^32.
constexpr unsigned kLearntBits = 3;  // Of those behind the first; the others are told as they are.
constexpr std::size_t kTailBytes = 4;  // What ends a range code.

// One gap, coded or read: its width in unary, then the bits behind its first, highest first.
class GapCoder {
 public:
  template <typename Coder>
  std::uint64_t operator()(Coder& coder, std::uint64_t gap) {
    const auto known = static_cast<unsigned>(std::bit_width(gap));
    unsigned width = 1;
    while (width < kWidthMax && coder.bit(wider_[width], known > width)) ++width;
    std::uint64_t read = 1;
    for (unsigned i = 1; i < width; ++i) {
      const bool bit = (gap >> (width - 1 - i) & 1) != 0;
      const bool told = i <= kLearntBits ? coder.bit(bits_[width][read], bit) : coder.even_bit(bit);
      read = read << 1 | (told ? 1 : 0);
    }
    return read;
  }

 private:
  std::array<BitChance, kWidthMax> wider_{};  // Than so many bits.
  std::array<std::array<BitChance, 1u << kLearntBits>, kWidthMax + 1> bits_{};
};

}  // namespace

std::size_t range_size(const IndexSet& set) {
  Bytes out;
  encode_range(set, out);
  return out.size();
}

// A gap of width w costs at most w + 3 dear bits and w - 1 even ones, the widths of m gaps that add
// up to S at most m (log2(S / m) + 1), log2 being concave.
std::size_t range_bound(std::uint32_t count, std::uint32_t dimension) {
  if (count == 0) return 0;
  const double gaps = count + 1.0, sum = dimension + 1.0;
  const double widths = gaps * (std::log2(sum / gaps) + 1);
  const double bits = (widths + kLearntBits * gaps) * BitChance::kBitsMax + widths;
  return static_cast<std::size_t>(bits / 8) + 1 + kTailBytes;
}

// A gap costs one bit of the cheapest at least.
std::uint64_t range_indices_max(std::size_t bytes) {
  if (bytes < kTailBytes) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * 8 / BitChance::kBitsMin);
}

void encode_range(const IndexSet& set, Bytes& out) {
  if (set.indices.empty()) return;
  RangeEncoder coder(out);
  GapCoder code_gap;
  std::uint64_t next = 0;  // The least that the next index can be.
  for (const std::uint32_t index : set.indices) {
    code_gap(coder, index - next + 1);
    next = std::uint64_t{index} + 1;
  }
  code_gap(coder, set.dimension - next + 1);
  coder.finish();
}

Result<void> decode_range(ByteSpan payload, std::uint32_t dimension,
                          std::span<std::uint32_t> indices) {
  if (indices.empty())
    return payload.empty() ? Result<void>() : Error{"trailing", "bytes where no index was due"};
  RangeDecoder coder(payload);
  GapCoder read_gap;
  std::uint64_t next = 0;
  for (std::uint32_t& index : indices) {
    next += read_gap(coder, 0);
    if (coder.past_end()) return Error{"truncated", "the code ends before the last index"};
    if (next > dimension) return Error{"indices", "they reach the dimension"};
    index = static_cast<std::uint32_t>(next - 1);
  }
  if (next + read_gap(coder, 0) != std::uint64_t{dimension} + 1)
    return Error{coder.past_end() ? "truncated" : "indices",
                 "what follows the last index is not the dimension"};
  return coder.finish();
}

}  // namespace tessera
