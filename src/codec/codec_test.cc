#include "codec/codec.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "codec/sample_data.h"

namespace tessera {
namespace {

std::string refusal(std::string_view text) {
  try {
    (void)parse_codec(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Codec, EveryPairIsReadAndWritten) {
  for (const IndexCodec& index : index_codecs()) {
    for (const ValueCodec& value : value_codecs()) {
      const std::string text = std::string(index.name) + "+" + std::string(value.name);
      const Codec codec = parse_codec(text);
      EXPECT_EQ(codec.indices, &index);
      EXPECT_EQ(codec.values, &value);
      EXPECT_EQ(to_string(codec), text);
    }
  }
  EXPECT_EQ(to_string(parse_codec("auto")), "auto");
  EXPECT_EQ(to_string(parse_codec("auto+auto")), "auto");
  EXPECT_EQ(to_string(parse_codec("auto+int8")), "auto+int8");
  EXPECT_EQ(to_string(parse_codec("gamma+auto")), "gamma+auto");
}

TEST(Codec, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_EQ(refusal("gama+planes"), "there is no index codec 'gama'. Did you mean 'gamma'?");
  EXPECT_EQ(refusal("gamma+plans"), "there is no value codec 'plans'. Did you mean 'planes'?");
  EXPECT_NE(refusal("gamma").find("write indices+values, such as gamma+planes"), std::string::npos);
  EXPECT_NE(refusal("").find("write indices+values"), std::string::npos);
  EXPECT_NE(refusal("gamma+planes+f32").find("write indices+values"), std::string::npos);
}

// Nobody is smaller than what auto took, and what it took is what it says it took.
TEST(Codec, AutoTakesTheSmallestLosslessPair) {
  constexpr std::uint32_t kDimension = 20'000;
  Indices all(kDimension);
  std::iota(all.begin(), all.end(), 0);
  for (const Indices& indices :
       {Indices{}, Indices{5}, all, random_indices(0.1, kDimension, Random(1)),
        clustered_indices(0.1, kDimension, Random(1)),
        random_indices(0.5, kDimension, Random(1))}) {
    const IndexSet set{indices, kDimension};
    Bytes out;
    const IndexCodec& taken = encode_indices({}, set, out);
    EXPECT_EQ(out.size(), taken.size(set));
    for (const IndexCodec& codec : index_codecs())
      EXPECT_LE(out.size(), codec.size(set)) << codec.name;
  }
  for (const Vector& values : {Vector{}, Vector{1.0f}, weight_like_values(5000, Random(2)),
                               random_bit_patterns(5000, Random(3)), Vector(5000, 0.25f)}) {
    Bytes out;
    const ValueCodec& taken = encode_values({}, values, Random(4), out);
    EXPECT_TRUE(taken.lossless);
    for (const ValueCodec& codec : value_codecs()) {
      Bytes other;
      codec.encode(values, Random(4), other);
      if (codec.lossless) {
        EXPECT_LE(out.size(), other.size()) << codec.name;
      }
      if (&codec == &taken) {
        EXPECT_EQ(out, other);
      }
    }
  }
}

TEST(Codec, AutoKnowsRandomFromClusteredFromDense) {
  constexpr std::uint32_t kDimension = 50'000;
  const auto taken = [](const Indices& indices) {
    Bytes out;
    return encode_indices({}, {indices, kDimension}, out).name;
  };
  EXPECT_EQ(taken(clustered_indices(0.1, kDimension, Random(1))), "range");
  EXPECT_EQ(taken(random_indices(0.1, kDimension, Random(1))), "rice");
  EXPECT_EQ(taken(random_indices(0.55, kDimension, Random(1))), "bitmap");
}

}  // namespace
}  // namespace tessera
