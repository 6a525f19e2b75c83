// A convolution (convolution.h) at work. Channels must be multiples of 16, those of the samples
// themselves excepted.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "learn/conv_kernels.h"
#include "learn/conv_way.h"
#include "learn/layers/cpu_layer.h"

namespace tessera {

class CpuConvolution final : public CpuLayer {
 public:
  // In place, d_out() is out(): for who writes the one over the other.
  CpuConvolution(const Convolution& convolution, const CpuPlace& place, bool in_place);

  void arrange(std::span<const float> flat, std::span<float> working) const override;
  void restore(std::span<const float> working, std::span<float> flat) const override;
  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override;
  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in) override;
  // The same for who has the sums of d_out over pixels already, one per sample and channel.
  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in, const float* sums);

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.empty() ? out_.data() : d_out_.data(); }
  const ConvShape& shape() const { return shape_; }

 private:
  ConvShape shape_;
  bool first_;
  std::size_t weight_, bias_;  // Offsets in the flat vector.
  std::unique_ptr<ConvWay> way_;
  Floats64 out_, d_out_;
  Floats64 turned_, sums_;
};

}  // namespace tessera
