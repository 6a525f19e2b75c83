// Which program made a run's results, when and where. What two runs are compared by has none of it.
#pragma once

#include "report/metrics.h"

namespace tessera {

Made made_now();

}  // namespace tessera
