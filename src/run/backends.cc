#include "run/backends.h"

#if TESSERA_WITH_TORCH
#include "torch/backend.h"
#endif

namespace tessera {

std::span<const Backend> backends() {
#if TESSERA_WITH_TORCH
  return {&torch_backend(), 1};
#else
  return {};
#endif
}

}  // namespace tessera
