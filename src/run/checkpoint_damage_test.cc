// Whole runs, their trainers and their measurements with them: src/sim/checkpoint_test.cc tries the
// simulation alone. What overflows, the sanitizers see.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/stopwatch.h"
#include "run/damage_for_tests.h"

namespace tessera {
namespace {

constexpr double kSecondsMax = 5;  // Of computing, for what takes a hundredth of one.

// More of them, and other ones, for whoever has the time.
std::uint64_t number_from(const char* name, std::uint64_t usual) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

TEST(CheckpointDamage, IsRefusedOrLivedWith) {
  const std::uint64_t count = number_from("TESSERA_DAMAGES", TESSERA_SANITIZED ? 25 : 120);
  const std::uint64_t seed = number_from("TESSERA_DAMAGE_SEED", 1);
  std::uint64_t outcomes[3] = {};
  for (const Experiment& experiment : busy_experiments()) {
    Damage damage(seed);
    for (const int steps : {25, 90}) {
      const SavedRun saved = save_after(experiment, steps);
      for (std::uint64_t i = 0; i < count; ++i) {
        Bytes damaged = saved.state;
        damage.change(damaged);
        const CpuStopwatch watch;
        ++outcomes[static_cast<int>(go_on(experiment, damaged, 150))];
        ASSERT_LT(watch.seconds(), kSecondsMax)
            << experiment.protocol << " " << experiment.sharing << " " << steps << " " << i;
      }
    }
  }
  for (const std::uint64_t outcome : outcomes) EXPECT_GT(outcome, 10u);
}

// Whatever is a flag is turned over once: a node that trained was said to wait for others, and
// began to train a second time.
// Where every access is checked, a sixth of them are.
constexpr std::size_t kBytesApart = TESSERA_SANITIZED ? 6 : 1;

TEST(CheckpointDamage, EveryFlagMayBeTurnedOver) {
  for (const std::size_t which : {0, 6}) {
    const SavedRun saved = save_after(busy_experiments()[which], 25);
    for (std::size_t at = 0; at < saved.state.size(); at += kBytesApart) {
      if (saved.state[at] > std::byte{1}) continue;
      Bytes damaged = saved.state;
      damaged[at] ^= std::byte{1};
      (void)go_on(saved.experiment, damaged, 40);
    }
  }
}

}  // namespace
}  // namespace tessera
