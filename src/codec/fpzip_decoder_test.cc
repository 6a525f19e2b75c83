// Our decoder beside libfpzip's: thousands of vectors of every kind of float must come back bit for
// bit. Then everything a peer may send instead of a stream: each must be refused, or be exactly
// what the encoder writes for the values it decodes to.
#include "codec/fpzip_decoder.h"

#include <fpzip.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace tessera {
namespace {

using Floats = std::vector<float>;

struct Layout {
  int type = FPZIP_TYPE_FLOAT;
  int prec = 0;
  int nx = 0;
  int ny = 1;
  int nz = 1;
  int nf = 1;
};

Bytes encode(const void* values, Layout layout) {
  const std::size_t count = std::size_t{1} * layout.nx * layout.ny * layout.nz * layout.nf;
  Bytes out(1024 + 12 * count);  // Far more than any value costs; libfpzip reports an overflow.
  FPZ* stream = fpzip_write_to_buffer(out.data(), out.size());
  stream->type = layout.type;
  stream->prec = layout.prec;
  stream->nx = layout.nx;
  stream->ny = layout.ny;
  stream->nz = layout.nz;
  stream->nf = layout.nf;
  EXPECT_EQ(fpzip_write_header(stream), 1);
  out.resize(fpzip_write(stream, values));
  EXPECT_FALSE(out.empty());
  fpzip_write_close(stream);
  return out;
}
Bytes encode(const Floats& values) {
  return encode(values.data(), {.nx = static_cast<int>(values.size())});
}

Floats decode_with_libfpzip(const Bytes& payload, std::size_t count) {
  Floats values(count);
  FPZ* stream = fpzip_read_from_buffer(payload.data());
  EXPECT_EQ(fpzip_read_header(stream), 1);
  EXPECT_EQ(fpzip_read(stream, values.data()), payload.size());
  fpzip_read_close(stream);
  return values;
}

// NaN differs from itself and -0 equals +0, so floats are compared as what they are made of.
std::vector<std::uint32_t> bits_of(const Floats& values) {
  std::vector<std::uint32_t> bits;
  for (float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}
float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

struct Kind {
  const char* name = "";
  float (*draw)(Random& random, std::size_t i) = nullptr;
};

float draw_special(Random& random, std::size_t) {
  const std::uint32_t sign = random.bits() & 0x80000000;
  const std::uint32_t payload = random.bits() & 0x007fffff;
  switch (random.below(7)) {
    case 0:
      return from_bits(sign);  // A zero.
    case 1:
      return from_bits(sign | payload);  // A denormal.
    case 2:
      return from_bits(sign | 0x7f800000);  // An infinity.
    case 3:
      return from_bits(sign | 0x7f800000 | payload);  // A NaN, quiet or signalling.
    case 4:
      return from_bits(sign | 0x7f000000 | payload);  // Huge.
    case 5:
      return from_bits(sign | 0x7fffffff);
    default:
      return static_cast<float>(random.normal());
  }
}

const Kind kKinds[] = {
    {"weights", [](Random& r, std::size_t) { return static_cast<float>(0.05 * r.normal()); }},
    {"one binade", [](Random& r, std::size_t) { return static_cast<float>(1 + r.uniform()); }},
    {"smooth", [](Random&, std::size_t i) { return std::sin(1e-3f * static_cast<float>(i)); }},
    {"ramp", [](Random&, std::size_t i) { return 0.25f * static_cast<float>(i) - 100; }},
    {"one ulp steps",
     [](Random&, std::size_t i) { return from_bits(0x3f800000 + static_cast<unsigned>(i)); }},
    {"constant", [](Random&, std::size_t) { return 0.1f; }},
    {"zeros", [](Random&, std::size_t) { return 0.0f; }},
    {"minus zeros", [](Random&, std::size_t) { return -0.0f; }},
    {"zeros of both signs", [](Random& r, std::size_t) { return r.bits() & 1 ? 0.0f : -0.0f; }},
    {"mostly zeros",
     [](Random& r, std::size_t) { return r.below(50) ? 0 : static_cast<float>(r.normal()); }},
    {"denormals", [](Random& r, std::size_t) { return from_bits(r.bits() & 0x807fffff); }},
    {"ends of the line",
     [](Random& r, std::size_t) { return from_bits(r.bits() & 1 ? 0x7fffffff : 0xffffffff); }},
    {"signalling NaN", [](Random& r, std::size_t) { return from_bits(0x7f800001 + r.below(9)); }},
    {"special", draw_special},
    {"any bits", [](Random& r, std::size_t) { return from_bits(r.bits()); }},
};

Floats draw(const Kind& kind, std::size_t count, Random random) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = kind.draw(random, i);
  return values;
}

// Steps of one ulp up and down, as many up as down. From about the 2000th value on the model gives
// either step almost half, and now and then the coder's interval ends at exactly 2^32 with a low
// end below 2^24; then the encoder takes the upper end for zero. This seed is one of those.
Floats steps_to_the_upper_end() {
  Random random(26251);
  Floats values(3000);
  std::uint32_t bits = 0x3f800000;
  bool up = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    up = i % 2 == 0 ? random.bits() % 2 == 1 : !up;
    values[i] = from_bits(up ? ++bits : --bits);
  }
  return values;
}

