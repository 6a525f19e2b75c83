// What one hostile neighbour can do to a node with messages that are well formed: nothing that the
// others' voices or the node's own work would have to pay for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "protocol/heard.h"
#include "protocol/pings.h"
#include "protocol/question.h"
#include "protocol/rounds.h"
#include "protocol/world_for_tests.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr NodeId kHostile = 0;

struct Target {
  OneNodeOptions how{};
  Heading heading{};  // Of the hostile message.
};

// Every protocol, with each sharing it fits; kHostile is a neighbour in all of them.
std::vector<Target> every_target() {
  const Heading question{.own = kAsks};
  return {
      {{.protocol = "dpsgd:rounds=20"}},
      {{.protocol = "dpsgd:rounds=20,patience=8s", .sharing = "random:budget=0.9"}},
      {{.protocol = "dpsgd:rounds=20", .sharing = "topk:budget=0.5"}},
      {{.protocol = "dpsgd:rounds=20", .sharing = "jwins"}},
      {{.protocol = "dpsgd:rounds=20", .sharing = "jwins:transform=fft"}},
      {{.protocol = "dpsgd:rounds=20", .sharing = "choco:budget=1"}},
      {{.topology = "full", .protocol = "epidemic:fanout=2,rounds=20"}},
      {{.topology = "full", .protocol = "divshare:fanout=2", .sharing = "fragments:fraction=0.5"}},
      {{.topology = "full", .protocol = "divshare:fanout=2", .sharing = "topk:pieces=2"}},
      {{.protocol = "swift"}},
      {{.topology = "full", .protocol = "swift:form=scatter,fanout=2"}},
      {{.topology = "full", .protocol = "adpsgd:form=pings,fanout=2"}},
      {{.topology = "full", .protocol = "adpsgd:form=pings,fanout=2"}, question},
      {{.id = 1, .protocol = "adpsgd"}, question},
  };
}

// A share of the model (1, 2), with one value replaced.
Share poisoned(const OneNode& one, float value) {
  const auto sharing =
      make_sharing(one.plan.experiment.sharing, {.dimension = 2, .seed = one.plan.seed});
  sharing->start(Vector{0, 0});
  Share share = sharing->pack(Vector{1, 2}, Random(1)).front();
  share.values.front() = value;
  return share;
}

bool is_lossless(const std::string& codec) {
  return parse_codec(codec).values->lossless;
}

// What the codec makes of the value decides the word: half precision has no 1e30, 8 bits no
// infinity. Two parameters of one and two allow 1000 (2.2 + 1.4).
TEST(Hostile, ValuesThatAreNoNumbersOrOutOfProportionAreRefusedByName) {
  for (const Target& target : every_target()) {
    for (const char* codec :
         {"raw32+f32", "gamma+planes", "rice+fpzip", "bitmap+f16", "gamma+bf16", "gamma+int8"}) {
      if (target.how.sharing.starts_with("choco") && !is_lossless(codec)) continue;
      for (const float value : {std::nanf(""), kInfinity, -kInfinity, 1e30f, kLargest, -1e4f}) {
        SCOPED_TRACE(target.how.protocol + " " + target.how.sharing + " " + codec + " " +
                     std::to_string(value));
        OneNodeOptions how = target.how;
        how.codec = codec;
        OneNode one(how);
        one.starts();
        one.trains_to({1, 2});
        const Vector before = one.node.model();
        one.hears(kHostile, target.heading, poisoned(one, value));
        EXPECT_EQ(one.refused_of(kHostile, "not-finite") + one.refused_of(kHostile, "too-large"),
                  1u);
        EXPECT_EQ(one.refused("not-finite"), std::isfinite(value) ? one.refused("not-finite") : 1u);
        EXPECT_EQ(one.node.model(), before);
        if (one.node.training()) one.trains_to({1, 2});
        EXPECT_TRUE(one.node.model()[0] < 3 && one.node.model()[1] < 3);
      }
    }
  }
}

TEST(Hostile, SharesOfAnHonestSizeAreBelieved) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(target.how.protocol + " " + target.how.sharing);
    OneNode one(target.how);
    one.starts();
    for (const float value : {0.0f, 1e-40f, -2.0f, 1000.0f})
      one.hears(kHostile, target.heading, poisoned(one, value));
    EXPECT_EQ(one.refused("not-finite") + one.refused("too-large"), 0u);
  }
}

