// Thrown by a trainer or an evaluator whose device fails it in the middle of a run. Nothing is
// wrong with what was saved before, so that a run can go on from there.
#pragma once

#include <stdexcept>

namespace tessera {

struct DeviceFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace tessera
