// Randomized simulation testing, in the manner of TigerBeetle and FoundationDB: small worlds full
// of trouble. A seed chooses a topology, a protocol, a sharing, a rule, a codec, a network, a pace
// of computing, sizes and faults; hostile nodes in half of the worlds, merges in some of the
// others. After every event what must always hold is checked, of the honest nodes; then the faults
// end, but for the hostile, and every honest node must get on with its work. A world that fails is
// one number to repeat it by:
//
//   tessera replay --swarm=12345
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "run/toy_world.h"

namespace tessera {

inline constexpr double kSwarmHealsAt = 30;  // Faults end here, in seconds of virtual time;
inline constexpr double kSwarmEndsAt = 90;   // the run ends here, where it ends by time.
inline constexpr Round kSwarmRounds = 40;    // Where it ends by rounds.

// The world a seed stands for.
ToyWorldOptions swarm_world(std::uint64_t seed);
std::string describe(const ToyWorldOptions& world);

struct SwarmStory {
  std::uint64_t events = 0, messages = 0, crashes = 0, refused = 0, hostile = 0;
  bool merges = false;
  double virtual_seconds = 0;
  std::uint64_t digest = 0;
};

// Runs it to its end. An error says which invariant broke, and when.
Result<SwarmStory> run_swarm_world(std::uint64_t seed, unsigned threads = 1);

}  // namespace tessera
