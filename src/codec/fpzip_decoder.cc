// The format: P. Lindstrom and M. Isenburg, "Fast and Efficient Compression of Floating-Point
// Data", IEEE TVCG 2006, as LLNL's fpzip 1.3.0 writes it (codec version 0x0110, arithmetic mode 1).
// Everything, header included, passes through one range coder. A value is predicted, value and
// prediction are mapped to integers in the order of the reals, and their difference is written as
// a modelled symbol for its sign and highest bit, followed by the bits below that one as they are.
#include "codec/fpzip_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace tessera {
namespace {

// Symbols 0..31 say that the value is 2^31..2^0 or more below its prediction, 32 that the two are
// equal, and 33..64 that the value is 2^0..2^31 or more above.
constexpr unsigned kExact = 32;
constexpr unsigned kSymbols = 2 * kExact + 1;
constexpr unsigned kTotalBits = 16;
constexpr std::uint32_t kTotal = 1u << kTotalBits;

// How likely each symbol is, in shares of kTotal: the quasi-static model of M. Schindler's range
// coder. A symbol gains weight whenever it is seen, but the shares the coder divides by are renewed
// only once a period, when the weights add up to kTotal again; the weights are then halved. Periods
// double until they are kPeriodMax symbols long.
class AdaptiveModel {
 public:
  AdaptiveModel() {
    for (unsigned s = 0; s < kSymbols; ++s)
      weight_[s] = kTotal / kSymbols + (s < kTotal % kSymbols ? 1 : 0);
    renew();
  }

  // The symbol that owns `share` < kTotal. The hint is the owner of the first share of its bucket,
  // at or before the one sought; the last start is kTotal, so the walk ends.
  unsigned owner(std::uint32_t share) const {
    unsigned s = hint_[share >> kBucketBits];
    while (start_[s + 1] <= share) ++s;
    return s;
  }
  std::uint32_t start(unsigned s) const { return start_[s]; }
  std::uint32_t width(unsigned s) const { return start_[s + 1] - start_[s]; }

  void see(unsigned s) {
    if (left_ == 0) turn_over();
    --left_;
    weight_[s] += gain_;
  }

 private:
  static constexpr unsigned kBucketBits = 7;
  static constexpr std::uint32_t kPeriodMax = 1024;

  // What a period must add is rarely a multiple of its length: its last `left_richer_` symbols gain
  // one more than those before them.
  void turn_over() {
    if (left_richer_ == 0) return renew();
    left_ = std::exchange(left_richer_, 0);
    ++gain_;
  }

  void renew() {
    period_ = std::min(2 * period_, kPeriodMax);
    std::uint32_t start = 0;
    std::uint32_t missing = kTotal;
    for (unsigned s = 0; s < kSymbols; ++s) {
      start_[s] = start;
      start += weight_[s];
      weight_[s] = weight_[s] / 2 | 1;  // Never zero: every symbol stays possible.
      missing -= weight_[s];
    }
    start_[kSymbols] = start;
    CHECK(start == kTotal);
    gain_ = missing / period_;
    left_richer_ = missing % period_;
    left_ = period_ - left_richer_;
    renew_hints();
  }

  void renew_hints() {
    unsigned s = 0;
    for (std::uint32_t bucket = 0; bucket < hint_.size(); ++bucket) {
      while (start_[s + 1] <= bucket << kBucketBits) ++s;
      hint_[bucket] = static_cast<std::uint8_t>(s);
    }
  }

  std::array<std::uint32_t, kSymbols> weight_{};
  std::array<std::uint32_t, kSymbols + 1> start_{};
  std::array<std::uint8_t, (kTotal >> kBucketBits)> hint_{};
  std::uint32_t period_ = 6;  // Doubled before its first use.
  std::uint32_t gain_ = 0;
  std::uint32_t left_ = 0;
  std::uint32_t left_richer_ = 0;
};

// The range coder's state is an interval [low, low + range) within 2^32; `code_` is the four bytes
// at the read position and lies in the interval as long as the stream is genuine. After any
// step 2^16 <= range and low + range <= 2^32, whatever the bytes: what would break it is replaced
// by zero and marks the stream as refused. So no divisor is ever zero.
class RangeReader {
 public:
  explicit RangeReader(ByteSpan in) : in_(in) {
    CHECK(in.size() >= sizeof code_);
    load();
  }

