#include "cli/checkpoint_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "base/spec.h"
#include "base/time.h"

namespace tessera {

CheckpointEvery parse_checkpoint_every(std::string_view text) {
  const bool digits = text.find_first_not_of("0123456789") == text.npos;
  try {
    if (text == "none" || text == "0") return {.rounds = 0, .seconds = 0};
    if (!digits) {
      const double seconds = to_seconds(parse_duration(text));
      if (seconds > 0) return {.rounds = 0, .seconds = seconds};
    } else if (const std::int64_t rounds = parse_integer(text);
               rounds <= std::numeric_limits<Round>::max()) {
      return {.rounds = static_cast<Round>(rounds), .seconds = 0};
    }
  } catch (const std::invalid_argument&) {
  }
  throw std::invalid_argument(fmt::format(
      "--checkpoint-every={}: write a number of rounds, a time such as 90s, or none", text));
}

bool CheckpointSchedule::is_due(Round done, double seconds) const {
  if (every_.rounds > 0) return done - rounds_saved_ >= every_.rounds;
  return every_.seconds > 0 && seconds >= std::max(every_.seconds, 100 * took_seconds_);
}

void CheckpointSchedule::saved(Round done, double took_seconds) {
  rounds_saved_ = done;
  took_seconds_ = took_seconds;
}

}  // namespace tessera
