// What every rule must show on random copies, and what each one promises of its own.
#include "sharing/rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/ids.h"
#include "base/random.h"
#include "sharing/copies_for_tests.h"
#include "sharing/sharing.h"
#include "sharing/world_for_tests.h"

namespace tessera {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// All copies of coordinate k, own first.
std::vector<float> column(const Vector& x, const Heard& heard, std::uint32_t k) {
  std::vector<float> copies = {x[k]};
  for (std::size_t j = 0; j < heard.values.size(); ++j) {
    const Indices& where = heard.indices[j];
    if (heard.everything[j]) {
      copies.push_back(heard.values[j][k]);
    } else if (const auto at = std::lower_bound(where.begin(), where.end(), k);
               at != where.end() && *at == k) {
      copies.push_back(heard.values[j][static_cast<std::size_t>(at - where.begin())]);
    }
  }
  return copies;
}

// The mean of a coordinate's copies without `drop` at either end, as many as leave one or two.
float plain_trimmed(std::vector<float> copies, std::size_t drop) {
  std::sort(copies.begin(), copies.end());
  while (drop > 0 && copies.size() > 2) {
    copies.erase(copies.begin());
    copies.pop_back();
    --drop;
  }
  double sum = 0;
  for (const float copy : copies) sum += copy;
  return static_cast<float>(sum / static_cast<double>(copies.size()));
}

TEST(EveryRule, NodesThatAgreeStayStill) {
  for (const RuleKind& kind : rules()) {
    for (const std::size_t peers : {0u, 1u, 2u, 6u}) {
      Vector x = test_model(97, 3);
      x[5] = 0;
      x[6] = 1e-45f;
      Heard heard = random_copies(97, peers, Random(peers));
      for (std::size_t j = 0; j < peers; ++j)
        for (std::size_t i = 0; i < heard.values[j].size(); ++i)
          heard.values[j][i] = x[heard.everything[j] ? i : heard.indices[j][i]];
      const Vector after = averaged(std::string(kind.name).c_str(), x, heard);
      for (std::size_t k = 0; k < x.size(); ++k)
        ASSERT_NEAR(after[k], x[k], 1e-6f * std::abs(x[k])) << kind.name << " at " << k;
    }
  }
}

TEST(EveryRule, ACoordinateThatNobodyTellsStaysAsItIs) {
  for (const RuleKind& kind : rules()) {
    const Vector x = {1.5f, -0.0f, kInfinity, 1e-45f, 2};
    Heard heard;
    for (int peer = 0; peer < 3; ++peer) heard.add({7, 8}, {0, 4});
    heard.add(Vector{}, Indices{});
    const Vector after = averaged(std::string(kind.name).c_str(), x, heard);
    for (const std::size_t k : {1u, 2u, 3u}) EXPECT_EQ(after[k], x[k]) << kind.name;
    EXPECT_NE(after[0], x[0]) << kind.name;
  }
}

// Some rules weigh, others count; none may read beyond what it is given, whatever is in it.
TEST(EveryRule, TakesAnyBits) {
  for (const RuleKind& kind : rules()) {
    Heard heard;
    heard.add({kNaN, -kNaN, kInfinity, -kInfinity});
    heard.add({kNaN, 1}, {1, 3});
    EXPECT_EQ(averaged(std::string(kind.name).c_str(), {1, 2, 3, 4}, heard).size(), 4u);
  }
}

TEST(RobustRules, EqualThePlainOnes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Vector x = test_model(53, seed + 100);
    const Heard heard = random_copies(53, seed % 8, Random(seed));
    const Vector median = averaged("median", x, heard), one = averaged("trimmed", x, heard),
                 two = averaged("trimmed:drop=2", x, heard);
    for (std::uint32_t k = 0; k < 53; ++k) {
      const std::vector<float> copies = column(x, heard, k);
      EXPECT_EQ(median[k], plain_trimmed(copies, copies.size()));
      EXPECT_EQ(one[k], plain_trimmed(copies, 1));
      EXPECT_EQ(two[k], plain_trimmed(copies, 2));
    }
  }
}

TEST(RobustRules, TheOrderOfPeersChangesNothing) {
  for (const char* spec : {"median", "trimmed:drop=1", "trimmed:drop=2"}) {
    const Vector x = test_model(40, 9);
    Heard heard = random_copies(40, 7, Random(4));
    heard.values[0][3] = -0.0f;
    heard.values[3][3] = 0.0f;
    const Vector before = averaged(spec, x, heard);
    for (std::size_t turn = 1; turn < 7; ++turn) {
      std::rotate(heard.values.begin(), heard.values.begin() + 1, heard.values.end());
      std::rotate(heard.indices.begin(), heard.indices.begin() + 1, heard.indices.end());
      std::rotate(heard.everything.begin(), heard.everything.begin() + 1, heard.everything.end());
      EXPECT_EQ(averaged(spec, x, heard), before) << spec;
    }
  }
}

// Own 1 and honest 2, 3, 4: whatever the fifth says, the outcome stays among the honest ones.
TEST(RobustRules, OneWildCopyIsBounded) {
  for (const char* spec : {"median", "trimmed:drop=1"}) {
    for (const float wild : {1e30f, -1e30f, kInfinity, -kInfinity, kNaN, -kNaN}) {
      Heard heard;
      for (const float honest : {2.0f, 3.0f, 4.0f}) heard.add({honest});
      heard.add({wild});
      const float after = averaged(spec, {1}, heard).front();
      EXPECT_GE(after, 1) << spec << " " << wild;
      EXPECT_LE(after, 4) << spec << " " << wild;
    }
  }
}

