// What this program was built with beside the CPU layers: the one place that knows.
#pragma once

#include <span>

#include "learn/learning.h"

namespace tessera {

std::span<const Backend> backends();

}  // namespace tessera
