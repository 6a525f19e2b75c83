// What the live nodes of a plan must agree on before they talk.
#pragma once

#include "learn/learning.h"
#include "live/link/agreement.h"
#include "run/plan.h"

namespace tessera {

// Every line of the experiment, but where a node's own data lies; the classes in their order and
// the shape of a sample; how many samples there are where all have the same; test samples that all
// are tested on.
Agreement agreement_of(const Plan& plan, const Learning& lesson);

}  // namespace tessera
