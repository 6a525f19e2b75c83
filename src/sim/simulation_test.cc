// What every protocol with every sharing must show in the simulator, on the quadratic toy.
#include "sim/simulation.h"

#include <gtest/gtest.h>

#include "run/toy_world.h"
#include "sim/early_for_tests.h"
#include "sim/event_queue.h"

namespace tessera {
namespace {

struct Recipe {
  std::string protocol{}, sharing{}, topology = "regular:degree=4", network = "ideal";
};

// Every sharing with every protocol that takes it, forty rounds or about as much time.
std::vector<Recipe> recipes() {
  std::vector<Recipe> all;
  for (const SharingKind& sharing : sharings()) {
    const std::string name(sharing.name);
    if (name != "fragments") all.push_back({"dpsgd:rounds=40", name});
    if (sharing.fixed_peers_only) continue;
    all.push_back({"divshare:fanout=3,until=40500ms", name});
    if (name != "fragments") all.push_back({"epidemic:rounds=40,fanout=3", name});
  }
  all.push_back({"dpsgd:rounds=40", "jwins", "regular:degree=4,redraw=yes"});
  all.push_back({"dpsgd:rounds=40", "full", "star"});
  // On links where a fast node's messages of a round take half of it, and a straggler's more than
  // all of it.
  for (const std::string network : {"fifo", "links"}) {
    const std::string slow = network + ":up=6kB/s,down=6kB/s,latency=1ms,stragglers=4,slowdown=5";
    all.push_back({"dpsgd:rounds=40", "jwins", "regular:degree=4", slow});
    all.push_back({"divshare:fanout=3,until=40500ms", "fragments", "full", slow});
    all.push_back({"divshare:fanout=3,until=40500ms", "jwins:pieces=4", "full", slow});
    all.push_back({"adpsgd:form=pairwise,until=40500ms", "full", "bipartite:degree=2", slow});
    all.push_back({"adpsgd:form=pings,fanout=4,until=40500ms", "full", "full", slow});
    all.push_back({"swift:form=graph,until=40500ms", "full", "regular:degree=4", slow});
    all.push_back({"swift:form=scatter,fanout=3,until=40500ms", "full", "full", slow});
  }
  return all;
}

ToyWorldOptions world_of(const Recipe& recipe) {
  ToyWorldOptions options;
  options.protocol = recipe.protocol;
  options.sharing = recipe.sharing;
  options.topology = recipe.topology;
  options.network = recipe.network;
  return options;
}

std::string name_of(const Recipe& recipe) {
  return recipe.protocol + " " + recipe.sharing + " " + recipe.network;
}

TEST(EventQueue, GivesBackByTimeAndThenInOrder) {
  using namespace std::chrono_literals;
  EventQueue<int> queue;
  queue.push(Instant(2ns), 1);
  queue.push(Instant(1ns), 2);
  queue.push(Instant(2ns), 3);
  queue.push(Instant(1ns), 4);
  EXPECT_EQ(queue.waiting().size(), 4u);
  for (const int expected : {2, 4, 1, 3}) EXPECT_EQ(queue.pop(), expected);
  EXPECT_TRUE(queue.empty());
}

// Where every access is checked, one number of them does.
std::vector<unsigned> threads_to_try() {
  if (TESSERA_SANITIZED) return {3};
  return {1, 2, 4};
}

TEST(EveryRecipe, SameSeedSameBitsWhateverTheThreads) {
  for (const Recipe& recipe : recipes()) {
    ToyWorldOptions options = world_of(recipe);
    const std::uint64_t digest = ToyWorld(options).run();
    for (const unsigned threads : threads_to_try()) {
      options.threads = threads;
      EXPECT_EQ(ToyWorld(options).run(), digest) << name_of(recipe) << " " << threads;
    }
    options.seed = 2;
    EXPECT_NE(ToyWorld(options).run(), digest) << name_of(recipe);
  }
}

// Of two trainings of a node the second begins from what the first made: that is under way alone.
TEST(EveryRecipe, TrainingsThatAreComputedEarlyAreTheSame) {
  for (const Recipe& recipe : recipes()) {
    ToyWorld wanted(world_of(recipe)), world(world_of(recipe)), loaded(world_of(recipe));
    const std::uint64_t digest = wanted.run();
    Early early(world.trainer);
    world.simulation = make_simulation(world.plan, early, 3);
    world.simulation->start();
    for (int i = 0; i < 7; ++i) (void)world.simulation->step();
    Bytes saved;
    save_fields(*world.simulation, saved);
    while (world.simulation->step()) {
    }
    EXPECT_EQ(world.simulation->model_digest(), digest) << name_of(recipe);
    EXPECT_GE(early.joined, 8u) << name_of(recipe);
    ByteReader in(saved);
    ASSERT_TRUE(load_fields(*loaded.simulation, in).ok());
    while (loaded.simulation->step()) {
    }
    EXPECT_EQ(loaded.simulation->model_digest(), digest) << name_of(recipe);
  }
}

TEST(Simulation, ComputesNoTrainingEarlyThatACrashMayCancel) {
  ToyWorldOptions options;
  options.protocol = "dpsgd:rounds=20,patience=3s";
  options.faults = "crash=30s/5s";
  ToyWorld world(options);
  Early early(world.trainer);
  world.simulation = make_simulation(world.plan, early, 1);
  world.run();
  EXPECT_EQ(early.joined, 0u);
}

// Alone, a node ends at its own target, about 1 from the optimum in each coordinate; together they
// must come close.
TEST(EveryRecipe, NodesLearnWhatNoneKnowsAlone) {
  for (const Recipe& recipe : recipes()) {
    ToyWorld world(world_of(recipe));
    world.run();
    EXPECT_TRUE(world.simulation->finished()) << name_of(recipe);
    EXPECT_GE(world.simulation->rounds_done(), 39u) << name_of(recipe);
    EXPECT_LT(world.error(), 0.5) << name_of(recipe);
    for (NodeId id = 0; id < 8; ++id)
      EXPECT_TRUE(world.simulation->node(id).refusals().empty()) << name_of(recipe);
    const Ledger books = world.simulation->ledger();
    EXPECT_TRUE(books.balances());
  }
}

// Where every access is checked, two of them do.
std::vector<int> steps_before_the_save() {
  if (TESSERA_SANITIZED) return {1, 40};
  return {0, 1, 2, 7, 40};
}

TEST(EveryRecipe, ResumesFromAnyInstantBitForBit) {
  for (const Recipe& recipe : recipes()) {
    const std::uint64_t digest = ToyWorld(world_of(recipe)).run();
    for (const int steps : steps_before_the_save()) {
      ToyWorld first(world_of(recipe));
      first.simulation->start();
      for (int i = 0; i < steps; ++i) (void)first.simulation->step();
      Bytes saved;
      save_fields(*first.simulation, saved);

      ToyWorld second(world_of(recipe));
      ByteReader in(saved);
      const auto loaded = load_fields(*second.simulation, in);
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      EXPECT_EQ(in.left(), 0u);
      while (second.simulation->step()) {
      }
      EXPECT_EQ(second.simulation->model_digest(), digest) << name_of(recipe) << " " << steps;
      EXPECT_EQ(second.simulation->sent(3).bytes, [&] {
        while (first.simulation->step()) {
        }
        return first.simulation->sent(3).bytes;
      }());
    }
  }
}

TEST(Simulation, RefusesACutOrForeignState) {
  ToyWorld world(ToyWorldOptions{});
  world.simulation->start();
  for (int i = 0; i < 5; ++i) world.simulation->step();
  Bytes saved;
  save_fields(*world.simulation, saved);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{9}, saved.size() / 2, saved.size() - 1}) {
    ByteReader in(ByteSpan(saved).first(length));
    EXPECT_FALSE(load_fields(*ToyWorld(ToyWorldOptions{}).simulation, in).ok()) << length;
  }
  ToyWorldOptions other;
  other.nodes = 4;
  ByteReader in(saved);
  EXPECT_FALSE(load_fields(*ToyWorld(other).simulation, in).ok());
}

