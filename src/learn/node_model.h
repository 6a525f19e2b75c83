// One node's model at work on one thread of the CPU: the CPU layers (cpu_net.h) here, LibTorch's
// autograd and a user's TorchScript module in torch/. A trainer keeps one per thread and moves
// nodes' vectors in and out of it.
//
// A model may keep its parameters in an order of its own while it works ("working order"), because
// the layout PyTorch stores is not the one that is fast. SGD acts on each number alone, so it can
// work in that order too; only what enters and leaves a round is in PyTorch's.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "learn/model.h"

namespace tessera {

// Samples by rows: targets.size() of them.
struct Batch {
  std::span<const float> features{};
  std::span<const float> targets{};
  std::size_t size() const { return targets.size(); }
};

// Moves the parameters from `first` on by their gradient.
using Update = std::function<void(std::size_t first, std::span<const float> gradient)>;

class NodeModel {
 public:
  virtual ~NodeModel() = default;

  virtual std::size_t outputs() const = 0;  // Per sample.
  // In working order, as long as the flat vector. The caller writes here, with arrange() or SGD.
  virtual std::span<float> parameters() = 0;
  // Of the parameters, the leading ones that SGD moves. The rest are a module's buffers, which its
  // own forward pass changes.
  virtual std::size_t trained() const = 0;

  virtual void arrange(std::span<const float> flat, std::span<float> working) const = 0;
  virtual void restore(std::span<const float> working, std::span<float> flat) const = 0;

  // The batch's mean loss; its gradient, in working order, is in gradient() until the next call.
  virtual float differentiate(const Batch& batch) = 0;
  virtual std::span<const float> gradient() const = 0;

  // The batch's mean loss; `update` is called once for every trained parameter, in parts, each as
  // soon as its gradient is complete and nothing reads the parameter any more: a model larger than
  // the cache then passes through it once. The numbers are those of differentiate() and one update.
  // What is in gradient() afterwards is not said.
  virtual float descend(const Batch& batch, const Update& update) {
    const float loss = differentiate(batch);
    update(0, gradient().first(trained()));
    return loss;
  }

  // outputs() numbers per sample: logits, or the predicted target.
  virtual void predict(const Batch& batch, std::span<float> out) = 0;
};

}  // namespace tessera