// Copies 1 (own), 2, 3, 10, 100.
TEST(RobustRules, WorkedValues) {
  Heard heard;
  for (const float told : {100.0f, 2.0f, 10.0f, 3.0f}) heard.add({told});
  EXPECT_EQ(averaged("median", {1}, heard), Vector{3});
  EXPECT_EQ(averaged("trimmed", {1}, heard), Vector{5});         // (2 + 3 + 10) / 3.
  EXPECT_EQ(averaged("trimmed:drop=2", {1}, heard), Vector{3});  // One is left.
  EXPECT_EQ(averaged("trimmed:drop=9", {1}, heard), Vector{3});  // Too few to drop so many.
  heard.values.pop_back(), heard.indices.pop_back(), heard.everything.pop_back();
  EXPECT_EQ(averaged("median", {1}, heard), Vector{6});            // Of 1, 2, 10, 100.
  EXPECT_EQ(averaged("trimmed:drop=2", {1}, heard), Vector{6});    // Two are left.
  EXPECT_EQ(averaged("trimmed:drop=1", {1}, Heard{}), Vector{1});  // Alone.
  Heard one;
  one.add({7});
  EXPECT_EQ(averaged("trimmed:drop=1", {1}, one), Vector{4});  // Nothing can be dropped of two.
}

// Copies of the first coordinate: own 1, a full share's 4, a listed one's 7 -> 4; of the second: 2
// and 5 -> 3.5.
TEST(MeanRules, PresentCopiesCountAlike) {
  Heard heard;
  heard.add({4, 5});
  heard.add({7}, {0});
  EXPECT_EQ(averaged("present", {1, 2}, heard), (Vector{4, 3.5}));
  heard.everything[1] = true;
  heard.values[1] = {7, 8};
  EXPECT_EQ(averaged("present", {1, 2}, heard), (Vector{4, 5}));
}

// Weights of a third: 1 + (4 - 1) / 3 + (7 - 1) / 3 = 4; 2 + (5 - 2) / 3, the silent third its own.
TEST(MeanRules, GapsAreTheReceiversOwn) {
  Heard heard;
  heard.add({4, 5});
  heard.add({7}, {0});
  const Vector after = averaged("gaps", {1, 2}, heard);
  EXPECT_FLOAT_EQ(after[0], 4);
  EXPECT_FLOAT_EQ(after[1], 3);
}

// Counting copies one by one and all at once give the same bits.
TEST(MeanRules, PresentHasOneMeaningForWholeAndListedCopies) {
  Heard whole;
  for (std::uint64_t j = 0; j < 5; ++j) whole.add(test_model(61, j));
  Heard listed = whole;
  for (std::size_t j = 0; j < 5; ++j) {
    listed.everything[j] = false;
    for (std::uint32_t k = 0; k < 61; ++k) listed.indices[j].push_back(k);
  }
  const Vector x = test_model(61, 77);
  EXPECT_EQ(averaged("present", x, whole), averaged("present", x, listed));
}

TEST(EveryRule, EverySharingUsesIt) {
  for (const SharingKind& sharing : sharings()) {
    for (const RuleKind& rule : rules()) {
      // Moniqua takes nothing for wild that is within its theta.
      const std::string spec(sharing.name == "moniqua" ? "moniqua:theta=1000000" : sharing.name);
      const std::string name(rule.name);
      const SharingContext context{.dimension = 40, .rule = make_rule(name)};
      if (sharing.own_rule) {
        EXPECT_THROW((void)make_sharing(spec, context), std::invalid_argument) << spec;
        continue;
      }
      // Four peers of five agree, the fifth is wild: only the robust rules stay near.
      const auto node = make_sharing(spec, context);
      Vector model(40, 1.0f);
      node->start(Vector(40, 0.0f));
      std::vector<HeardShare> shares;
      for (const float told : {1.0f, 1.0f, 1.0f, 4e5f}) {
        const auto peer = make_sharing(spec, context);
        peer->start(Vector(40, 0.0f));
        shares.push_back(admit(*node, peer->pack(Vector(40, told), Random(1)).front()).value());
      }
      std::vector<Contribution> others;
      for (const HeardShare& share : shares)
        others.push_back({0.2f, share.get(), static_cast<NodeId>(others.size())});
      node->merge(model, others);
      const float most = *std::max_element(model.begin(), model.end());
      if (name == "gaps" || name == "present")
        EXPECT_GT(most, 1e4f) << spec << " " << name;
      else
        EXPECT_LT(most, 1e3f) << spec << " " << name;
    }
  }
}

TEST(Rules, RefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(make_rule("auto"), nullptr);
  for (const char* spec : {"medain", "median:drop=1", "trimmed:drop=0", "trimmed:drop=x", ""})
    EXPECT_THROW((void)make_rule(spec), std::invalid_argument) << spec;
}

TEST(Tables, TakeRowsFromOutside) {
  register_rule({.name = "mine", .usage = "mine", .summary = "mine", .make = make_present_rule});
  register_sharing({.name = "mine", .usage = "mine", .summary = "mine", .make = make_full});
  EXPECT_NE(make_rule("mine"), nullptr);
  EXPECT_NE(make_sharing("mine", {.dimension = 3}), nullptr);
  EXPECT_EQ(sharings().back().name, "mine");
  EXPECT_THROW(register_sharing({.name = "full", .make = make_full}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
