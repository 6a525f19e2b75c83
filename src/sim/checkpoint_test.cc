// A simulation's checkpoint that was damaged: it is refused with a reason, or what it says can be
// lived with. Nothing stops the program and nothing overflows, which the sanitizers see to.
#include <gtest/gtest.h>

#include "base/files.h"
#include "run/damage_for_tests.h"
#include "run/toy_world.h"
#include "sim/simulation.h"

namespace tessera {
namespace {

constexpr const char* kFaults =
    "loss=0.05,duplicate=0.2,reorder=0.5@2s,crash=6s/2s,snapshot=1s,heal=60s";

// Small and busy: every part has something to save.
std::vector<ToyWorldOptions> busy_worlds() {
  const std::string matrix =
      "matrix:file=" + std::string(TESSERA_SOURCE_DIR) + "/experiments/regions10.csv,up=6kB/s";
  const std::string trace = testing::TempDir() + "checkpoint_test_trace.csv";
  EXPECT_TRUE(write_file(trace, bytes_of("time,node,up,on\n1s,3,2kB/s,\n2s,4,,no\n3s,4,,yes\n"
                                         "4s,all,5kB/s,\n"))
                  .ok());
  std::vector<ToyWorldOptions> worlds;
  for (const std::string& network :
       {std::string("ideal"), std::string("fifo:up=6kB/s,latency=200ms,stragglers=4"),
        std::string("links:up=6kB/s,latency=200ms,stragglers=4,parallel=2"),
        "fifo:up=6kB/s,trace=" + trace, "links:up=6kB/s,trace=" + trace, matrix})
    for (const char* protocol : {"dpsgd:rounds=30,patience=3s", "divshare:fanout=3,until=30s"}) {
      ToyWorldOptions world;
      world.nodes = 10;
      world.dimension = 40;
      world.network = network;
      world.protocol = protocol;
      world.faults = kFaults;
      world.compute = "normal:round=700ms,deviation=0.3";
      worlds.push_back(world);
    }
  return worlds;
}

std::string name_of(const ToyWorldOptions& world) {
  return world.network + " " + world.protocol;
}

// Where every access is checked, some of the steps do.
constexpr int kStepsApart = TESSERA_SANITIZED ? 14 : 1;

TEST(Checkpoint, IsConsistentAfterEveryStep) {
  for (const ToyWorldOptions& options : busy_worlds()) {
    ToyWorld world(options);
    world.simulation->start();
    int step = 0;
    do {
      if (step++ % kStepsApart != 0) continue;
      ASSERT_EQ(world.simulation->contradiction(), "")
          << name_of(options) << " at " << to_seconds(world.simulation->now().time_since_epoch());
    } while (world.simulation->step());
    EXPECT_TRUE(world.simulation->finished()) << name_of(options);
  }
}

// Every instant has a checkpoint that loads, and saves itself again as it was.
TEST(Checkpoint, OfAnyInstantLoads) {
  for (const ToyWorldOptions& options : busy_worlds()) {
    ToyWorld world(options);
    world.simulation->start();
    for (int i = 0; i < 150 && world.simulation->step(); ++i) {
      if (TESSERA_SANITIZED && i % 4 != 0) continue;
      Bytes saved, again;
      save_fields(*world.simulation, saved);
      ToyWorld other(options);
      ByteReader in(saved);
      const Result<void> loaded = load_fields(*other.simulation, in);
      ASSERT_TRUE(loaded.ok()) << name_of(options) << " " << i << ": " << loaded.error().message;
      save_fields(*other.simulation, again);
      ASSERT_EQ(saved, again) << name_of(options) << " " << i;
    }
  }
}

// A while; a damaged value may be one that no model learns from, and then the run ends and says so.
void go_on(Simulation& simulation) {
  try {
    for (int step = 0; step < 60 && simulation.step(); ++step) (void)simulation.sent(0);
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string_view(error.what()).find("has diverged by round"), std::string_view::npos);
  }
}

TEST(Checkpoint, DoesNoHarmWhenDamaged) {
  std::uint64_t refused = 0, ran = 0;
  for (const ToyWorldOptions& options : busy_worlds()) {
    ToyWorld world(options);
    world.simulation->start();
    for (int i = 0; i < 60; ++i) world.simulation->step();
    Bytes saved;
    save_fields(*world.simulation, saved);
    Damage damage(1);
    for (int i = 0; i < 250 / (TESSERA_SANITIZED ? 2 : 1); ++i) {
      Bytes damaged = saved;
      damage.change(damaged);
      ToyWorld other(options);
      ByteReader in(damaged);
      const Result<void> loaded = load_fields(*other.simulation, in);
      if (!loaded) {
        ++refused;
        EXPECT_FALSE(loaded.error().message.empty());
        continue;
      }
      ++ran;
      go_on(*other.simulation);
      EXPECT_TRUE(other.simulation->ledger().balances()) << name_of(options) << " " << i;
    }
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(ran, 100u);
}

}  // namespace
}  // namespace tessera
