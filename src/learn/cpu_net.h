// A model's layers at work on the CPU, as a NodeModel. Every list of layers runs here; nothing is
// allocated after construction.
#pragma once

#include <memory>
#include <string_view>

#include "learn/device.h"
#include "learn/node_model.h"

namespace tessera {

// The kernels work on whole vectors: channels of a convolution come in sixteens, units of an LSTM
// in thirty-twos, and the first convolution takes every pixel. Throws std::invalid_argument, naming
// the layer, for a model that is otherwise.
void require_whole_vectors(const Model& model);

// Throws std::invalid_argument where this CPU lacks the instructions for precision=bf16, or for
// convolution=amx with it, or `model` has no convolution, the one layer that rounds.
void require_bf16(const Model& model, bool amx = false);
[[noreturn]] void refuse_bf16(std::string_view model);  // Which has none.

// For a model that keeps to that. A batch of more than `batch_max` samples is more than its memory
// was laid out for.
std::unique_ptr<NodeModel> make_cpu_net(const Model& model, std::size_t batch_max,
                                        CpuKernels kernels = {});

}  // namespace tessera
