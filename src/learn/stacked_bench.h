// Steps of the models that experiments train, for the benchmarks of those who stack nodes: cuda/
// and torch/ time the same work, on numbers made up in the data's form.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bench.h"
#include "learn/learning.h"

namespace tessera {

struct StackedCase {
  std::string_view model{};
  std::string_view data{};  // Whose form the numbers have.
  Task task{};
  std::size_t batch = 0;
  std::size_t steps = 0;  // That take long enough to be timed.
};

std::span<const StackedCase> stacked_cases();

// Of `nodes` nodes that train together once, from the initial model on.
double seconds_of_round(const Bench& bench, Trainer& trainer, std::uint32_t nodes);

// Of one step of `nodes` nodes: what a round of so many more steps takes longer, so that the
// models' travel is left out.
struct StackedTimes {
  double step_ms = 0, round_ms = 0;  // The round: of two steps, models to the device and back.
};
StackedTimes time_stacked(const Bench& bench, const StackedCase& what, std::uint32_t nodes,
                          std::string_view device, std::span<const Backend> backends);

}  // namespace tessera
