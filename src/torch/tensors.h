// Between plain memory and LibTorch's tensors. Internal to torch/: this header shows LibTorch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "torch/libtorch.h"

namespace tessera {

// A tensor that looks at the caller's memory. LibTorch has no read-only tensors: nobody writes to
// this one.
inline torch::Tensor view_of(std::span<const float> values) {
  return torch::from_blob(const_cast<float*>(values.data()),
                          {static_cast<std::int64_t>(values.size())});
}

inline void copy_to(const torch::Tensor& tensor, std::span<float> to) {
  CHECK(tensor.numel() == static_cast<std::int64_t>(to.size()));
  const torch::Tensor plain = tensor.detach().to(torch::kCPU, torch::kFloat).contiguous();
  std::copy_n(plain.data_ptr<float>(), to.size(), to.data());
}

// One thread inside LibTorch and its BLAS: nodes are what runs in parallel. Each of our threads
// calls this before its first operation, since OpenMP keeps the setting per thread.
void use_one_torch_thread();

}  // namespace tessera
