// The rules that take copies as whole vectors: clipped, geometric, krum, multikrum, nnm. Worked
// values marked byzfl are those of its unit tests (LPD-EPFL/byzfl, tests/unit_test_aggregators.py
// and unit_test_preaggregators.py), whose rows (1 2 3), (4 5 6), (7 8 9) are here the receiver's
// own and two peers'.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "sharing/copies_for_tests.h"
#include "sharing/rule.h"
#include "sharing/sharing.h"

namespace tessera {
namespace {

const Vector kOwn = {1, 2, 3};

Heard two_peers() {
  Heard heard;
  heard.add({4, 5, 6});
  heard.add({7, 8, 9});
  return heard;
}

void expect_near(const Vector& is, const Vector& expected, float tolerance) {
  ASSERT_EQ(is.size(), expected.size());
  for (std::size_t k = 0; k < is.size(); ++k) EXPECT_NEAR(is[k], expected[k], tolerance) << k;
}

TEST(WholeRules, ByzflWorkedValues) {
  EXPECT_EQ(averaged("present", kOwn, two_peers()), (Vector{4, 5, 6}));
  EXPECT_EQ(averaged("median", kOwn, two_peers()), (Vector{4, 5, 6}));
  EXPECT_EQ(averaged("trimmed:drop=1", kOwn, two_peers()), (Vector{4, 5, 6}));
  expect_near(averaged("geometric:iterations=3,smooth=0.1", kOwn, two_peers()),
              {3.78788764f, 4.78788764f, 5.78788764f}, 1e-5f);
  EXPECT_EQ(averaged("krum:hostile=1", kOwn, two_peers()), kOwn);
  EXPECT_EQ(averaged("multikrum:hostile=1", kOwn, two_peers()), (Vector{2.5, 3.5, 4.5}));
}

// byzfl: the three rows become (2.5 3.5 4.5) twice and (5.5 6.5 7.5). A median takes the first, a
// mean their third.
TEST(WholeRules, ByzflNearestNeighbourMixing) {
  EXPECT_EQ(averaged("nnm:hostile=1,then=median", kOwn, two_peers()), (Vector{2.5, 3.5, 4.5}));
  EXPECT_EQ(averaged("nnm:hostile=1,then=present", kOwn, two_peers()), (Vector{3.5, 4.5, 5.5}));
}

// byzfl clips rows to a norm of 2: (4 5 6) becomes (0.91168461 1.13960576 1.36752692) and (7 8 9)
// becomes (1.00514142 1.14873305 1.29232469). From an own model of zero a peer with weight 1/3
// pulls by a third of that.
TEST(WholeRules, ClippingToAFixedRadius) {
  expect_near(averaged("clipped:radius=2", {0, 0, 0}, two_peers()),
              {(0.91168461f + 1.00514142f) / 3, (1.13960576f + 1.14873305f) / 3,
               (1.36752692f + 1.29232469f) / 3},
              1e-6f);
}

// ClippedGossip's adaptive radius is the second largest distance (the authors' aggregator.py). Own
// 0, peers 3, -4 and 100 with weights of a quarter: the radius is 4, so (3 - 4 + 4) / 4.
TEST(WholeRules, ClippedGossipsAdaptiveRadius) {
  Heard heard;
  for (const float told : {3.0f, -4.0f, 100.0f}) heard.add({told});
  EXPECT_EQ(averaged("clipped", {0}, heard), Vector{0.75});
  EXPECT_EQ(averaged("clipped:hostile=2", {0}, heard), Vector{0.75});  // Radius 3: (3 - 3 + 3) / 4.
  Heard alone;
  alone.add({8});
  EXPECT_EQ(averaged("clipped", {0}, alone), Vector{4});  // It sets the radius itself.
}

TEST(WholeRules, ClippingThatCutsNothingIsTheWeightedMean) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Vector x = test_model(61, seed + 50);
    const Heard heard = random_copies(61, 5, Random(seed));
    expect_near(averaged("clipped:radius=1e9", x, heard), averaged("gaps", x, heard), 1e-6f);
  }
}

// The plain definition of Krum: all distances of all pairs, whatever was told filled in.
std::size_t plain_krum(const std::vector<Vector>& copies, std::size_t hostile) {
  std::vector<double> scores;
  for (const Vector& a : copies) {
    std::vector<double> distances;
    for (const Vector& b : copies) {
      double sum = 0;
      for (std::size_t k = 0; k < a.size(); ++k) sum += std::pow(double{a[k]} - double{b[k]}, 2);
      distances.push_back(sum);
    }
    std::sort(distances.begin(), distances.end());
    double score = 0;
    for (std::size_t k = 0; k < copies.size() - hostile; ++k) score += distances[k];
    scores.push_back(score);
  }
  return static_cast<std::size_t>(std::min_element(scores.begin(), scores.end()) - scores.begin());
}

