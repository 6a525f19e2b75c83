// A model's layers as the formulas have them, in double precision and PyTorch's own layout, one
// sample at a time: what the CPU layers are held to in tests. Written in plain_model_test.cc: no
// program needs it.
#pragma once

#include <span>
#include <vector>

#include "learn/model.h"
#include "learn/node_model.h"

namespace tessera::plain {

// The outputs for one sample.
std::vector<double> predict(const Model& model, std::span<const double> flat,
                            std::span<const float> sample);
// The batch's mean loss, as loss.h has it.
double loss(const Model& model, std::span<const double> flat, const Batch& batch);

}  // namespace tessera::plain