TEST(Simulation, OneAndTwoNodesWork) {
  for (const std::uint32_t nodes : {1u, 2u}) {
    for (const char* sharing : {"full", "jwins", "random", "topk", "choco"}) {
      ToyWorldOptions options;
      options.nodes = nodes;
      options.sharing = sharing;
      ToyWorld world(options);
      world.run();
      EXPECT_TRUE(world.simulation->finished()) << nodes << " " << sharing;
      EXPECT_LT(world.error(), 0.3) << nodes << " " << sharing;
    }
  }
}

// Eight nodes on a ring, 60 rounds, full sharing: two messages per node and round, each the header,
// 200 floats and the checksum.
TEST(Simulation, CountsEveryByte) {
  ToyWorldOptions options;
  options.codec = "raw32+f32";
  ToyWorld world(options);
  world.run();
  for (NodeId id = 0; id < 8; ++id) {
    const Traffic& sent = world.simulation->sent(id);
    EXPECT_EQ(sent.messages, 120u);
    EXPECT_EQ(sent.value_bytes, 120u * 200 * 4);
    EXPECT_EQ(sent.metadata_bytes(), 120u * (kHeaderBytes + kChecksumBytes));
  }
}

TEST(Simulation, LossyCodecsOnlyBlurTheResult) {
  ToyWorldOptions options;
  options.sharing = "jwins";
  ToyWorld exact(options);
  exact.run();
  options.codec = "gamma+int8";
  ToyWorld blurred(options);
  blurred.run();
  EXPECT_NEAR(blurred.error(), exact.error(), 0.05);
  EXPECT_LT(blurred.simulation->sent(0).bytes, exact.simulation->sent(0).bytes / 2);
}

}  // namespace
}  // namespace tessera