// A range coder that writes what it is told, for streams that libfpzip would not write.
class Forger {
 public:
  // The part [start, start + width) of 2^total_bits.
  void put(unsigned total_bits, std::uint32_t start, std::uint32_t width = 1) {
    const std::uint32_t unit = range_ >> total_bits;
    low_ += unit * start;
    range_ = unit * width;
    while ((low_ ^ (low_ + range_)) >> 24 == 0) {
      put_low(1);
      range_ <<= 8;
    }
    if (range_ >> 16 != 0) return;
    put_low(2);
    range_ = 0 - low_;
  }
  Bytes finish() {
    put_low(4);
    return out_;
  }

 private:
  void put_low(int count) {
    for (; count > 0; --count, low_ <<= 8) out_.push_back(static_cast<std::byte>(low_ >> 24));
  }
  std::uint32_t low_ = 0;
  std::uint32_t range_ = 0xffffffff;
  Bytes out_;
};

// A stream of one value. At first all 65 symbols are as likely, but for the remainder of the
// division, which the first 16 share.
Bytes forge(unsigned symbol, std::uint32_t lower_bits) {
  Forger forger;
  for (const unsigned byte : {unsigned{'f'}, unsigned{'p'}, unsigned{'z'}, 0u}) forger.put(8, byte);
  forger.put(16, 0x0110);
  forger.put(8, 1);
  forger.put(1, 0);
  forger.put(7, 0);
  for (int size = 0; size < 4; ++size) {
    forger.put(16, 1);
    forger.put(16, 0);
  }
  forger.put(16, 1008 * symbol + std::min(symbol, 16u), symbol < 16 ? 1009 : 1008);
  if (symbol != 32) {
    const unsigned bit_count = symbol > 32 ? symbol - 33 : 31 - symbol;
    forger.put(std::min(bit_count, 16u), lower_bits & 0xffff);
    if (bit_count > 16) forger.put(bit_count - 16, lower_bits >> 16);
  }
  return forger.finish();
}

void expect_round_trip(const Floats& values, const std::string& what) {
  const Bytes payload = encode(values);
  Floats ours(values.size(), 7.0f);
  const Result<void> result = decode_fpzip(payload, ours);
  ASSERT_TRUE(result.ok()) << what << ": " << result.error().message;
  ASSERT_EQ(bits_of(ours), bits_of(values)) << what;
  ASSERT_EQ(bits_of(decode_with_libfpzip(payload, values.size())), bits_of(values)) << what;
  ASSERT_LE(values.size(), fpzip_values_bound(payload.size())) << what;
}

std::string_view outcome(ByteSpan payload, std::size_t count) {
  Floats values(count);
  const Result<void> result = decode_fpzip(payload, values);
  return result.ok() ? "accepted" : result.error().kind;
}

// Refused, or the very bytes the encoder writes for the values.
void expect_canonical(const Bytes& payload, std::size_t count) {
  Floats values(count);
  if (decode_fpzip(payload, values).ok()) {
    ASSERT_EQ(encode(values), payload);
  }
}

TEST(FpzipDecoder, KnowsTheStreamsOfThisLibfpzip) {
  EXPECT_EQ(fpzip_codec_version, 0x011001u) << "another arithmetic mode predicts other values";
}

