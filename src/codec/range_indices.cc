#include "codec/range_indices.h"

#include <cmath>

#include "codec/number_coder.h"

namespace tessera {
namespace {

constexpr std::size_t kTailBytes = 4;  // What ends a range code.

}  // namespace

std::size_t range_size(const IndexSet& set) {
  Bytes out;
  encode_range(set, out);
  return out.size();
}

// The widths of m gaps that add up to S are at most m (log2(S / m) + 1), log2 being concave.
std::size_t range_bound(std::uint32_t count, std::uint32_t dimension) {
  if (count == 0) return 0;
  const double gaps = count + 1.0, sum = dimension + 1.0;
  const double widths = gaps * (std::log2(sum / gaps) + 1);
  const double bits = gaps * NumberCoder::bits_max(widths / gaps);
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
  NumberCoder code_gap;
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
  NumberCoder read_gap;
  std::uint64_t next = 0;
  for (std::uint32_t& index : indices) {
    next += read_gap(coder);
    if (coder.past_end()) return Error{"truncated", "the code ends before the last index"};
    if (next > dimension) return Error{"indices", "they reach the dimension"};
    index = static_cast<std::uint32_t>(next - 1);
  }
  if (next + read_gap(coder) != std::uint64_t{dimension} + 1)
    return Error{coder.past_end() ? "truncated" : "indices",
                 "what follows the last index is not the dimension"};
  return coder.finish();
}

}  // namespace tessera
