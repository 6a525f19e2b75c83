// LibTorch on demand. Loading it takes a good part of a second and a hundred megabytes, and most
// runs need nothing of it; so torch/ is a shared library, opened by the first run that does.
#pragma once

#include <string_view>

#include "learn/learning.h"

namespace tessera {

// What the library offers. Nothing is loaded before its models, devices or files are asked for;
// if that fails, std::invalid_argument says what is missing.
const Backend& torch_on_demand();

// The one thing the library exports. The program and the library pass each other C++ objects, so
// both must come from one build.
struct TorchLibrary {
  const char* version = nullptr;
  const Backend* backend = nullptr;
};
using OpenTorchLibrary = TorchLibrary();
inline constexpr const char* kOpenTorchLibrary = "tessera_open_torch_library";

// The row of the table of models, the same on both sides of the door.
constexpr ModelKind torchscript_model(FillIn make) {
  return {"torchscript", "torchscript:file=my.pt,loss=cross-entropy",
          "your own PyTorch model, saved with torch.jit.script(model).save(file)", make};
}
inline constexpr std::string_view kTorchScriptExtension = "pt";

}  // namespace tessera
