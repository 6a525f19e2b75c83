// A layer at work on one thread of the CPU, for one node and a batch of samples, in memory laid out
// once. A network is a list of these (cpu_chain.h). What passes between them:
//
//   images      [pixels][batch][channels]
//   sequences   [steps][batch][width]
//   the rest    [batch][numbers]: the samples themselves, and what linear layers read and write
#pragma once

#include <cstddef>
#include <span>

#include "learn/device.h"
#include "learn/floats.h"
#include "learn/model.h"
#include "learn/node_model.h"

namespace tessera {

// Parameters that lie side by side.
struct Extent {
  std::size_t first = 0, count = 0;
};

class CpuLayer {
 public:
  virtual ~CpuLayer() = default;

  // PyTorch's parameters to the order the layer works with, and back. Both find the parameters
  // copied already: a layer that works with PyTorch's order does nothing.
  virtual void arrange(std::span<const float> /*flat*/, std::span<float> /*working*/) const {}
  virtual void restore(std::span<const float> /*working*/, std::span<float> /*flat*/) const {}

  // Reads `in`, which is what the layer before put out, and writes out().
  virtual void forward(std::span<const float> parameters, const float* in, std::size_t batch) = 0;
  // Reads d_out() and the last forward's `in`; writes the layer's part of the gradient and, unless
  // it is null, d_in. What was in out() and d_out() may be gone afterwards.
  virtual void backward(std::span<const float> parameters, std::span<float> gradient,
                        const float* in, float* d_in) = 0;
  // backward(), and the layer's own parameters, which lie in `own`, are updated.
  virtual void descend(std::span<const float> parameters, std::span<float> gradient,
                       const float* in, float* d_in, Extent own, const Update& update) {
    backward(parameters, gradient, in, d_in);
    if (own.count > 0) update(own.first, gradient.subspan(own.first, own.count));
  }

  virtual const float* out() const = 0;
  virtual float* d_out() = 0;
};

// Where a layer stands in its network.
struct CpuPlace {
  const Model& model;
  const Layer& layer;
  std::size_t batch_max = 1;
  bool first = false;  // It reads the samples themselves.
  bool relu = false;   // ReLU follows and is done by the same layer.
  CpuKernels kernels{};

  // Where the layer's own begin in the flat vector, or would if it had any.
  std::size_t first_parameter() const {
    return layer.first_parameter < model.parameters.size() ? offset(0) : model.dimension();
  }
  std::size_t offset(std::size_t i) const {
    return model.parameters[layer.first_parameter + i].offset;
  }
};

}  // namespace tessera
