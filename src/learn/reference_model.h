// The stacked layers with K = 1 under autograd, as a NodeModel: the reference the hand-written net
// is held to, and what trains the models that net does not know (LSTM, matrix factorization,
// ResNet).
#pragma once

#include <memory>

#include "learn/node_model.h"

namespace tessera {

std::unique_ptr<NodeModel> make_reference_model(const Model& model);

}  // namespace tessera
