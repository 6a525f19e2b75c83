// The ways to make a convolution and its gradients, by the kernels that were chosen and what the
// convolution looks like: plainly, by Winograd, in bf16, in AMX's tiles; each for a net's first
// layer, too.
#pragma once

#include <memory>

#include "learn/conv_kernels.h"
#include "learn/device.h"

namespace tessera {

// One way, with the memory it needs for one convolution. Layouts are those of conv_kernels.h; a
// first layer reads samples as they are, [batch][inputs][height][width].
class ConvWay {
 public:
  virtual ~ConvWay() = default;
  virtual void forward(const ConvShape& shape, const float* in, const float* weights,
                       const float* bias, float* out) = 0;
  // After forward() of the same shape, with the same `in`. `turned` as turn_weights() makes them;
  // not read if d_in is null, as it is for a first layer.
  virtual void backward(const ConvShape& shape, const float* in, const float* d_out,
                        const float* turned, float* d_weights, float* d_in) = 0;
};

// For batches as large as `largest` has them.
std::unique_ptr<ConvWay> make_conv_way(const ConvShape& largest, bool first, CpuKernels kernels);

}  // namespace tessera
