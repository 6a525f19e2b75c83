// When an asynchronous protocol is over: at a moment, or after so many trainings, whichever comes
// first. No node waits for one that has stopped, so all may end at once or each when it is done.
#pragma once

#include "base/spec.h"
#include "node/node.h"

namespace tessera {

struct Ending {
  Round rounds = 0;  // Trainings; 0: any number.
  Instant until = kNever;

  bool reached(const Node& node, Round done) const {
    return (rounds > 0 && done >= rounds) || node.now() >= until;
  }
  // To be called when a node starts: finishes it, or sees to it that it is woken in time.
  bool begin(Node& node, Round done) const {
    if (reached(node, done)) return node.finish(), false;
    if (until != kNever) node.wake_after(until - node.now());
    return true;
  }
};

inline constexpr double kRoundsMax = 100'000'000;
// By the options `rounds` and `until`; without either after 67 s, 90 rounds of DivShare's setting.
// Throws std::invalid_argument.
Ending read_ending(Options& options);

}  // namespace tessera
