// A TorchScript module whose parameters and floating-point buffers live in one flat vector.
//
// Internal to torch/: this header shows LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "torch/libtorch.h"

#pragma push_macro("CHECK")
#undef CHECK
#include <torch/script.h>
#undef CHECK
#pragma pop_macro("CHECK")

namespace tessera {

class FlatScript {
 public:
  // Throws std::invalid_argument naming the file when it cannot be read.
  explicit FlatScript(const std::string& file);
  FlatScript(const FlatScript&) = delete;
  FlatScript& operator=(const FlatScript&) = delete;

  torch::jit::Module& module() { return module_; }
  Vector& flat() { return flat_; }
  const std::vector<std::uint32_t>& tensors() const { return tensors_; }  // How long each is.
  std::size_t trained() const { return trained_; }
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  // Buffers that are not in the flat vector, as the file had them.
  void reset_other_buffers();

 private:
  torch::jit::Module module_;
  Vector flat_;  // The tensors of the module are views of it.
  std::vector<std::uint32_t> tensors_;
  std::size_t trained_ = 0;
  std::vector<torch::Tensor> parameters_;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> others_;  // Buffer, and its first value.
};

// The first line of what LibTorch has to say, without the stack it appends.
std::string first_line(const std::exception& error);

}  // namespace tessera
