// Learning that is written in Python: an object whose train() is called once per cohort, with views
// of the models, and whose evaluate() scores models. What it raises goes through the run and comes
// out where the run was stepped.
#pragma once

#include <pybind11/pybind11.h>

#include "learn/learning.h"

namespace tessera {

// `learner` has
//   initial                  the first model, a float32 array;
//   tensors                  how many parameters each tensor has, a list; may be empty
//   train(models, nodes, seeds) -> losses, which changes the models in place
//   evaluate(models, nodes) -> [(accuracy, loss)]
//   state() -> bytes, set_state(bytes)  what it remembers between calls
//   description              a word for people
Learning learning_of(const pybind11::object& learner);

}  // namespace tessera
