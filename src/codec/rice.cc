#include "codec/rice.h"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "codec/gaps.h"

namespace tessera {
namespace {

constexpr std::size_t kHeadBytes = 1 + sizeof(std::uint32_t);
constexpr unsigned kParameterMax = 31;

// A code as a number and its width; only the width knows of the zeros in front.
struct Code {
  std::uint64_t tail = 0;  // A one and the k low bits of x.
  std::uint64_t width = 0;
};

inline Code code_of(std::uint32_t gap, unsigned k) {
  const std::uint32_t x = gap - 1;
  const std::uint64_t one = std::uint64_t{1} << k;
  return {one | (x & (one - 1)), std::uint64_t{x >> k} + 1 + k};
}

// Inlined at all costs, so that the writer lives in registers.
[[gnu::always_inline]] inline void put_code(BitWriter& bits, Code code, unsigned k) {
  if (code.width <= BitWriter::kWidestCode)
    return bits.put(code.tail, static_cast<unsigned>(code.width));
  bits.put_zeros(code.width - (k + 1));
  bits.put(code.tail, k + 1);
}

BitWriter after_gaps(BitWriter bits, std::span<const std::uint32_t> indices, unsigned k) {
  std::size_t i = 1;
  for (; i + 1 < indices.size(); i += 2) {
    const Code a = code_of(indices[i] - indices[i - 1], k);
    const Code b = code_of(indices[i + 1] - indices[i], k);
    const std::uint64_t width = a.width + b.width;
    if (width <= BitWriter::kWidestCode) [[likely]] {
      bits.put(a.tail << b.width | b.tail, static_cast<unsigned>(width));
    } else {
      put_code(bits, a, k);
      put_code(bits, b, k);
    }
  }
  if (i < indices.size()) put_code(bits, code_of(indices[i] - indices[i - 1], k), k);
  return bits;
}

struct RiceCode {
  unsigned k = 0;

  Gap read(std::uint64_t window) const {
    const auto zeros = static_cast<unsigned>(std::countl_zero(window));
    const unsigned width = zeros + 1 + k;
    if (width > BitReader::kWindowBits) return {};
    const std::uint64_t low = window >> (64 - width) & ((std::uint64_t{1} << k) - 1);
    return {(std::uint64_t{zeros} << k | low) + 1, width};
  }

