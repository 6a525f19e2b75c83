// A layer of many nodes at work on the GPU. Activations are rows, [node][sample][numbers]; a layer
// owns what it puts out, its gradients, and what it must remember on the way back.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/kernels.h"
#include "cuda/optimizer_kernels.h"
#include "learn/model.h"

namespace tessera::cuda {

// Hands out a piece of memory for every node and sample, or only counts: a network is laid out
// twice, first without memory.
class Memory {
 public:
  explicit Memory(std::byte* base = nullptr) : base_(base) {}
  template <typename T>
  T* take(std::size_t count) {
    const std::size_t at = used_;
    used_ += (count * sizeof(T) + kLine - 1) / kLine * kLine;
    return base_ ? reinterpret_cast<T*>(base_ + at) : nullptr;
  }
  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t kLine = 256;
  std::byte* base_;
  std::size_t used_ = 0;
};

// Where the parameters lie in working order: every tensor begins at a multiple of four floats, and
// map[i] is the place in the flat vector of what is at place i, or kNowhere.
struct WorkingOrder {
  std::vector<std::uint32_t> map{};
  // Adds `count` places and returns the first.
  std::size_t add(std::size_t count);
  // Those of a parameter, as it lies in the flat vector.
  std::size_t add(const Parameter& parameter);
};

// How large, and for whom a network is laid out.
struct Layout {
  std::size_t nodes = 0, batch = 0;
  bool training = true;
  Precision precision = Precision::k3xF16;
  bool sparse = false;  // NetSize's.
  Memory& memory;
  WorkingOrder& order;
  std::vector<Gradient>& gradients;

  template <typename T>
  T* rows(std::size_t width) const {
    return memory.take<T>(nodes * batch * width);
  }
  // Memory for a tensor's gradient, [node][part][size]; null where nothing is trained.
  float* gradient_in_parts(std::size_t first, std::size_t size, int count) const;
};

class CudaLayer {
 public:
  virtual ~CudaLayer() = default;
  virtual void forward(const Pass& pass, const Rows& in) = 0;
  // Reads d_out(); writes gradients and, unless it is null, d_in. What was in out() may be gone.
  virtual void backward(const Pass& pass, const Rows& in, float* d_in) = 0;
  // A step along gradients that are not in the list, for the first layer of a network.
  virtual void descend(const Pass& /*pass*/, const Descent& /*descent*/, float* /*parameters*/) {}

  const Rows& out() const { return out_; }
  float* d_out() const { return d_out_; }

 protected:
  // Takes memory for what goes out.
  void put_out(const Layout& layout, std::size_t width);
  void know_maxima(const float* maxima) { out_.maxima = maxima; }
  float* out_data() const { return const_cast<float*>(out_.data); }

 private:
  Rows out_{};
  float* d_out_ = nullptr;
};

// A list of layers one after the other.
class CudaChain {
 public:
  CudaChain() = default;
  CudaChain(const Model& model, std::span<const Layer> layers, const Layout& layout);

  bool empty() const { return layers_.empty(); }
  CudaLayer& first() const { return *layers_.front(); }
  const CudaLayer& last() const { return *layers_.back(); }
  void forward(const Pass& pass, const Rows& in);
  void backward(const Pass& pass, const Rows& in, float* d_in);

 private:
  std::vector<std::unique_ptr<CudaLayer>> layers_;
};

// The layer at the front of the list, with those after it that it does on the way; takes them off.
std::unique_ptr<CudaLayer> take_layer(const Model& model, std::span<const Layer>& layers,
                                      const Layout& layout);
// What in the list this folder has no kernel for, in words; empty where it has them all.
std::string missing_in(std::span<const Layer> layers);

}  // namespace tessera::cuda
