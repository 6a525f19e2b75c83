// The one name that libtessera_torch.so exports.
#include "torch/backend.h"
#include "torch/door/door.h"

extern "C" __attribute__((visibility("default"))) tessera::TorchLibrary
tessera_open_torch_library() {
  return {.version = TESSERA_VERSION, .backend = &tessera::torch_backend()};
}