  std::uint64_t read_bit_by_bit(BitReader& bits) const {
    std::uint64_t x = 0;
    while (!bits.bit())
      if (bits.past_end() || ++x >> 32 != 0) return 0;
    for (unsigned i = 0; i < k; ++i) x = x << 1 | (bits.bit() ? 1 : 0);
    return x < (std::uint64_t{1} << 32) - 1 ? x + 1 : 0;
  }
};

// Beyond these no two codes fit a table's pattern, and reading one by one is as fast.
constexpr unsigned kTables = 5;

const GapTable* table_for(unsigned k) {
  static const std::array<GapTable, kTables> tables{GapTable(RiceCode{0}), GapTable(RiceCode{1}),
                                                    GapTable(RiceCode{2}), GapTable(RiceCode{3}),
                                                    GapTable(RiceCode{4})};
  return k < kTables ? &tables[k] : nullptr;
}

// The parameter; the first index goes to indices[0].
Result<unsigned> decode_head(ByteSpan payload, std::span<std::uint32_t> indices) {
  if (payload.size() < kHeadBytes) return Error{"truncated", "the first index is not whole"};
  ByteReader in(payload);
  const unsigned k = in.get<std::uint8_t>();
  if (k > kParameterMax)
    return Error{"indices",
                 fmt::format("a Rice parameter is at most {}, not {}", kParameterMax, k)};
  indices[0] = in.get<std::uint32_t>();
  return k;
}

Result<void> nothing_but(ByteSpan payload) {
  if (payload.empty()) return {};
  return Error{"trailing", "bytes where no index was due"};
}

}  // namespace

std::uint64_t rice_bits(const IndexSet& set, unsigned k) {
  const auto& indices = set.indices;
  if (indices.empty()) return 0;
  // All gaps together are below 2^32, so 32 bits hold the sum and the loop vectorizes.
  std::uint32_t zeros = 0;
  for (std::size_t i = 1; i < indices.size(); ++i) zeros += (indices[i] - indices[i - 1] - 1) >> k;
  return zeros + std::uint64_t{indices.size() - 1} * (k + 1);
}

// One more bit of remainder costs n bits and saves the sum of ceil(floor(x / 2^k) / 2), which never
// grows with k. So the cost is convex in k, and a walk downhill from anywhere ends at the best one;
// starting from the mean gap it takes a few steps.
unsigned best_rice_parameter(const IndexSet& set) {
  if (set.indices.size() < 2) return 0;
  const std::uint64_t mean = (set.indices.back() - set.indices.front()) / (set.indices.size() - 1);
  auto k = static_cast<unsigned>(std::bit_width(mean)) - 1;
  std::uint64_t cost = rice_bits(set, k);
  for (; k < kParameterMax; ++k) {
    const std::uint64_t above = rice_bits(set, k + 1);
    if (above >= cost) break;
    cost = above;
  }
  for (; k > 0; --k) {
    const std::uint64_t below = rice_bits(set, k - 1);
    if (below > cost) break;
    cost = below;
  }
  return k;
}

std::size_t rice_size(const IndexSet& set) {
  if (set.indices.empty()) return 0;
  return kHeadBytes + (rice_bits(set, best_rice_parameter(set)) + 7) / 8;
}

// The best parameter costs no more than k = floor(log2(S / m)) does, where m gaps add up to at most
// S: their zeros are at most (S - m) / 2^k.
std::size_t rice_bound(std::uint32_t count, std::uint32_t dimension) {
  if (count == 0) return 0;
  const std::uint64_t gaps = count - 1, sum = dimension - 1;
  if (gaps == 0) return kHeadBytes;
  const auto k = static_cast<unsigned>(std::bit_width(sum / gaps)) - 1;
  return kHeadBytes + (((sum - gaps) >> k) + gaps * (k + 1) + 7) / 8;
}

std::uint64_t rice_indices_max(std::size_t bytes) {
  return bytes < kHeadBytes ? 0 : 1 + std::uint64_t{bytes - kHeadBytes} * 8;
}

void encode_rice(const IndexSet& set, Bytes& out) {
  if (set.indices.empty()) return;
  const auto count = static_cast<std::uint32_t>(set.indices.size());
  const unsigned k = best_rice_parameter(set);
  ByteWriter head(out);
  head.put<std::uint8_t>(static_cast<std::uint8_t>(k));
  head.put<std::uint32_t>(set.indices[0]);
  append_bits(out, rice_bound(count, set.dimension) - kHeadBytes,
              [&](BitWriter& bits) { bits = after_gaps(bits, set.indices, k); });
}

Result<void> decode_rice(ByteSpan payload, std::uint32_t dimension,
                         std::span<std::uint32_t> indices) {
  if (indices.empty()) return nothing_but(payload);
  const Result<unsigned> k = decode_head(payload, indices);
  if (!k) return k.error();
  return decode_gaps(payload.subspan(kHeadBytes), RiceCode{*k}, table_for(*k), indices[0],
                     dimension, indices.subspan(1));
}

Result<void> plain::decode_rice(ByteSpan payload, std::uint32_t dimension,
                                std::span<std::uint32_t> indices) {
  if (indices.empty()) return nothing_but(payload);
  const Result<unsigned> k = decode_head(payload, indices);
  if (!k) return k.error();
  return plain::decode_gaps(payload.subspan(kHeadBytes), RiceCode{*k}, indices[0], dimension,
                            indices.subspan(1));
}

}  // namespace tessera
