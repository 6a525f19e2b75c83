// A LEAF folder of your own: users whose samples are rows of numbers, or lists of lists of them,
// and whose classes are whole numbers or texts. The other LEAF sets are the papers'.
#pragma once

#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

DataSource leaf_source(Options& options);

}  // namespace tessera
