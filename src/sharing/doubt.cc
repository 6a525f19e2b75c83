#include "sharing/doubt.h"

#include <algorithm>
#include <cmath>

#include "math/vector_ops.h"

namespace tessera {

// A piece of a small model is summed in less time than a kernel is called.
double norm_of(std::span<const float> values) {
  if (values.size() > 16) return std::sqrt(squared_norm(values));
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

std::string_view doubt(double norm, const OwnSize& own) {
  if (!std::isfinite(norm)) return "not-finite";
  const double ones = std::sqrt(static_cast<double>(own.parameters));
  const double norm_max = std::min(kProportion * (own.norm + ones), kNormMax);
  return norm > norm_max ? "too-large" : "";
}

}  // namespace tessera
