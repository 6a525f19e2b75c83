// An axis of a chart: where its marks are, and what stands beside them.
#pragma once

#include <string>
#include <vector>

namespace tessera {

enum class Unit { kPlain, kCount, kPercent, kBytes, kSeconds };

struct Mark {
  double value = 0;
  std::string text{};
};

// About `count` marks at round values from `low` to `high`.
std::vector<Mark> marks_between(double low, double high, Unit unit, int count);

}  // namespace tessera
