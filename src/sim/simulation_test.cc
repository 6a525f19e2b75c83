// What every protocol with every sharing must show in the simulator, on the quadratic toy.
#include "sim/simulation.h"

#include <gtest/gtest.h>

#include "sim/event_queue.h"
#include "sim/toy_world.h"

namespace tessera {
namespace {

struct Recipe {
  std::string protocol{}, sharing{}, topology = "regular:degree=4";
};

std::vector<Recipe> recipes() {
  std::vector<Recipe> all;
  for (const ProtocolKind& protocol : protocols())
    for (const SharingKind& sharing : sharings())
      if ((protocol.name == "dpsgd" || !sharing.fixed_peers_only) &&
          sharing.name != "fragments")
        all.push_back({std::string(protocol.name) + ":rounds=40" +
                           (protocol.name == "epidemic" ? ",fanout=3" : ""),
                       std::string(sharing.name)});
  all.push_back({"dpsgd:rounds=40", "jwins", "regular:degree=4,redraw=yes"});
  all.push_back({"dpsgd:rounds=40", "full", "star"});
  return all;
}

ToyWorldOptions world_of(const Recipe& recipe) {
  ToyWorldOptions options;
  options.protocol = recipe.protocol;
  options.sharing = recipe.sharing;
  options.topology = recipe.topology;
  return options;
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

TEST(EveryRecipe, SameSeedSameBitsWhateverTheThreads) {
  for (const Recipe& recipe : recipes()) {
    ToyWorldOptions options = world_of(recipe);
    const std::uint64_t digest = ToyWorld(options).run();
    for (const unsigned threads : {1u, 2u, 4u}) {
      options.threads = threads;
      EXPECT_EQ(ToyWorld(options).run(), digest)
          << recipe.protocol << " " << recipe.sharing << " " << threads;
    }
    options.seed = 2;
    EXPECT_NE(ToyWorld(options).run(), digest) << recipe.protocol << " " << recipe.sharing;
  }
}

// Alone, a node ends at its own target, about 1 from the optimum in each coordinate; together they
// must come close.
TEST(EveryRecipe, NodesLearnWhatNoneKnowsAlone) {
  for (const Recipe& recipe : recipes()) {
    ToyWorld world(world_of(recipe));
    world.run();
    EXPECT_TRUE(world.simulation->finished()) << recipe.protocol << " " << recipe.sharing;
    EXPECT_EQ(world.simulation->rounds_done(), 40u);
    EXPECT_LT(world.error(), 0.5) << recipe.protocol << " " << recipe.sharing;
    for (NodeId id = 0; id < 8; ++id) EXPECT_TRUE(world.simulation->node(id).refusals().empty());
  }
}

TEST(EveryRecipe, ResumesFromAnyInstantBitForBit) {
  NoObserver nobody;
  for (const Recipe& recipe : recipes()) {
    const std::uint64_t digest = ToyWorld(world_of(recipe)).run();
    for (const int steps : {0, 1, 2, 7, 40}) {
      ToyWorld first(world_of(recipe));
      first.simulation->start();
      for (int i = 0; i < steps; ++i) first.simulation->step(nobody);
      Bytes saved;
      first.simulation->save(saved);

      ToyWorld second(world_of(recipe));
      ByteReader in(saved);
      const auto loaded = second.simulation->load(in);
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      EXPECT_EQ(in.left(), 0u);
      while (second.simulation->step(nobody)) {
      }
      EXPECT_EQ(second.simulation->model_digest(), digest)
          << recipe.protocol << " " << recipe.sharing << " " << steps;
      EXPECT_EQ(second.simulation->sent(3).bytes, [&] {
        while (first.simulation->step(nobody)) {
        }
        return first.simulation->sent(3).bytes;
      }());
    }
  }
}

TEST(Simulation, RefusesACutOrForeignState) {
  ToyWorld world(ToyWorldOptions{});
  NoObserver nobody;
  world.simulation->start();
  for (int i = 0; i < 5; ++i) world.simulation->step(nobody);
  Bytes saved;
  world.simulation->save(saved);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{9}, saved.size() / 2, saved.size() - 1}) {
    ByteReader in(ByteSpan(saved).first(length));
    EXPECT_FALSE(ToyWorld(ToyWorldOptions{}).simulation->load(in).ok()) << length;
  }
  ToyWorldOptions other;
  other.nodes = 4;
  ByteReader in(saved);
  EXPECT_FALSE(ToyWorld(other).simulation->load(in).ok());
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