// An asker is poisoned by the answer. One that is refused ends the exchange: nothing is waited for,
// and another neighbour may be asked after the next training.
TEST(Hostile, AnAnswerIsLookedAtToo) {
  OneNode asker({.id = 0, .protocol = "adpsgd:rounds=5"});
  asker.starts();
  for (Round number = 0; number < 2; ++number) {
    ASSERT_EQ(asker.world.sent.size(), number + 1);
    EXPECT_EQ(asker.world.last_message().heading.round, number);
    asker.hears(1, {.round = number + 7}, Vector{1e30f, 0});  // No answer to what was asked.
    asker.hears(1, {.round = number}, Vector{1e30f, 0});
    EXPECT_EQ(asker.refused_of(1, "too-large"), 2 * (number + 1));
    asker.hears(1, {.round = number}, Vector{4, 0});
    EXPECT_EQ(asker.refused_of(1, "late"), number + 1);
    asker.trains_to({0, 0});
  }
  asker.hears(1, {.round = 2}, Vector{4, 0});
  EXPECT_EQ(asker.node.model(), (Vector{2, 0}));
}

// A share that is refused is all its sender has to say in that round: the others' are enough.
TEST(Hostile, ARefusedShareIsNotWaitedFor) {
  for (const char* protocol : {"dpsgd:rounds=20", "dpsgd:rounds=20,patience=8s"}) {
    SCOPED_TRACE(protocol);
    OneNode middle({.protocol = protocol});
    middle.starts();
    for (Round round = 0; round < 18; ++round) {
      const bool first = round % 3 == 0;  // Before we have told, or after all others have.
      if (first) middle.hears(kHostile, round, {std::nanf(""), 0});
      middle.trains_to({3, 3});
      if (!first) middle.hears(2, round, {0, 0});
      if (round % 3 == 1) middle.restarts();  // Which forgets nothing of it.
      EXPECT_EQ(middle.node.waiting_for(),
                fmt::format("round {} from node {}", round, first ? 2 : kHostile));
      if (first) middle.hears(2, round, {0, 0});
      if (!first) middle.hears(kHostile, round, {std::nanf(""), 0});
      ASSERT_EQ(middle.node.rounds_done(), round + 1);
      EXPECT_EQ(middle.node.model(), (Vector{2, 2}));  // The other's share alone.
    }
    EXPECT_EQ(middle.noted("missed") + middle.noted("skipped"), 0u);
  }
}

// A round ahead, as honest ones may be: the refusal waits until its round has come.
TEST(Hostile, ARefusedShareOfTheNextRoundIsRemembered) {
  OneNode middle({.protocol = "dpsgd:rounds=20"});
  middle.starts();
  middle.trains_to({3, 3});
  middle.hears(kHostile, 0, {1, 1});
  middle.hears(kHostile, 1, {std::nanf(""), 0});
  middle.hears(kHostile, 2, {1, 1});  // What it tells later changes nothing of it.
  EXPECT_EQ(middle.node.rounds_done(), 0u);
  middle.hears(2, 0, {1, 1});
  EXPECT_EQ(middle.node.rounds_done(), 1u);
  middle.restarts();
  middle.trains_to({3, 3});
  middle.hears(2, 1, {1, 1});
  EXPECT_EQ(middle.node.rounds_done(), 2u);
}

// A refusal speaks for its own sender and its own round, and moves nothing else.
TEST(Hostile, ARefusedShareMovesNobodysRound) {
  for (const char* protocol : {"dpsgd:rounds=900", "dpsgd:rounds=900,patience=8s"}) {
    SCOPED_TRACE(protocol);
    OneNode middle({.protocol = protocol});
    middle.starts();
    middle.trains_to({3, 3});
    for (const NodeId peer : {kHostile, 7u})
      for (const Round round : {1u, 2u, 300u, 899u, 900u, 0xffffffffu})
        middle.hears(peer, round, {std::nanf(""), 0});
    middle.hears(7, 0, {std::nanf(""), 0});
    middle.hears(2, 0, {1, 1});
    EXPECT_EQ(middle.node.rounds_done(), 0u);
    EXPECT_EQ(middle.node.waiting_for(), "round 0 from node 0");
    middle.hears(kHostile, 0, {1, 1});
    EXPECT_EQ(middle.node.rounds_done(), 1u);
    EXPECT_EQ(middle.node.rounds_skipped(), 0u);
  }
}

