// Whole messages: every pair of codecs and every kind of coordinates there and back, and nothing
// but that accepted.
#include "codec/wire.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/hash.h"
#include "codec/sample_data.h"

namespace tessera {
namespace {

constexpr Envelope kEnvelope{.run = 0x1122334455667788, .sender = 7};
const Heading kHeading{.round = 12, .degree = 4, .age = 36};

Share share_of(Coordinates coordinates, std::uint32_t dimension, Vector values) {
  return {
      .dimension = dimension, .coordinates = std::move(coordinates), .values = std::move(values)};
}

Share listed_share(std::uint32_t dimension, std::uint64_t seed) {
  Indices indices = clustered_indices(0.3, dimension, Random(seed));
  const std::size_t count = indices.size();
  return share_of(Listed{std::move(indices)}, dimension, weight_like_values(count, Random(seed)));
}

std::vector<Share> shares() {
  const Drawn drawn{.seed = 99, .threshold = threshold_of(0.37)};
  return {listed_share(1000, 1),
          share_of(Listed{}, 1000, {}),
          share_of(Listed{{0}}, 1, {2.0f}),
          share_of(Listed{{0xfffffffe}}, 0xffffffff, {2.0f}),
          share_of(Changes{{3, 4, 900}, 0x01020304}, 1000, {1.0f, -2.0f, 0.5f}),
          share_of(Changes{{}, 1}, 1000, {}),
          share_of(Everything{}, 500, weight_like_values(500, Random(2))),
          share_of(Everything{}, 0, {}),
          share_of(drawn, 1000, weight_like_values(draw_indices(drawn, 1000).size(), Random(3))),
          share_of(Fragment{.id = 9, .count = 10, .layout_seed = 5}, 89'834,
                   weight_like_values(905, Random(4)))};
}

Encoded encoded(const Share& share, std::string_view codec) {
  return encode(kHeading, share, parse_codec(codec), kEnvelope, Random(1));
}

// What a forger who knows the format would do: any bytes, and a checksum that fits.
void sign(Bytes& message) {
  const std::uint64_t checksum = hash_bytes(ByteSpan(message).first(message.size() - 8));
  std::memcpy(message.data() + message.size() - 8, &checksum, sizeof checksum);
}

template <typename T>
Bytes forged(Bytes message, std::size_t offset, T value) {
  std::memcpy(message.data() + offset, &value, sizeof value);
  sign(message);
  return message;
}

std::string_view refusal(const Bytes& message) {
  const auto result = decode(message);
  return result.ok() ? "accepted" : result.error().kind;
}

TEST(Wire, EverySharePassesThroughEveryCodec) {
  for (const IndexCodec& index : index_codecs()) {
    for (const ValueCodec& value : value_codecs()) {
      const Codec codec{&index, &value};
      for (const Share& share : shares()) {
        SCOPED_TRACE(to_string(codec) + ", coordinates of kind " +
                     std::to_string(share.coordinates.index()));
        if (std::holds_alternative<Listed>(share.coordinates) &&
            index.bound(static_cast<std::uint32_t>(share.values.size()), share.dimension) > 1 << 20)
          continue;  // A bitmap of 2^32 coordinates.
        const Encoded message = encode(kHeading, share, codec, kEnvelope, Random(1));
        const auto back = decode(message.bytes);
        ASSERT_TRUE(back.ok()) << back.error().message;
        EXPECT_EQ(back->envelope, kEnvelope);
        EXPECT_EQ(back->heading, kHeading);
        EXPECT_EQ(back->share.coordinates, share.coordinates);
        EXPECT_EQ(back->share.values.size(), share.values.size());
        if (value.lossless) {
          EXPECT_EQ(back->share, share);
        }
      }
    }
  }
}

TEST(Wire, AutoPassesToo) {
  for (const Share& share : shares()) {
    const auto back = decode(encoded(share, "auto").bytes);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back->share, share);
  }
}

TEST(Wire, BytesAreSplitIntoValuesAndMetadata) {
  const Share full = share_of(Everything{}, 500, Vector(500, 1.0f));
  EXPECT_EQ(encoded(full, "gamma+f32").value_bytes, 2000u);
  EXPECT_EQ(encoded(full, "gamma+f32").metadata_bytes(), kHeaderBytes + kChecksumBytes);
  const Share listed = share_of(Listed{{3, 5}}, 10, {1.0f, 2.0f});
  EXPECT_EQ(encoded(listed, "raw32+f16").value_bytes, 4u);
  EXPECT_EQ(encoded(listed, "raw32+f16").metadata_bytes(), kHeaderBytes + kChecksumBytes + 8);
}

TEST(Wire, PeekTellsTheHeaderAlone) {
  const Share share = listed_share(1000, 1);
  const Encoded message = encoded(share, "gamma+f32");
  const auto header = peek(message.bytes);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->envelope, kEnvelope);
  EXPECT_EQ(header->heading, kHeading);
  EXPECT_EQ(header->dimension, share.dimension);
  EXPECT_EQ(header->values, share.values.size());
  EXPECT_EQ(header->value_bytes, message.value_bytes);
  EXPECT_EQ(header->index_codec->name, "gamma");
}

