// When a simulation saves itself: after so many rounds, or so long by the wall's clock.
#pragma once

#include <string_view>

#include "base/ids.h"

namespace tessera {

struct CheckpointEvery {
  Round rounds = 0;
  double seconds = 60;  // Where both are 0: only where the run is stopped.
};

// "20" are rounds, "90s" a time, "none" and "0" neither. Throws std::invalid_argument.
CheckpointEvery parse_checkpoint_every(std::string_view text);

class CheckpointSchedule {
 public:
  CheckpointSchedule(CheckpointEvery every, Round done) : every_(every), rounds_saved_(done) {}

  // `seconds` since the last one, or since the beginning.
  bool is_due(Round done, double seconds) const;
  // A checkpoint that takes long is written the more seldom: it costs a hundredth of the time.
  void saved(Round done, double took_seconds);

 private:
  CheckpointEvery every_;
  Round rounds_saved_;
  double took_seconds_ = 0;
};

}  // namespace tessera
