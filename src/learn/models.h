// The table of models. The five of the papers are theirs layer by layer (parameter counts are
// tested); `model = "gn-lenet"` in an experiment names one, options follow after a colon.
#pragma once

#include <span>
#include <string_view>

#include "base/spec.h"
#include "learn/model.h"

namespace tessera {

struct ModelKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  // Throws std::invalid_argument when the task does not fit the model or an option is wrong. Null
  // for `torchscript`, which is no list of layers but a module of its own: see torchscript.h.
  Model (*build)(const Task& task, Options& options) = nullptr;
};

std::span<const ModelKind> models();

// "gn-lenet", "mlp:hidden=128/64". Unknown names are refused with the nearest known one. Not for
// torchscript.
Model build_model(std::string_view spec, const Task& task);

}  // namespace tessera
