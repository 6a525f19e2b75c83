// The table of models. The five of the papers are theirs layer by layer (parameter counts are
// tested); `model = "gn-lenet"` in an experiment names one, options follow after a colon.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "base/spec.h"
#include "learn/model.h"

namespace tessera {

struct Learning;
struct LearningOptions;

// A model that is a list of layers. Throws std::invalid_argument when the task does not fit the
// model or an option is wrong.
using BuildLayers = Model (*)(const Task& task, Options& options);
// A model that brings a trainer of its own kind. `learning` comes with its data; trainer,
// evaluator, exporters and description are filled in.
using FillIn = void (*)(const LearningOptions& options, Learning& learning);

struct ModelKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  std::variant<BuildLayers, FillIn> make{};
  bool needs_data = true;
};

std::span<const ModelKind> models();

// "gn-lenet", "mlp:hidden=128/64": one of the models that are lists of layers. Unknown names are
// refused with the nearest known one.
Model build_model(const Spec& spec, const Task& task);
Model build_model(std::string_view spec, const Task& task);

}  // namespace tessera
