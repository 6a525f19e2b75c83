#include "data/hold_out.h"

#include <algorithm>

namespace tessera {

bool is_fraction(std::string_view test) {
  return test.find_first_not_of("0123456789.eE+-") == test.npos;
}

HoldOut hold_out_option(Options& options) {
  const std::string test = options.text("test", "0.2");
  if (!is_fraction(test)) return {.path = test};
  return {.fraction = options.number("test", 0.2, between(0.01, 0.9))};
}

std::vector<bool> draw_held_out(std::size_t samples, double fraction, Random random) {
  std::vector<bool> held_out(samples, false);
  if (samples < 2) return held_out;
  const auto count = static_cast<std::uint32_t>(samples);
  const auto wanted = static_cast<std::uint32_t>(fraction * static_cast<double>(samples) + 0.5);
  for (const std::uint32_t i : random.sample(count, std::clamp(wanted, 1u, count - 1)))
    held_out[i] = true;
  return held_out;
}

}  // namespace tessera
