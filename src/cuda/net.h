// A model's layers for many nodes in one piece of GPU memory. Parameters work in an order of their
// own: convolutions and linear layers read them as they lie in images [y][x][channel].
#pragma once

#include <vector>

#include "cuda/layer.h"
#include "cuda/runtime.h"

namespace tessera::cuda {

struct NetSize {
  std::size_t nodes = 0, batch = 0;
  bool training = true;
  Precision precision = Precision::k3xF16;
  bool sparse = false;  // Only rows that a batch touched change: plain SGD.
};

class CudaNet {
 public:
  CudaNet(const Model& model, const NetSize& size);

  // What a net of this size would take of the GPU's memory.
  static std::size_t bytes_for(const Model& model, const NetSize& size);

  std::size_t dimension() const { return order_.map.size(); }  // In working order.
  // Nodes' rows between PyTorch's order and ours.
  void arrange(const Stream& stream, std::size_t nodes, const float* flat, float* working) const;
  void restore(const Stream& stream, std::size_t nodes, const float* working, float* flat) const;

  // `pass` says whose parameters; the batch is the net's own. Leaves the outputs in outputs().
  void forward(const Pass& pass, const Rows& samples) { chain_.forward(pass, samples); }
  float* outputs() const { return const_cast<float*>(chain_.last().out().data); }
  // From the gradient of the outputs, which lies in d_outputs().
  void backward(const Pass& pass, const Rows& samples) { chain_.backward(pass, samples, nullptr); }
  float* d_outputs() const { return chain_.last().d_out(); }
  void descend(const Pass& pass, const Descent& descent, float* parameters,
               const MomentRows& moments);

 private:
  void lay_out(const Model& model, const NetSize& size, Memory& memory);

  std::size_t nodes_, flat_dimension_;
  WorkingOrder order_;
  std::vector<Gradient> gradients_;
  CudaChain chain_;
  DeviceArray<std::byte> memory_;
  DeviceArray<std::uint32_t> map_, inverse_;
  DeviceArray<Gradient> device_gradients_;
  // Where gradients are clipped: the squares of their pieces, and by how much.
  DeviceArray<double> squares_;
  DeviceArray<float> scales_;
};

}  // namespace tessera::cuda
