#include "sharing/schedule.h"

#include <fmt/format.h>

#include <string>

namespace tessera {
Schedule Schedule::read(Options& options, Round rounds) {
  Schedule schedule;
  if (!options.has("schedule")) return schedule;
  if (rounds == 0)
    options.refuse("schedule", "it needs to know when the run ends: give the protocol rounds=");
  schedule.rounds_ = rounds;
  double before = 0;
  for (const std::string& word : options.words("schedule", {})) {
    const std::size_t at = word.find('@');
    if (at == std::string::npos)
      options.refuse("schedule", fmt::format("{}: write factor@part, such as 0.5@0.8/3@1", word));
    const Part part{.factor = options.number_in("schedule", word.substr(0, at)),
                    .until = options.number_in("schedule", word.substr(at + 1))};
    if (!above(0).contains(part.factor))
      options.refuse("schedule", fmt::format("{}: a factor must be above 0", word));
    if (!above_up_to(before, 1).contains(part.until))
      options.refuse("schedule",
                     fmt::format("{}: parts of the run increase, from 0 up to 1", word));
    before = part.until;
    schedule.parts_.push_back(part);
  }
  if (before != 1)
    options.refuse("schedule", fmt::format("it ends at {} of the run, not at 1", before));
  return schedule;
}

double Schedule::next() {
  if (parts_.empty()) return 1;
  const double done = static_cast<double>(asked_++) / static_cast<double>(rounds_);
  for (const Part& part : parts_)
    if (done < part.until) return part.factor;
  return parts_.back().factor;
}

void Schedule::fields(Archive& archive) {
  if (!parts_.empty()) archive(asked_);
}

}  // namespace tessera