// Thousands of refusals: those of rounds that may come soon are kept, a few bytes each.
TEST(Hostile, RefusalsOfManyRoundsFillLittle) {
  OneNode middle({.protocol = "dpsgd:rounds=100000"});
  middle.starts();
  const auto saved_bytes = [&] {
    Bytes saved;
    save_fields(middle.node, saved);
    return saved.size();
  };
  const std::size_t before = saved_bytes();
  for (Round round = 0; round < 5000; ++round) middle.hears(kHostile, round, {std::nanf(""), 0});
  EXPECT_LT(saved_bytes(), before + 257 * 8 + 100);
}

// Each time as large as the look allows: the model is spoilt, and stays what floats can hold.
TEST(Hostile, AModelThatIsDrivenUpStaysFinite) {
  OneNode one({.protocol = "swift:rounds=1000"});
  one.starts();
  for (int i = 0; i < 500; ++i) {
    const Vector& model = one.node.model();
    one.hears(kHostile, {.age = static_cast<std::uint64_t>(i)},
              Vector{900 * (std::fabs(model[0]) + 1), 900 * (std::fabs(model[1]) + 1)});
    one.trains_to(one.node.model());
  }
  EXPECT_GT(one.node.model()[0], 1e10f);
  EXPECT_LT(one.node.model()[0], 1e15f);
  EXPECT_GT(one.refused_of(kHostile, "too-large"), 400u);
}

TEST(Diverged, AModelThatIsNoneAnyMoreIsNotToldOn) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(target.how.protocol + " " + target.how.sharing);
    for (const float value : {std::nanf(""), kInfinity, 1e16f}) {
      OneNode one(target.how);
      one.starts();
      one.trains_to({1, 2});
      const std::size_t sent = one.world.sent.size();
      if (!one.node.training()) one.hears(2, 0, {0, 0}), one.hears(0, 0, {0, 0});
      if (!one.node.training()) continue;  // CHOCO's shares are others; the rest trains here.
      const Round done = one.node.rounds_done();
      EXPECT_FALSE(one.node.diverged());
      one.trains_to({1, value});
      EXPECT_TRUE(one.node.diverged());
      EXPECT_FALSE(one.node.finished());
      one.hears(2, target.heading, {0, 0});
      EXPECT_EQ(one.world.sent.size(), sent);
      EXPECT_EQ(one.node.rounds_done(), done);
    }
  }
}

