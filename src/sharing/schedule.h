// How a budget changes over a run. Nodes that agree late are worth more than nodes that agreed
// early, so the same bytes may buy more at the end: schedule=0.5@0.8/3@1 takes half the budget for
// the first 80% of the rounds and three times the budget after them.
#pragma once

#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/spec.h"

namespace tessera {

class Schedule {
 public:
  // Reads the option `schedule`. Throws unless its factors are above zero, its parts of the run
  // increase up to one, and the number of rounds is known.
  static Schedule read(Options& options, Round rounds);

  // What to multiply the next round's budget by.
  double next();

  // Where there is no schedule a checkpoint has nothing of it.
  void fields(Archive& archive);

 private:
  struct Part {
    double factor = 1;
    double until = 1;  // Of the run.
  };
  std::vector<Part> parts_;
  Round rounds_ = 0;
  Round asked_ = 0;
};

}  // namespace tessera
