#include "codec/gamma.h"

#include <array>
#include <bit>
#include <cmath>

#include "codec/gaps.h"

namespace tessera {
namespace {

constexpr std::size_t kFirstBytes = sizeof(std::uint32_t);

constexpr unsigned code_width(std::uint32_t gap) {
  return 2 * static_cast<unsigned>(std::bit_width(gap)) - 1;
}

// A look-up beats the bit scan of a plain x86-64, which takes several cycles on some CPUs. Two gaps
// below 2^12 are at most 46 bits together, so that a pair is one put().
constexpr std::uint32_t kShortGap = 1u << 12;

std::array<std::uint8_t, kShortGap> make_short_widths() {
  std::array<std::uint8_t, kShortGap> widths{};
  for (std::uint32_t gap = 1; gap < kShortGap; ++gap)
    widths[gap] = static_cast<std::uint8_t>(code_width(gap));
  return widths;
}

// Inlined at all costs: a writer whose address escapes lives in memory instead of registers, and
// encoding takes half as long again.
[[gnu::always_inline]] inline void put_gap(BitWriter& bits, std::uint32_t gap) {
  const unsigned width = code_width(gap);
  if (width <= BitWriter::kWidestCode) return bits.put(gap, width);
  bits.put_zeros(width / 2);
  bits.put(gap, width / 2 + 1);
}

BitWriter after_gaps(BitWriter bits, std::span<const std::uint32_t> indices) {
  static const auto widths = make_short_widths();
  std::size_t i = 1;
  for (; i + 1 < indices.size(); i += 2) {
    const std::uint32_t a = indices[i] - indices[i - 1], b = indices[i + 1] - indices[i];
    if ((a | b) < kShortGap) [[likely]] {
      bits.put(std::uint64_t{a} << widths[b] | b, unsigned{widths[a]} + widths[b]);
    } else {
      put_gap(bits, a);
      put_gap(bits, b);
    }
  }
  if (i < indices.size()) put_gap(bits, indices[i] - indices[i - 1]);
  return bits;
}

struct GammaCode {
  static constexpr unsigned kZerosMax = 31;  // A gap is below 2^32.

  Gap read(std::uint64_t window) const {
    const auto zeros = static_cast<unsigned>(std::countl_zero(window));
    if (2 * zeros + 1 > BitReader::kWindowBits) return {};
    return {window >> (63 - 2 * zeros), 2 * zeros + 1};
  }

  std::uint64_t read_bit_by_bit(BitReader& bits) const {
    unsigned zeros = 0;
    while (!bits.bit())
      if (++zeros > kZerosMax) return 0;
    std::uint64_t gap = 1;
    for (; zeros > 0; --zeros) gap = gap << 1 | (bits.bit() ? 1 : 0);
    return gap;
  }
};

// The first index, once the payload has been found long enough to hold one.
Result<void> decode_first(ByteSpan payload, std::span<std::uint32_t> indices) {
  if (indices.empty())
    return payload.empty() ? Result<void>() : Error{"trailing", "bytes where no index was due"};
  if (payload.size() < kFirstBytes) return Error{"truncated", "the first index is not whole"};
  indices[0] = ByteReader(payload).get<std::uint32_t>();
  return {};
}

}  // namespace

std::size_t gamma_size(const IndexSet& set) {
  if (set.indices.empty()) return 0;
  std::uint64_t bits = 0;
  for (std::size_t i = 1; i < set.indices.size(); ++i)
    bits += code_width(set.indices[i] - set.indices[i - 1]);
  return kFirstBytes + (bits + 7) / 8;
}

// m gaps add up to at most S = dimension - 1, and log2 is concave: together they cost at most
// m (2 log2(S / m) + 1) bits.
std::size_t gamma_bound(std::uint32_t count, std::uint32_t dimension) {
  if (count == 0) return 0;
  const double gaps = count - 1.0, sum = dimension - 1.0;
  const double bits = gaps > 0 ? gaps * (2 * std::log2(sum / gaps) + 1) : 0;
  return kFirstBytes + static_cast<std::size_t>(bits / 8) + 2;  // Rounded up, with a byte to spare.
}

std::uint64_t gamma_indices_max(std::size_t bytes) {
  return bytes < kFirstBytes ? 0 : 1 + std::uint64_t{bytes - kFirstBytes} * 8;
}

void encode_gamma(const IndexSet& set, Bytes& out) {
  if (set.indices.empty()) return;
  const auto count = static_cast<std::uint32_t>(set.indices.size());
  ByteWriter(out).put<std::uint32_t>(set.indices[0]);
  append_bits(out, gamma_bound(count, set.dimension) - kFirstBytes,
              [&](BitWriter& bits) { bits = after_gaps(bits, set.indices); });
}

Result<void> decode_gamma(ByteSpan payload, std::uint32_t dimension,
                          std::span<std::uint32_t> indices) {
  static const GapTable table{GammaCode{}};
  if (auto first = decode_first(payload, indices); !first || indices.empty()) return first;
  return decode_gaps(payload.subspan(kFirstBytes), GammaCode{}, &table, indices[0], dimension,
                     indices.subspan(1));
}

void plain::encode_gamma(const IndexSet& set, Bytes& out) {
  if (set.indices.empty()) return;
  ByteWriter(out).put<std::uint32_t>(set.indices[0]);
  append_bits(out, gamma_size(set) - kFirstBytes, [&](BitWriter& bits) {
    for (std::size_t i = 1; i < set.indices.size(); ++i) {
      const std::uint32_t gap = set.indices[i] - set.indices[i - 1];
      const int highest = std::bit_width(gap) - 1;
      for (int zero = 0; zero < highest; ++zero) bits.put(0, 1);
      for (int bit = highest; bit >= 0; --bit) bits.put(gap >> bit & 1, 1);
    }
  });
}

Result<void> plain::decode_gamma(ByteSpan payload, std::uint32_t dimension,
                                 std::span<std::uint32_t> indices) {
  if (auto first = decode_first(payload, indices); !first || indices.empty()) return first;
  return plain::decode_gaps(payload.subspan(kFirstBytes), GammaCode{}, indices[0], dimension,
                            indices.subspan(1));
}

}  // namespace tessera
