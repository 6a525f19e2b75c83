#include "sharing/doubt.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/ids.h"

namespace tessera {
namespace {

std::string_view doubt_of(const Vector& values, const OwnSize& own) {
  return doubt(norm_of(values), own);
}

TEST(Doubt, OneValueThatIsNoNumberIsEnough) {
  const OwnSize own{.norm = 1, .parameters = 100};
  for (const std::size_t place : {0u, 7u, 8u, 95u, 99u}) {
    for (const float value :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      Vector values(100, 0.5f);
      EXPECT_EQ(doubt_of(values, own), "");
      values[place] = value;
      EXPECT_EQ(doubt_of(values, own), "not-finite");
    }
  }
}

// A model of length 5 and 9 parameters: 1000 (5 + 3).
TEST(Doubt, AThousandTimesOnesOwnIsTheLimit) {
  const OwnSize own{.norm = 5, .parameters = 9};
  EXPECT_EQ(doubt_of(Vector{8000}, own), "");
  EXPECT_EQ(doubt_of(Vector{8001}, own), "too-large");
  EXPECT_EQ(doubt_of(Vector{-6000, 5000}, own), "");
  EXPECT_EQ(doubt_of(Vector{-6000, 6000}, own), "too-large");
}

TEST(Doubt, AModelOfZerosLearnsFromOthers) {
  EXPECT_EQ(doubt_of(Vector(100, 50.0f), {.norm = 0, .parameters = 100}), "");
  EXPECT_EQ(doubt_of(Vector{}, {.norm = 0, .parameters = 100}), "");
}

// However large one's own has become.
TEST(Doubt, NothingIsBelievedBeyondWhatLearns) {
  const OwnSize own{.norm = 1e14, .parameters = 100};
  EXPECT_EQ(doubt_of(Vector{9e14f}, own), "");
  EXPECT_EQ(doubt_of(Vector{1.1e15f}, own), "too-large");
  EXPECT_EQ(doubt_of(Vector(4, std::numeric_limits<float>::max()), own), "too-large");
}

}  // namespace
}  // namespace tessera
