// A model's layers at work on the CPU, as a NodeModel. Every list of layers runs here; nothing is
// allocated after construction.
#pragma once

#include <memory>

#include "learn/device.h"
#include "learn/node_model.h"

namespace tessera {

// The kernels work on whole vectors: channels of a convolution come in sixteens, units of an LSTM
// in thirty-twos, and the first convolution takes every pixel. Throws std::invalid_argument, naming
// the layer, for a model that is otherwise.
void require_whole_vectors(const Model& model);

// For a model that keeps to that. A batch of more than `batch_max` samples is more than its memory
// was laid out for.
std::unique_ptr<NodeModel> make_cpu_net(
    const Model& model, std::size_t batch_max,
    DeviceOptions::Convolutions convolutions = DeviceOptions::Convolutions::kDirect);

}  // namespace tessera