  // The next number of `count` <= 32 bits, low half first.
  std::uint32_t bits(unsigned count) {
    if (count <= 16) return few_bits(count);
    const std::uint32_t low_half = few_bits(16);
    return low_half | few_bits(count - 16) << 16;
  }

  unsigned symbol(AdaptiveModel& model) {
    const std::uint32_t unit = range_ >> kTotalBits;
    const unsigned s = model.owner(share(unit, kTotalBits));
    narrow(unit, model.start(s), model.width(s));
    model.see(s);
    return s;
  }

  bool ran_short() const { return short_; }
  bool sound() const { return !short_ && strayed_ == 0; }
  // The encoder ends by writing `low` whole, so a stream of its making leaves nothing to choose.
  bool ends_here() const { return position_ + sizeof code_ == in_.size(); }
  bool ends_well() const { return sound() && ends_here() && code_ == low_; }

 private:
  std::uint32_t few_bits(unsigned count) {
    const std::uint32_t unit = range_ >> count;
    const std::uint32_t number = share(unit, count);
    narrow(unit, number, 1);
    return number;
  }

  // Which of the 2^count units the code lies in. What the division by 2^count cut off the end of
  // the range belongs to no one.
  std::uint32_t share(std::uint32_t unit, unsigned count) {
    const std::uint32_t number = (code_ - low_) / unit;
    if (number >> count == 0) [[likely]]
      return number;
    strayed_ = 1;
    return 0;
  }

  void narrow(std::uint32_t unit, std::uint32_t start, std::uint32_t width) {
    low_ += unit * start;
    range_ = unit * width;
    // Leading bytes that the ends of the interval share are settled. An upper end of exactly 2^32
    // counts as zero here as it does in the encoder: the interval then shrinks, but stays valid.
    const std::uint32_t differing = low_ ^ (low_ + range_);
    const unsigned settled = static_cast<unsigned>(std::countl_zero(differing)) & ~7u;
    range_ <<= settled;
    advance(settled);
    if (range_ >> 16 == 0) {
      // A small range astride a byte's carry: the encoder cuts it at the carry rather than wait.
      advance(16);
      range_ = 0 - low_;
    }
  }

  // The bytes left behind are those of `low`, or the encoder has not written them.
  void advance(unsigned bit_count) {
    strayed_ |= static_cast<std::uint64_t>(code_ ^ low_) << bit_count >> 32;
    low_ <<= bit_count;
    position_ += bit_count / 8;
    load();
  }

  void load() {
    const std::size_t last = in_.size() - sizeof code_;
    if (position_ > last) [[unlikely]] {
      position_ = last;
      short_ = true;
    }
    std::array<std::uint8_t, sizeof code_> b{};
    std::memcpy(b.data(), in_.data() + position_, b.size());
    code_ = std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
  }