TEST(FpzipDecoder, EqualsLibfpzipOnEveryKindOfFloat) {
  for (const Kind& kind : kKinds) {
    Random sizes = Random(1).fork(kind.name);
    for (std::size_t trial = 0; trial < 250; ++trial) {
      const std::size_t count = trial < 40 ? trial : 1 + sizes.below(trial % 10 ? 600 : 5000);
      expect_round_trip(draw(kind, count, Random(2).fork(kind.name, trial)), kind.name);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FpzipDecoder, EqualsLibfpzipOnAMillionValues) {
  constexpr std::size_t kCount = TESSERA_SANITIZED ? 100'000 : 1'000'000;
  for (const Kind& kind : kKinds) expect_round_trip(draw(kind, kCount, Random(3)), kind.name);
}

TEST(FpzipDecoder, EqualsLibfpzipWhereTheIntervalEndsAtTheTop) {
  expect_round_trip(steps_to_the_upper_end(), "steps");
}

TEST(FpzipDecoder, RefusesOtherHeaders) {
  const Floats values(24, 0.5f);
  const std::vector<double> doubles(24, 0.5);
  const auto of = [&](Layout layout) { return outcome(encode(values.data(), layout), 24); };
  EXPECT_EQ(of({.nx = 24}), "accepted");
  EXPECT_EQ(of({.nx = 23}), "header");
  EXPECT_EQ(of({.nx = 12, .ny = 2}), "header");
  EXPECT_EQ(of({.nx = 12, .nz = 2}), "header");
  EXPECT_EQ(of({.nx = 12, .nf = 2}), "header");
  EXPECT_EQ(of({.prec = 16, .nx = 24}), "header");
  EXPECT_EQ(outcome(encode(doubles.data(), {.type = FPZIP_TYPE_DOUBLE, .nx = 24}), 24), "header");
  EXPECT_EQ(outcome(Bytes(100), 24), "header");
}

TEST(FpzipDecoder, RefusesEveryTruncationAndEveryTail) {
  for (const Kind& kind : kKinds) {
    for (const std::size_t count : {0, 1, 2, 17, 400}) {
      const Bytes payload = encode(draw(kind, count, Random(4)));
      for (std::size_t size = 0; size < payload.size(); ++size)
        ASSERT_EQ(outcome(ByteSpan(payload).first(size), count), "truncated") << kind.name;
      for (const std::byte tail : {std::byte{0}, std::byte{1}, std::byte{0xff}}) {
        Bytes longer = payload;
        longer.push_back(tail);
        ASSERT_EQ(outcome(longer, count), "trailing") << kind.name;
      }
    }
  }
}

// A flipped bit that is not refused makes the stream of other values.
TEST(FpzipDecoder, SurvivesEveryFlippedBit) {
  std::vector<Floats> vectors{steps_to_the_upper_end()};
  for (const Kind& kind : kKinds)
    for (const std::size_t count : {0, 1, 3, 80}) vectors.push_back(draw(kind, count, Random(5)));
  for (const Floats& values : vectors) {
    Bytes payload = encode(values);
    for (std::size_t bit = 0; bit < 8 * payload.size(); ++bit) {
      const std::byte mask = std::byte{1} << bit % 8;
      payload[bit / 8] ^= mask;
      expect_canonical(payload, values.size());
      if (HasFatalFailure()) return;
      payload[bit / 8] ^= mask;
    }
  }
}

// The first value is predicted to be zero. It can lie less than 2^31 above it, and up to 2^31
// below; further off there are no floats.
TEST(FpzipDecoder, RefusesValuesBeyondTheLastFloat) {
  EXPECT_EQ(forge(32, 0), encode({0.0f}));
  EXPECT_EQ(forge(33, 0), encode({from_bits(1)}));
  EXPECT_EQ(forge(31, 0), encode({-0.0f}));
  EXPECT_EQ(forge(63, 0x3fffffff), encode({from_bits(0x7fffffff)}));
  EXPECT_EQ(forge(0, 0), encode({from_bits(0xffffffff)}));
  EXPECT_EQ(outcome(forge(63, 0x3fffffff), 1), "accepted");
  EXPECT_EQ(outcome(forge(0, 0), 1), "accepted");
  EXPECT_EQ(outcome(forge(0, 1), 1), "values");
  EXPECT_EQ(outcome(forge(0, 0x7fffffff), 1), "values");
  EXPECT_EQ(outcome(forge(64, 0), 1), "values");
  EXPECT_EQ(outcome(forge(64, 0x7fffffff), 1), "values");
}

TEST(FpzipDecoder, SurvivesCorruption) {
  for (const Kind& kind : kKinds) {
    Random random = Random(6).fork(kind.name);
    const std::size_t count = 200;
    const Bytes payload = encode(draw(kind, count, Random(7)));
    for (int trial = 0; trial < 2000; ++trial) {
      Bytes forged = payload;
      for (std::size_t change = 0; change <= random.below(8); ++change) {
        const std::size_t at = random.below(forged.size());
        forged[at] = static_cast<std::byte>(random.below(3) ? random.bits() : 0 - random.below(2));
      }
      if (random.below(4) == 0) forged.resize(random.below(2 * forged.size()));
      expect_canonical(forged, count);
      if (HasFatalFailure()) return;
    }
  }
}

// An honest header with noise behind it reaches every symbol and every distance.
TEST(FpzipDecoder, SurvivesNoise) {
  Random random(8);
  for (int trial = 0; trial < 20'000; ++trial) {
    const std::size_t count = random.below(300);
    Bytes noise = encode(Floats(count));
    const std::size_t honest = random.below(4) ? 24 : 0;
    const std::byte fill = static_cast<std::byte>(0 - random.below(2));
    noise.resize(honest + random.below(1000));
    for (std::size_t i = honest; i < noise.size(); ++i)
      noise[i] = trial % 5 == 0 && random.below(9) ? fill : static_cast<std::byte>(random.bits());
    expect_canonical(noise, count);
    if (HasFatalFailure()) return;
  }
}

TEST(FpzipDecoder, BoundsTheValuesOfAPayload) {
  for (std::size_t bytes = 0; bytes <= 26; ++bytes) EXPECT_EQ(fpzip_values_bound(bytes), 0u);
  EXPECT_EQ(fpzip_values_bound(SIZE_MAX), SIZE_MAX);
  // Zeros are as cheap as values get. Rounding costs them more than the bound assumes, but never
  // twice as much.
  const std::size_t count = 3'000'000;
  const std::size_t bound = fpzip_values_bound(encode(Floats(count)).size());
  EXPECT_GE(bound, count);
  EXPECT_LE(bound, 2 * count);
}

}  // namespace
}  // namespace tessera