TEST(WholeRules, KrumEqualsThePlainOne) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Vector x = test_model(37, seed + 7);
    const Heard heard = random_copies(37, 6, Random(seed));
    std::vector<Vector> filled = {x};
    for (std::size_t j = 0; j < heard.values.size(); ++j) {
      filled.push_back(x);
      for (std::size_t i = 0; i < heard.values[j].size(); ++i)
        filled.back()[heard.everything[j] ? i : heard.indices[j][i]] = heard.values[j][i];
    }
    EXPECT_EQ(averaged("krum:hostile=2", x, heard), filled[plain_krum(filled, 2)]) << seed;
  }
}

// A step of Weiszfeld's goes down the sum of distances, so many steps end at its lowest point.
TEST(WholeRules, GeometricMedianIsWhereDistancesAreLeast) {
  const Vector x = test_model(5, 1);
  Heard heard;
  for (std::uint64_t j = 2; j < 8; ++j) heard.add(test_model(5, j));
  const auto sum_of_distances = [&](const Vector& z) {
    double sum = 0;
    std::vector<Vector> all = heard.values;
    all.push_back(x);
    for (const Vector& copy : all) {
      double squares = 0;
      for (std::size_t k = 0; k < 5; ++k) squares += std::pow(double{copy[k]} - double{z[k]}, 2);
      sum += std::sqrt(squares);
    }
    return sum;
  };
  const Vector median = averaged("geometric:iterations=200,smooth=1e-6", x, heard);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Vector near = median;
    const Vector step = test_model(5, 100 + seed);
    for (std::size_t k = 0; k < 5; ++k) near[k] += 0.01f * step[k];
    EXPECT_LE(sum_of_distances(median), sum_of_distances(near));
  }
}

constexpr const char* kComparing[] = {
    "clipped", "geometric:iterations=30", "krum",         "multikrum",
    "nnm",     "nnm:then=median",         "nnm:then=krum"};

TEST(WholeRules, TheOrderOfPeersChangesRoundingAtMost) {
  for (const char* spec : kComparing) {
    const Vector x = test_model(40, 9);
    Heard heard = random_copies(40, 7, Random(4));
    const Vector before = averaged(spec, x, heard);
    for (std::size_t turn = 1; turn < 7; ++turn) {
      std::rotate(heard.values.begin(), heard.values.begin() + 1, heard.values.end());
      std::rotate(heard.indices.begin(), heard.indices.begin() + 1, heard.indices.end());
      std::rotate(heard.everything.begin(), heard.everything.begin() + 1, heard.everything.end());
      expect_near(averaged(spec, x, heard), before, 1e-6f);
    }
  }
}

// Own and six honest peers within a unit of zero in each of ten coordinates. Whatever two hostile
// ones of nine say together, the outcome stays within a few units: the bound does not grow with
// what they say.
TEST(WholeRules, TwoHostileOfNineHaveBoundedInfluence) {
  const std::vector<std::string> rules = {"clipped:hostile=2",
                                          "geometric:iterations=50",
                                          "krum:hostile=2",
                                          "multikrum:hostile=2",
                                          "trimmed:drop=2",
                                          "median",
                                          "nnm:hostile=2,then=trimmed:drop=2",
                                          "nnm:hostile=2,then=median"};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::string& rule : rules) {
    for (const float wild : {5.0f, 1e3f, -1e9f, 3e38f, kInfinity, std::nanf("")}) {
      Heard heard;
      for (std::uint64_t j = 0; j < 6; ++j) {
        Vector honest(10);
        Random random(j);
        for (float& value : honest) value = static_cast<float>(2 * random.uniform() - 1);
        heard.add(honest);
      }
      heard.add(Vector(10, wild));
      heard.add(Vector(10, wild));
      for (const float after : averaged(rule, Vector(10, 0.5f), heard))
        EXPECT_LE(std::abs(after), 4) << rule << " " << wild;
    }
  }
}

// A diverged node takes what the others agree on, or stays as it is; nothing crashes.
TEST(WholeRules, TakeAReceiverThatIsNotFinite) {
  for (const char* spec : kComparing) {
    Heard heard;
    for (int peer = 0; peer < 4; ++peer) heard.add({1, 2, 3});
    EXPECT_EQ(averaged(spec, {std::nanf(""), 0, 0}, heard).size(), 3u) << spec;
  }
}

TEST(WholeRules, RefusedWhereThereIsNothingToCompare) {
  for (const char* spec : kComparing) {
    const SharingContext context{.dimension = 40, .rule = make_rule(spec)};
    EXPECT_TRUE(context.rule->compares_peers());
    for (const char* sharing : {"jwins:pieces=3", "topk:pieces=2"})
      EXPECT_THROW((void)make_sharing(sharing, context), std::invalid_argument) << spec;
    EXPECT_NE(make_sharing("jwins", context), nullptr);
  }
  for (const char* spec : {"gaps", "present", "median", "trimmed", "clipped:radius=1"})
    EXPECT_FALSE(make_rule(spec)->compares_peers()) << spec;
}

TEST(WholeRules, RefuseWhatTheyDoNotKnow) {
  for (const char* spec : {"krum:hostile=0", "krum:keep=2", "nnm:then=auto", "nnm:then=medain",
                           "clipped:radius=0", "clipped:radius=x", "geometric:iterations=0"})
    EXPECT_THROW((void)make_rule(spec), std::invalid_argument) << spec;
}

}  // namespace
}  // namespace tessera
