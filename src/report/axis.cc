#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace tessera {
namespace {

double round_step(double span, int count) {
  const double rough = span / std::max(count, 1);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 2.5, 5.0})
    if (step * power >= rough * 0.999) return step * power;
  return 10 * power;
}

// What the labels count in.
struct Scale {
  double size = 1;
  std::string_view suffix{};
};

Scale scale_of(Unit unit, double largest) {
  constexpr std::array<std::string_view, 5> kBytes = {" B", " KiB", " MiB", " GiB", " TiB"};
  switch (unit) {
    case Unit::kPercent:
      return {0.01, "%"};
    case Unit::kBytes: {
      std::size_t power = 0;
      while (power + 1 < kBytes.size() && largest >= std::pow(1024, power + 1)) ++power;
      return {std::pow(1024, power), kBytes[power]};
    }
    case Unit::kSeconds:
      if (largest >= 7200) return {3600, " h"};
      if (largest >= 180) return {60, " min"};
      return {1, " s"};
    case Unit::kPlain:
    case Unit::kCount:
      break;
  }
  return {};
}

int decimals_of(double step) {
  for (int digits = 0; digits < 6; ++digits) {
    const double scaled = step * std::pow(10, digits);
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * std::max(1.0, scaled)) return digits;
  }
  return 6;
}

}  // namespace

std::vector<Mark> marks_between(double low, double high, Unit unit, int count) {
  const Scale scale = scale_of(unit, std::max(std::abs(low), std::abs(high)));
  const auto text = [&](double value, int digits) {
    return value == 0 && unit != Unit::kPercent
               ? std::string("0")
               : fmt::format("{:.{}f}{}", value / scale.size, digits, scale.suffix);
  };
  if (!(high > low)) return {{low, text(low, 2)}};
  double step = round_step((high - low) / scale.size, count);
  if (unit == Unit::kCount) step = std::max(1.0, step);
  const int digits = decimals_of(step);
  std::vector<Mark> marks;
  const double first = std::ceil(low / scale.size / step - 1e-9);
  for (double i = first; i * step * scale.size <= high + 1e-9 * step * scale.size; ++i) {
    const double value = i == 0 ? 0 : i * step * scale.size;
    marks.push_back({value, text(value, digits)});
  }
  return marks;
}

}  // namespace tessera