// A ring's node has two neighbours; one of them claims to be at the end.
TEST(Hostile, OneVoiceMovesNobodysRound) {
  OneNode middle({.protocol = "dpsgd:rounds=100000,patience=8s,patience_min=2s"});
  middle.starts();
  middle.hears(kHostile, 99'999, {0, 0});
  middle.trains_to({3, 3});
  EXPECT_EQ(middle.world.last_message().heading.round, 0u);
  middle.hears(2, 0, {0, 0});
  middle.waits_until(8s);
  EXPECT_EQ(middle.node.rounds_done(), 1u);
  for (Round round = 1; round < 20; ++round) {  // One that is far ahead is waited for once.
    middle.hears(kHostile, 99'979 + round, {0, 0});
    middle.trains_to({3, 3});
    middle.hears(2, round, {0, 0});
    EXPECT_EQ(middle.node.rounds_done(), round + 1);
  }
  EXPECT_EQ(middle.noted("missed"), 1u);
  EXPECT_EQ(middle.node.rounds_skipped(), 0u);
  EXPECT_EQ(middle.noted("skipped"), 0u);
}

// Who claims rounds that the run does not have is not waited for, and still one voice.
TEST(Hostile, RoundsBeyondTheLastOneAreNotWaitedFor) {
  for (const char* protocol : {"dpsgd:rounds=20", "dpsgd:rounds=20,patience=8s"}) {
    OneNode middle({.protocol = protocol});
    middle.starts();
    for (Round round = 0; round < 10; ++round) {
      middle.trains_to({3, 3});
      middle.hears(2, round, {0, 0});
      if (round == 0) {
        EXPECT_EQ(middle.node.rounds_done(), 0u);
        middle.hears(kHostile, 20, {0, 0});
      }
      ASSERT_EQ(middle.node.rounds_done(), round + 1);
    }
    middle.hears(kHostile, 10, {0, 0});  // It keeps up now, and is waited for again.
    for (const Round round : {10u, 11u}) {
      middle.trains_to({3, 3});
      middle.hears(2, round, {0, 0});
    }
    EXPECT_EQ(middle.node.rounds_done(), 11u);
    EXPECT_EQ(middle.refused_of(kHostile, "early"), 1u);
    EXPECT_EQ(middle.node.rounds_skipped(), 0u);
  }
}

TEST(Hostile, OneVoiceMovesNobodysRoundWhereMeetingsChange) {
  OneNode one({.topology = "full", .protocol = "epidemic:fanout=2,rounds=9000,patience=8s"});
  one.starts();
  one.trains_to({0, 0});
  for (Round round = 5000; round < 5100; ++round) one.hears(kHostile, round, {6, 6});
  one.waits_until(8s);
  EXPECT_EQ(one.node.rounds_done(), 1u);
  EXPECT_EQ(one.node.rounds_skipped(), 0u);
}

// Even where all voices agree a node works its way forward: a training for every kStepMax rounds.
TEST(Hostile, AStepForwardIsBounded) {
  OneNode middle({.protocol = "dpsgd:rounds=100000,patience=8s"});
  middle.starts();
  for (const NodeId peer : {0u, 2u}) middle.hears(peer, 99'999, {0, 0});
  for (Round steps = 1; steps <= 10; ++steps) {
    middle.trains_to({3, 3});
    EXPECT_LE(middle.node.rounds_done(), steps * (kStepMax + 1));
  }
  EXPECT_FALSE(middle.node.finished());
  EXPECT_GE(middle.node.rounds_skipped() + 10, middle.node.rounds_done());
}

// 300 rounds to come of a neighbour: what they can fill is a few places of its own.
TEST(Hostile, FutureRoundsFillAFewPlacesOnly) {
  struct Case {
    const char* protocol;
    const char* topology;
    std::size_t kept;
  };
  for (const Case& c :
       {Case{"dpsgd:rounds=1000", "line", kRoundsKeptFixed},
        Case{"dpsgd:rounds=1000,patience=8s", "line", kRoundsKeptFixed},
        Case{"epidemic:fanout=2,rounds=1000", "full", kRoundsKeptChanging},
        Case{"epidemic:fanout=2,rounds=1000,patience=8s", "full", kRoundsKeptChanging}}) {
    SCOPED_TRACE(c.protocol);
    OneNode one({.topology = c.topology, .protocol = c.protocol});
    one.starts();
    for (Round round = 1; round <= 300; ++round) one.hears(kHostile, round, {0, 0});
    const std::uint64_t gone =
        one.refused_of(kHostile, "early") + one.refused_of(kHostile, "stale");
    EXPECT_GE(gone, 300 - c.kept);
    EXPECT_LE(gone, 300 - c.kept + 1);  // The round under way has a place, too.
    // Without patience the nearest are needed and stay, with it the newest.
    const bool patient = std::string_view(c.protocol).find("patience") != std::string_view::npos;
    EXPECT_EQ(patient ? one.refused("early") : one.refused("stale"), 0u);
    one.hears(2, 1, {0, 0});
    EXPECT_EQ(one.refused_of(2, "early"), 0u);
  }
}

// Shares of rounds to come take the place of nothing a peer tells when it behaves, before or after:
// nobody waits for what was told.
TEST(Hostile, FutureRoundsBetweenHonestOnesMakeNobodyWait) {
  OneNode middle({.protocol = "dpsgd:rounds=100000,patience=8s"});
  middle.starts();
  const auto fill = [&](Round first) {
    for (Round round = first; round < first + 10; ++round) middle.hears(kHostile, round, {0, 0});
  };
  for (Round round = 0; round < 20; ++round) {
    if (round % 2 == 0) fill(50'000);
    middle.hears(kHostile, round, {0, 0});
    if (round % 3 == 0) fill(70'000);
    middle.trains_to({0, 0});
    middle.hears(2, round, {0, 0});
    EXPECT_EQ(middle.node.rounds_done(), round + 1);
  }
  fill(60'000);
  middle.hears(kHostile, 21, {0, 0});  // A round ahead, as honest ones may be.
  middle.hears(kHostile, 20, {0, 0});
  for (const Round round : {20u, 21u}) {
    middle.trains_to({0, 0});
    middle.hears(2, round, {0, 0});
    EXPECT_EQ(middle.node.rounds_done(), round + 1);
  }
  EXPECT_EQ(middle.noted("missed") + middle.noted("skipped"), 0u);
}

// A member that says only what is long over, again and again, is not waited for; and one that tells
// each share just too late is waited for ever more rarely.
TEST(Hostile, LateSharesDoNotMakeAnybodyWait) {
  for (const bool repeats : {true, false}) {
    OneNode middle({.protocol = "dpsgd:rounds=1000,patience=8s,patience_min=2s"});
    middle.starts();
    int deadlines = 0;
    Duration time{};
    for (Round round = 0; round < 200; ++round) {
      if (round > 0) middle.hears(kHostile, repeats ? 0 : round - 1, {0, 0});
      middle.trains_to({0, 0});
      middle.hears(2, round, {0, 0});
      if (middle.node.rounds_done() == round) ++deadlines, middle.waits_until(time += 10s);
      ASSERT_EQ(middle.node.rounds_done(), round + 1);
    }
    EXPECT_LE(deadlines, repeats ? 2 : 9);
  }
}

// 400 questions at once: one is answered and followed halfway, and one waits for the next training.
TEST(Hostile, AnAskerIsAnsweredOncePerTraining) {
  OneNode answerer({.id = 1, .protocol = "adpsgd:rounds=50"});
  answerer.starts();
  for (Round number = 0; number < 400; ++number)
    answerer.hears(0, {.round = number, .own = kAsks}, Vector{64, 64});
  EXPECT_EQ(answerer.world.sent.size(), 1u);
  EXPECT_EQ(answerer.node.model(), (Vector{32, 32}));
  EXPECT_EQ(answerer.refused_of(0, "stale"), 398u);
  answerer.hears(2, {.round = 7, .own = kAsks}, Vector{0, 0});  // The other has its own turn.
  EXPECT_EQ(answerer.world.sent.size(), 2u);
  EXPECT_EQ(answerer.node.model(), (Vector{16, 16}));
  answerer.trains_to({0, 0});
  EXPECT_EQ(answerer.world.sent.size(), 3u);
  EXPECT_EQ(answerer.world.last_message().heading.round, 399u);
  EXPECT_EQ(answerer.node.model(), (Vector{40, 40}));  // (16 + 64) / 2.
}

TEST(Hostile, PongsAreCounted) {
  OneNode one({.topology = "full", .protocol = "adpsgd:form=pings,fanout=2"});
  one.starts();
  one.trains_to({2, 4});
  const std::size_t before = one.world.sent.size();
  for (std::uint64_t age = 0; age < 400; ++age)
    one.hears(kHostile, {.age = age, .own = kAsks}, Vector{1, 1});
  EXPECT_EQ(one.world.sent.size(), before + kPongsMax);
  EXPECT_EQ(one.refused_of(kHostile, "too-often"), 400 - kPongsMax);
}

// A sender's age orders its own shares and nobody else's: whatever it claims, it can only spoil its
// own place. A step far back is a sender that lost its model and began anew.
TEST(Hostile, AnAgeThatLiesSpoilsItsOwnPlaceOnly) {
  OneNode one({.protocol = "swift:rounds=100"});
  one.starts();
  one.hears(kHostile, {.age = std::numeric_limits<std::uint64_t>::max()}, Vector{3, 3});
  one.hears(2, {.age = 1}, Vector{0, 0});
  one.hears(kHostile, {.age = 5}, Vector{6, 6});
  EXPECT_EQ(one.refused("late"), 0u);
  one.hears(kHostile, {.age = 4}, Vector{9, 9});
  EXPECT_EQ(one.refused_of(kHostile, "late"), 1u);
  one.trains_to({0, 0});
  EXPECT_EQ(one.node.model(), (Vector{2, 2}));
}

TEST(Hostile, SendersThatDoNotExistAreStrangers) {
  for (const Target& target : every_target()) {
    if (target.how.sharing != "full") continue;
    OneNode one(target.how);
    one.starts();
    one.hears(4'000'000'000, target.heading, Vector{0, 0});
    EXPECT_EQ(one.refused("stranger"), 1u) << target.how.protocol;
  }
}

}  // namespace
}  // namespace tessera
