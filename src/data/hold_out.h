// The option `test` of the sets that people bring themselves: a fraction of the samples that is
// held out, test=0.2, or where test samples lie, test=shared/test.csv.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"

namespace tessera {

struct HoldOut {
  double fraction = 0;
  std::filesystem::path path{};  // Empty: the fraction counts.
};

bool is_fraction(std::string_view test);  // Else it is a path.
HoldOut hold_out_option(Options& options);

// Which of so many samples are held out, for each whether it is. Of one alone nothing is.
std::vector<bool> draw_held_out(std::size_t samples, double fraction, Random random);

}  // namespace tessera
