#include "run/backends.h"

#if TESSERA_WITH_TORCH
#include "torch/door/door.h"
#endif

namespace tessera {

std::span<const Backend> backends() {
#if TESSERA_WITH_TORCH
  return {&torch_on_demand(), 1};
#else
  return {};
#endif
}

}  // namespace tessera