  ByteSpan in_;
  std::size_t position_ = 0;
  std::uint32_t low_ = 0;
  std::uint32_t range_ = 0xffffffff;
  std::uint32_t code_ = 0;
  std::uint64_t strayed_ = 0;  // Not zero once the bytes cannot be the encoder's.
  bool short_ = false;
};

// Floats as integers in the order of the reals: negatives have all bits flipped, the others the
// sign alone. Its own inverse up to the test of the sign.
constexpr std::uint32_t kSign = 0x80000000;
std::uint32_t ordered(std::uint32_t bits) {
  return bits & kSign ? ~bits : bits | kSign;
}
std::uint32_t unordered(std::uint32_t order) {
  return order & kSign ? order ^ kSign : ~order;
}

// In one dimension six of the seven neighbours of the Lorenzo predictor lie outside the array and
// count as +0, which leaves p - 0 + 0 - 0 + 0 - 0 + 0 for the previous value p, in float
// arithmetic: p itself, but for -0, which becomes +0, and a signalling NaN, which becomes quiet.
// Said in integers, it does not depend on how a CPU treats denormals or NaN.
std::uint32_t predicted(std::uint32_t previous) {
  if (previous == kSign) return 0;
  const bool is_nan = (previous & ~kSign) > 0x7f800000;
  return is_nan ? previous | 0x00400000 : previous;
}

Error short_error(std::size_t bytes) {
  return {"truncated", fmt::format("fpzip: the stream goes on after its {} bytes", bytes)};
}

Result<void> read_header(RangeReader& reader, std::size_t value_count) {
  struct Field {
    std::string_view name{};
    unsigned bit_count = 0;
    std::uint64_t wanted = 0;
  };
  const Field fields[] = {
      {"magic", 8, 'f'},       {"magic", 8, 'p'},    {"magic", 8, 'z'}, {"magic", 8, 0},
      {"version", 16, 0x0110}, {"arithmetic", 8, 1}, {"type", 1, 0},    {"precision", 7, 0},
      {"nx", 32, value_count}, {"ny", 32, 1},        {"nz", 32, 1},     {"nf", 32, 1},
  };
  for (const Field& field : fields) {
    const std::uint32_t found = reader.bits(field.bit_count);
    if (reader.sound() && found == field.wanted) continue;
    return Error{"header", fmt::format("fpzip: {} is {}, not {}", field.name, found, field.wanted)};
  }
  return {};
}

Result<void> read_values(RangeReader& reader, std::span<float> values) {
  AdaptiveModel model;
  std::uint32_t previous = 0;
  for (float& value : values) {
    const unsigned s = reader.symbol(model);
    std::uint32_t bits = predicted(previous);
    if (s != kExact) {
      const bool above = s > kExact;
      const unsigned top_bit = above ? s - kExact - 1 : kExact - 1 - s;
      const std::uint32_t distance = (1u << top_bit) + reader.bits(top_bit);
      const std::uint32_t from = ordered(bits);
      const std::uint32_t to = above ? from + distance : from - distance;
      if ((to > from) != above) return Error{"values", "fpzip: a value beyond the last float"};
      bits = unordered(to);
    }
    if (!reader.sound()) return Error{"values", "fpzip: bytes that no encoder writes"};
    value = std::bit_cast<float>(bits);
    previous = bits;
  }
  return {};
}

}  // namespace

Result<void> decode_fpzip(ByteSpan payload, std::span<float> values) {
  if (payload.size() < sizeof(std::uint32_t)) return short_error(payload.size());
  RangeReader reader(payload);
  Result<void> outcome = read_header(reader, values.size());
  if (outcome.ok()) outcome = read_values(reader, values);
  if (reader.ran_short()) return short_error(payload.size());
  if (!outcome) return outcome;
  if (!reader.ends_here()) return Error{"trailing", "fpzip: bytes after the end of the stream"};
  if (!reader.ends_well()) return Error{"values", "fpzip: not the end an encoder writes"};
  return {};
}

// Let W be the range divided by 256 for every byte left behind. W starts below 2^32; the header
// takes 192 bits, a value multiplies W by at most 65,472 / 65,536, and nothing else makes it
// larger. At the end the range is at least 2^16, so b bytes were left behind with
// 8 b >= 192 - 16 + n log2(1024 / 1023), and the stream is b + 4 bytes long.
std::size_t fpzip_values_bound(std::size_t payload_bytes) {
  constexpr std::size_t kBytesMin = (192 - 16) / 8 + 4;
  constexpr std::size_t kValuesPerByte = 5676;  // 8 / log2(1024 / 1023) = 5675.49, rounded up.
  if (payload_bytes < kBytesMin) return 0;
  const std::size_t bytes = payload_bytes - kBytesMin;
  return bytes > SIZE_MAX / kValuesPerByte ? SIZE_MAX : bytes * kValuesPerByte;
}

}  // namespace tessera
