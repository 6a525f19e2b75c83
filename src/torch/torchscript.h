// Bring your own PyTorch model: `torchscript:file=my.pt,loss=cross-entropy` trains what
// torch.jit.script(model).save("my.pt") wrote. The module is given
//
//   images   float [batch, channels, height, width]
//   tokens   int64 [batch, length]
//   ratings  int64 [batch, 2]: user and item
//
// and returns logits [batch, classes] for cross-entropy, or predictions [batch] or [batch, 1] for
// loss=mse. Its flat vector is every parameter in the order of named_parameters(), then every
// buffer of floating point in the order of named_buffers(): running statistics of batch norm are
// shared and averaged between nodes like parameters, as decentralizepy does with the whole state
// dict. SGD does not move them; the module's forward pass does, in training mode. Buffers of whole
// numbers (num_batches_tracked) are not shared and start every round as the file has them.
//
// Modules train on the CPU. One that draws random numbers (dropout) draws them from LibTorch's own
// generator, so its runs repeat to the bit on one thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/spec.h"
#include "learn/node_model.h"

namespace tessera {

class ScriptModule {
 public:
  // Loads the file and tries it on two samples. Throws std::invalid_argument when the file is
  // missing or broken, or the module does not fit the task.
  ScriptModule(const Spec& spec, const Task& task);
  ~ScriptModule();

  const Vector& initial() const { return initial_; }
  // How long each parameter and each floating-point buffer is, in the vector's order.
  const std::vector<std::uint32_t>& tensors() const { return tensors_; }
  std::unique_ptr<NodeModel> make_node_model() const;
  // The task with the loss the spec asks for: classes is 0 for mse.
  const Task& task() const { return task_; }
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  Task task_;
  Vector initial_;
  std::vector<std::uint32_t> tensors_;
};

}  // namespace tessera
