#include "sharing/doubt.h"

#include <algorithm>
#include <cmath>

#include "math/vector_ops.h"

namespace tessera {

std::string_view doubt(std::span<const float> values, const OwnSize& own) {
  const double norm = std::sqrt(squared_norm(values));
  if (!std::isfinite(norm)) return "not-finite";
  const double ones = std::sqrt(static_cast<double>(own.parameters));
  const double norm_max = std::min(kProportion * (own.norm + ones), kNormMax);
  return norm > norm_max ? "too-large" : "";
}

}  // namespace tessera
