// The stacked layers with K = 1 under autograd, as a NodeModel: the reference that the CPU layers
// are held to.
#pragma once

#include <memory>

#include "learn/node_model.h"

namespace tessera {

std::unique_ptr<NodeModel> make_reference_model(const Model& model);

}  // namespace tessera
