#include "run/backends.h"

#include <vector>

#if TESSERA_WITH_CUDA
#include "cuda/backend.h"
#endif
#if TESSERA_WITH_TORCH
#include "torch/door/door.h"
#endif

namespace tessera {

std::span<const Backend> backends() {
  static const std::vector<Backend> kBackends = {
#if TESSERA_WITH_CUDA
    cuda_backend(),  // Takes what it can before LibTorch does.
#endif
#if TESSERA_WITH_TORCH
    torch_on_demand(),
#endif
  };
  return kBackends;
}

}  // namespace tessera
