#include "protocol/ending.h"

#include <chrono>

namespace tessera {

Ending read_ending(Options& options) {
  Ending ending;
  ending.rounds = static_cast<Round>(options.integer("rounds", 0, between(0, kRoundsMax)));
  if (options.has("until") || ending.rounds == 0) {
    const Duration until = options.duration("until", std::chrono::seconds(67));
    if (until <= Duration::zero()) options.refuse("until", "a run must last a while");
    ending.until = Instant(until);
  }
  return ending;
}

}  // namespace tessera
