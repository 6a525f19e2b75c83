// How much of the model a share may carry (the compression ratio), drawn anew each round: JWINS's
// randomized cut-off. A list draws evenly (0.1/0.2/1); each entry may carry its own chance instead
// (1@0.1/0.095@0.9). A schedule (schedule.h) makes it more or less over the run.
#pragma once

#include <vector>

#include "base/random.h"
#include "base/spec.h"
#include "sharing/schedule.h"

namespace tessera {

class Budget {
 public:
  // Reads the options `budget` and `schedule`; throws unless every fraction lies in (0, 1] and
  // chances, where given, sum to one.
  static Budget read(Options& options, std::vector<double> fallback, Round rounds);

  // At most one, whatever the schedule.
  double draw(const Random& random);

  void fields(Archive& archive) { schedule_.fields(archive); }

 private:
  struct Entry {
    double fraction = 0;
    double chance = 0;
  };
  double draw_entry(const Random& random) const;
  std::vector<Entry> entries_;
  Schedule schedule_;
};

}  // namespace tessera
