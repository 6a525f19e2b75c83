// What goes wrong, and what does not: decisions of a Faults, and whole runs under them.
#include "sim/faults.h"

#include <gtest/gtest.h>

#include "run/toy_world.h"

namespace tessera {
namespace {

std::string refusal(std::string_view text) {
  try {
    (void)make_faults(text, 8, Random(1));
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return {};
}

TEST(Faults, RefusesWhatCannotBe) {
  for (const char* text :
       {"loss=1", "loss=-0.1", "loss=nan", "duplicate=2", "reorder=0.1", "reorder=x@1s",
        "reorder=0.1@soon", "spike=1.5@1s", "partition=40s/20s", "partition=40s", "crash=60s",
        "crash=0s/5s", "crash=60s/never", "memory=some", "snapshot=0s", "lost=0.1"})
    EXPECT_FALSE(refusal(text).empty()) << text;
  EXPECT_NE(refusal("lost=0.1").find("loss"), std::string::npos);
  EXPECT_TRUE(refusal("none").empty());
  for (const FaultKind& kind : fault_kinds()) EXPECT_TRUE(refusal(kind.usage).empty()) << kind.name;
}

// Of 10,000 messages with a chance of 0.2 each, 2,000 are lost; a standard deviation is 40.
TEST(Faults, HappenAsOftenAsAsked) {
  const Faults faults = make_faults("loss=0.2,duplicate=0.1,heal=100s", 8, Random(1));
  int lost = 0, doubled = 0;
  for (std::uint64_t serial = 0; serial < 10'000; ++serial) {
    const Faults::Fate fate = faults.of_message(serial, 0, 1, Instant{});
    lost += fate.lost;
    doubled += fate.doubled;
    const Faults::Fate healed = faults.of_message(serial, 0, 1, Instant(std::chrono::seconds(100)));
    EXPECT_FALSE(healed.lost || healed.doubled);
  }
  EXPECT_NEAR(lost, 2000, 200);
  EXPECT_NEAR(doubled, 1000, 150);
}

TEST(Faults, APartitionCutsHalfFromHalf) {
  const Faults faults = make_faults("partition=10s/20s", 8, Random(1));
  const auto cut_pairs = [&](int second) {
    int count = 0;
    for (NodeId a = 0; a < 8; ++a)
      for (NodeId b = 0; b < 8; ++b)
        count += faults.cut_off(a, b, Instant(std::chrono::seconds(second)));
    return count;
  };
  EXPECT_EQ(cut_pairs(9), 0);
  EXPECT_EQ(cut_pairs(10), 2 * 4 * 4);
  EXPECT_EQ(cut_pairs(20), 0);
}

ToyWorldOptions patient_world() {
  ToyWorldOptions options;
  options.protocol = "dpsgd:rounds=30,patience=4s";
  options.topology = "ring";
  return options;
}

// Without a patience a lost message stops everyone sooner or later; the run ends and says why.
TEST(Faults, ARunThatCannotGoOnSaysWhoWaitsForWhom) {
  ToyWorldOptions options;
  options.faults = "partition=5s/never";
  ToyWorld world(options);
  world.run();
  EXPECT_FALSE(world.simulation->finished());
  const std::string why = world.simulation->why_stuck();
  EXPECT_NE(why.find("waits for round 5 from node"), std::string::npos) << why;
  EXPECT_NE(why.find("never mended"), std::string::npos) << why;
}

TEST(Faults, CrashedNodesComeBackAndFinish) {
  for (const char* memory : {"checkpoint", "nothing"}) {
    ToyWorldOptions options = patient_world();
    options.faults = std::string("crash=12s/3s,snapshot=2s,heal=60s,memory=") + memory;
    ToyWorld world(options);
    world.run();
    EXPECT_TRUE(world.simulation->finished()) << world.simulation->why_stuck();
    EXPECT_GT(world.simulation->crashes(), 3u);
    EXPECT_LT(world.error(), 0.5) << memory;
  }
}

TEST(Faults, ResumeBitForBit) {
  ToyWorldOptions options = patient_world();
  options.network = "fifo:up=6kB/s,down=6kB/s,latency=5ms";
  options.faults = "loss=0.1,duplicate=0.1,reorder=0.5@2s,crash=12s/3s,snapshot=2s,heal=60s";
  const std::uint64_t digest = ToyWorld(options).run();
  for (const int steps : {3, 50, 200, 400}) {
    ToyWorld first(options), second(options);
    first.simulation->start();
    for (int i = 0; i < steps; ++i) (void)first.simulation->step();
    Bytes saved;
    save_fields(*first.simulation, saved);
    ByteReader in(saved);
    const auto loaded = load_fields(*second.simulation, in);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    while (second.simulation->step()) {
    }
    EXPECT_EQ(second.simulation->model_digest(), digest) << steps;
  }
}

}  // namespace
}  // namespace tessera
