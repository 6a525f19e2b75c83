// The layers of a model for K nodes at once, on any device, under autograd. A parameter of shape
// [...] is a tensor [K, ...], and every layer runs for all K in one call: grouped convolutions,
// batched matrix products. One node is K = 1; nothing here knows how many there are.
//
// Samples come in as [B, K, features]. While they are images, activations are [B, K channels,
// height, width], so that a group of the convolution is a node; after that they are [K, B, ...].
// Samples [B, 1, features] are the same for every node: a first convolution then runs ungrouped,
// which is how an evaluation reads its test set once for all nodes.
//
// Internal to torch/: this header shows LibTorch.
#pragma once

#include <vector>

#include "learn/model.h"
#include "torch/libtorch.h"

namespace tessera::stacked {

using torch::Tensor;

// One tensor [K, ...shape] per parameter of the model.
using Parameters = std::vector<Tensor>;

Tensor forward(const Model& model, const Parameters& parameters, const Tensor& features);

// Cross-entropy, or squared error, of every sample: outputs [K, B, O] and targets [B, K or 1] give
// losses [K, B].
Tensor losses(const Model& model, const Tensor& outputs, const Tensor& targets);

// Rows of flat vectors [K, P] and parameters, one way and the other. Both copy.
Parameters split(const Model& model, const Tensor& rows);
void join(const Model& model, const Parameters& parameters, Tensor& rows);

}  // namespace tessera::stacked
