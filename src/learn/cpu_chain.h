// A list of layers at work on the CPU, one after the other. Layers that follow one another are
// fused where one pass does the work of several: a convolution with its norm, ReLU and pooling
// (conv_block.h), and ReLU with the layer before it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "learn/layers/cpu_layer.h"

namespace tessera {

class CpuChain final : public CpuLayer {
 public:
  // `first`: the chain reads the samples themselves.
  CpuChain(const Model& model, std::span<const Layer> layers, std::size_t batch_max, bool first,
           CpuKernels kernels);

  bool empty() const { return layers_.empty(); }
  void arrange(std::span<const float> flat, std::span<float> working) const override;
  void restore(std::span<const float> working, std::span<float> flat) const override;
  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override;
  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in) override;
  void descend(std::span<const float> parameters, std::span<float> gradient, const float* in,
               float* d_in, Extent own, const Update& update) override;
  const float* out() const override { return layers_.back()->out(); }
  float* d_out() override { return layers_.back()->d_out(); }

 private:
  void add(std::unique_ptr<CpuLayer> layer, const CpuPlace& place);

  std::vector<std::unique_ptr<CpuLayer>> layers_;
  std::vector<std::size_t> first_parameters_;  // Per layer, its place in the flat vector.
};

}  // namespace tessera
