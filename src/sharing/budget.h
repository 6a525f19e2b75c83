// How much of the model a share may carry, drawn anew each round: JWINS's randomized cut-off. A
// list draws evenly (0.1/0.2/1); each entry may carry its own chance instead (1@0.1/0.095@0.9).
#pragma once

#include <vector>

#include "base/random.h"
#include "base/spec.h"

namespace tessera {

class Budget {
 public:
  // Reads the option `budget`; throws unless every fraction lies in (0, 1] and chances, where
  // given, sum to one.
  static Budget read(Options& options, std::vector<double> fallback);

  double draw(const Random& random) const;

 private:
  struct Entry {
    double fraction = 0;
    double chance = 0;
  };
  std::vector<Entry> entries_;
};

}  // namespace tessera
