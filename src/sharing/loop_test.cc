#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/archive.h"
#include "sharing/sharing.h"
#include "sharing/world_for_tests.h"

namespace tessera {
namespace {

constexpr std::uint32_t kDimension = 60;

// One that tells and one that listens, without a transform, both begun with zeros.
struct Pair {
  explicit Pair(const std::string& options = "refresh=0")
      : sender(
            make_sharing("loop:transform=none,budget=0.3," + options, {.dimension = kDimension})),
        receiver(
            make_sharing("loop:transform=none,budget=0.3," + options, {.dimension = kDimension})) {
    sender->start(Vector(kDimension));
    receiver->start(Vector(kDimension));
  }

  // The sender trains and packs; nobody need hear it.
  Share tells() {
    for (std::uint32_t k = 0; k < kDimension; ++k)
      model[k] += static_cast<float>(random.normal()) * (k % 7 == 0 ? 1.0f : 0.1f);
    return sender->pack(model, random.fork("pack", packs++)).front();
  }

  // A model of zeros that is half the sender's afterwards: the copy, halved, where it was told.
  Vector hears(const Share& share) {
    Vector zeros(kDimension);
    const HeardShare admitted = admit(*receiver, share).value();
    const Contribution other{0.5f, admitted.get(), 7};
    receiver->merge(zeros, std::span(&other, 1));
    return zeros;
  }

  // What the sender has told of itself so far.
  Vector told() const {
    Changes all;
    for (std::uint32_t k = 0; k < kDimension; ++k) all.indices.push_back(k);
    Vector told = sender->told_of(Vector(kDimension), all);
    for (float& value : told) value = -value;
    return told;
  }

  std::unique_ptr<Sharing> sender, receiver;
  Vector model = Vector(kDimension);
  Random random{5};
  std::uint64_t packs = 0;
};

void expect_copy(const Vector& half, const Vector& told, const Share& share) {
  const Indices* indices = listed_in(share.coordinates);
  for (std::size_t i = 0; i < share.values.size(); ++i) {
    const std::size_t k = indices ? (*indices)[i] : i;
    EXPECT_EQ(2 * half[k], told[k]) << k;
  }
}

TEST(Loop, CopiesAreWhatWasToldToTheBit) {
  Pair pair("refresh=7");
  int refreshes = 0;
  for (int round = 0; round < 40; ++round) {
    const Share share = pair.tells();
    refreshes += std::holds_alternative<Everything>(share.coordinates) ? 1 : 0;
    expect_copy(pair.hears(share), pair.told(), share);
    for (const float value : share.values) EXPECT_FALSE(value == 0 && std::signbit(value));
  }
  EXPECT_GE(refreshes, 5);
  EXPECT_LE(refreshes, 6);
}

TEST(Loop, TellsMultiplesOfAPowerOfTwoAndKeepsTheRest) {
  Pair pair;
  for (int round = 0; round < 20; ++round) {
    const Share share = pair.tells();
    EXPECT_LE(share.values.size(), 18u);
    float smallest = INFINITY;
    for (const float value : share.values) smallest = std::min(smallest, std::fabs(value));
    // The smallest told is a few times the unit at most.
    const float unit = std::exp2(std::floor(std::log2(smallest)) - 3);
    for (const float value : share.values) EXPECT_EQ(std::remainder(value, unit), 0.0f);
    const Vector told = pair.told();
    for (const std::uint32_t k : *listed_in(share.coordinates))
      EXPECT_LE(std::fabs(pair.model[k] - told[k]), smallest / 2);
  }
}

// Fails where a receiver adds what it hears to a copy that has missed something.
TEST(Loop, ALostMessageIsHealedByTheNextRefresh) {
  Pair pair("refresh=6");
  bool lost = false, healed = false;
  for (int round = 0; round < 12 && !healed; ++round) {
    const Share share = pair.tells();
    const bool is_refresh = std::holds_alternative<Everything>(share.coordinates);
    if (round == 0) continue;  // Nobody heard the first.
    const Vector half = pair.hears(share);
    if (is_refresh) {
      healed = true;
      expect_copy(half, pair.told(), share);
    } else {
      lost = true;
      EXPECT_EQ(half, Vector(kDimension)) << "a sender is left out until it tells everything";
    }
  }
  EXPECT_TRUE(lost && healed);
  const Share next = pair.tells();
  ASSERT_FALSE(std::holds_alternative<Everything>(next.coordinates));
  expect_copy(pair.hears(next), pair.told(), next);
}

TEST(Loop, ALostRefreshIsNoticed) {
  Pair pair("refresh=4");
  bool missed = false;
  for (int round = 0; round < 20; ++round) {
    const Share share = pair.tells();
    if (std::holds_alternative<Everything>(share.coordinates)) {
      missed = true;
      continue;
    }
    const Vector half = pair.hears(share);
    if (missed) {
      EXPECT_EQ(half, Vector(kDimension));
    }
  }
  EXPECT_TRUE(missed);
}

// After a merge between rounds models agree to rounding only, and copies begin anew.
TEST(Loop, StartedAgainItTellsEverythingFirst) {
  Pair pair;
  (void)pair.hears(pair.tells());
  pair.sender->start(pair.model);
  pair.receiver->start(pair.model);
  const Share first = pair.tells();
  EXPECT_TRUE(std::holds_alternative<Everything>(first.coordinates));
  const Share second = pair.tells();
  EXPECT_EQ(pair.hears(second), Vector(kDimension)) << "the first was not heard";
}

TEST(Loop, RefusesLossyCodecsAndOthersChanges) {
  EXPECT_THROW((void)make_sharing("loop", {.dimension = 9, .lossless_codec = false}),
               std::invalid_argument);
  EXPECT_THROW((void)make_sharing("loop:refresh=1", {.dimension = 9}), std::invalid_argument);
  const Share changes{.dimension = 9, .coordinates = Changes{{1, 4}, 3}, .values = {1, 2}};
  EXPECT_FALSE(admit(*make_sharing("topk", {.dimension = 9}), changes).ok());
  EXPECT_FALSE(admit(*make_sharing("loop:transform=none", {.dimension = 8}), changes).ok());
  EXPECT_TRUE(admit(*make_sharing("loop:transform=none", {.dimension = 9}), changes).ok());
}

TEST(Schedule, MultipliesTheBudgetByPartOfTheRun) {
  const auto sharing =
      make_sharing("topk:budget=0.2,schedule=0.5@0.5/1@0.8/4@1", {.dimension = 100, .rounds = 10});
  sharing->start(Vector(100));
  std::vector<std::size_t> sizes;
  for (std::uint64_t round = 0; round < 11; ++round)
    sizes.push_back(sharing->pack(test_model(100, round), Random(round)).front().values.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{10, 10, 10, 10, 10, 20, 20, 20, 80, 80, 80}));
}

TEST(Schedule, RefusesWhatCannotBe) {
  for (const char* schedule :
       {"1", "0@1", "1@0.5", "1@0.5/2@0.4/1@1", "1@1.5", "x@1", "1@0.5/2@0.5/1@1"})
    EXPECT_THROW((void)make_sharing(std::string("topk:schedule=") + schedule,
                                    {.dimension = 9, .rounds = 10}),
                 std::invalid_argument)
        << schedule;
  EXPECT_THROW((void)make_sharing("jwins:schedule=1@1", {.dimension = 9}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