TEST(Wire, EveryTruncationIsRefused) {
  Heading wordy = kHeading;
  wordy.own.assign(9, std::byte{5});
  for (const Share& share : {listed_share(100, 1), share_of(Everything{}, 20, Vector(20, 1.0f))}) {
    const Bytes message =
        encode(wordy, share, parse_codec("gamma+planes"), kEnvelope, Random(1)).bytes;
    for (std::size_t size = 0; size < message.size(); ++size) {
      const Bytes cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(refusal(cut), "truncated") << size;
    }
    Bytes longer = message;
    longer.push_back(std::byte{0});
    EXPECT_EQ(refusal(longer), "trailing");
  }
}

TEST(Wire, EveryFlippedBitIsRefused) {
  for (const char* codec : {"raw32+f32", "gamma+planes", "rice+fpzip", "bitmap+int8"}) {
    Bytes message = encoded(listed_share(100, 1), codec).bytes;
    for (std::size_t bit = 0; bit < message.size() * 8; ++bit) {
      message[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(refusal(message), "accepted") << codec << ", bit " << bit;
      message[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

// The checksum stops accidents. Against a sender who computes checksums, the decoders themselves
// must hold: whatever passes is a share that could have been sent.
TEST(Wire, EveryFlippedBitUnderAFreshChecksumIsSurvived) {
  for (const IndexCodec& index : index_codecs()) {
    for (const ValueCodec& value : value_codecs()) {
      const Bytes message =
          encode(kHeading, listed_share(100, 1), {&index, &value}, kEnvelope, Random(1)).bytes;
      for (std::size_t bit = 0; bit < (message.size() - kChecksumBytes) * 8; ++bit) {
        Bytes flipped = message;
        flipped[bit / 8] ^= std::byte{1} << (bit % 8);
        sign(flipped);
        const auto result = decode(flipped);
        if (!result) continue;
        const Share& share = result->share;
        EXPECT_LE(share.values.size(), share.dimension);
        const auto* listed = std::get_if<Listed>(&share.coordinates);
        ASSERT_NE(listed, nullptr);
        EXPECT_EQ(listed->indices.size(), share.values.size());
        EXPECT_TRUE(is_valid({listed->indices, share.dimension}));
      }
    }
  }
}

// Offsets are those of docs/wire_format.md.
TEST(Wire, EachFieldThatCannotBeHasItsWord) {
  const Bytes listed = encoded(listed_share(100, 1), "gamma+f32").bytes;
  const Bytes full = encoded(share_of(Everything{}, 20, Vector(20, 1.0f)), "gamma+f32").bytes;
  const Bytes drawn = encoded(share_of(Drawn{}, 20, {1.0f}), "gamma+f32").bytes;
  const Bytes fragment = encoded(share_of(Fragment{}, 20, {1.0f}), "gamma+f32").bytes;
  using std::uint32_t, std::uint64_t, std::uint8_t;
  EXPECT_EQ(refusal(forged(listed, 0, uint32_t{0})), "magic");
  EXPECT_EQ(refusal(forged(listed, 4, uint8_t{1})), "version");
  EXPECT_EQ(refusal(forged(listed, 5, uint8_t{0})), "kind");
  EXPECT_EQ(refusal(forged(listed, 6, uint8_t{5})), "coordinates");
  EXPECT_EQ(refusal(forged(listed, 7, uint8_t{0})), "codec");
  EXPECT_EQ(refusal(forged(listed, 7, uint8_t{9})), "codec");
  EXPECT_EQ(refusal(forged(full, 7, uint8_t{2})), "codec");  // Nothing is listed.
  EXPECT_EQ(refusal(forged(listed, 8, uint8_t{0})), "codec");
  EXPECT_EQ(refusal(forged(listed, 10, uint8_t{1})), "reserved");
  EXPECT_EQ(refusal(forged(listed, 9, std::array<uint8_t, 3>{1, 0, 1})), "reserved");
  EXPECT_EQ(refusal(forged(full, 9, uint8_t{255})), "truncated");
  EXPECT_EQ(refusal(forged(full, 9, uint8_t{3})), "truncated");  // A byte of the values' room.
  EXPECT_EQ(refusal(forged(listed, 40, uint32_t{3})), "count");
  EXPECT_EQ(refusal(forged(full, 40, uint32_t{21})), "count");
  EXPECT_EQ(refusal(forged(listed, 44, uint32_t{0xffffffff})), "count");
  EXPECT_EQ(refusal(forged(listed, 48, ~uint64_t{0})), "truncated");
  EXPECT_EQ(refusal(forged(listed, 56, ~uint64_t{0})), "truncated");
  EXPECT_EQ(refusal(forged(listed, 56, uint64_t{0})), "trailing");
  EXPECT_EQ(refusal(forged(drawn, 6, uint8_t{3})), "coordinates");     // Twelve bytes, not sixteen.
  EXPECT_EQ(refusal(forged(fragment, 6, uint8_t{2})), "coordinates");  // The other way round.
  EXPECT_EQ(refusal(forged(fragment, 64, uint32_t{1})), "coordinates");  // Fragment 1 of 1.
  EXPECT_EQ(refusal(forged(listed, 64, uint32_t{100})), "indices");
  Bytes damaged = listed;
  damaged[20] ^= std::byte{1};
  EXPECT_EQ(refusal(damaged), "checksum");
}

// What a protocol wants to say beside a share travels with it: push-sum's weight, say, or a word.
TEST(Wire, AProtocolsOwnBytesTravelBesideTheShare) {
  const Share share = listed_share(100, 1);
  const std::size_t without = encoded(share, "gamma+planes").bytes.size();
  for (std::size_t count = 0; count <= kOwnBytesMax; ++count) {
    Heading heading = kHeading;
    for (std::size_t i = 0; i < count; ++i) heading.own.push_back(static_cast<std::byte>(200 - i));
    const Encoded message =
        encode(heading, share, parse_codec("gamma+planes"), kEnvelope, Random(1));
    EXPECT_EQ(message.bytes.size(), without + (count > 2 ? count - 2 : 0));
    const auto back = decode(message.bytes);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back->heading, heading);
    EXPECT_EQ(back->share, share);
    EXPECT_EQ(peek(message.bytes)->heading, heading);
  }
  Heading pushed = kHeading;
  ByteWriter(pushed.own).put(0.34375);
  const auto heard = decode(encode(pushed, share, parse_codec("auto"), kEnvelope, Random(1)).bytes);
  EXPECT_EQ(ByteReader(heard->heading.own).get<double>(), 0.34375);
}

TEST(Wire, VersionOneIsRefusedByItsNumber) {
  const auto old = decode(forged(encoded(listed_share(100, 1), "auto").bytes, 4, std::uint8_t{1}));
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().message, "message: has version 1; this program reads 2");
}

// A small message may stand for many values, but only as many as its codec can really hold: no
// count beyond that is allocated. 2^32 - 1 values would be 16 GiB.
TEST(Wire, ASmallMessageCannotAskForMuch) {
  for (const ValueCodec& value : value_codecs()) {
    const Codec codec{&index_codecs()[0], &value};
    Bytes message =
        encode(kHeading, share_of(Everything{}, 4, Vector(4, 1.0f)), codec, kEnvelope, Random(1))
            .bytes;
    ASSERT_LT(message.size(), 130u) << value.name;
    message = forged(message, 40, 0xffffffffu);
    message = forged(message, 44, 0xffffffffu);
    EXPECT_EQ(refusal(message), "count") << value.name;
    EXPECT_LT(value.values_max(100) * sizeof(float), 4u << 20) << value.name;
  }
  for (const IndexCodec& index : index_codecs())
    EXPECT_LT(index.indices_max(100) * sizeof(std::uint32_t), 1u << 20) << index.name;
}

TEST(Wire, SendingNonsenseIsOurBug) {
  EXPECT_DEATH((void)encoded(share_of(Everything{}, 3, {1.0f}), "auto"), "CHECK");
  EXPECT_DEATH((void)encoded(share_of(Listed{{1, 1}}, 3, {1.0f, 2.0f}), "auto"), "CHECK");
  EXPECT_DEATH((void)encoded(share_of(Listed{{1}}, 3, {1.0f, 2.0f}), "auto"), "CHECK");
  EXPECT_DEATH((void)encoded(share_of(Listed{{3}}, 3, {1.0f}), "auto"), "CHECK");
}

}  // namespace
}  // namespace tessera
