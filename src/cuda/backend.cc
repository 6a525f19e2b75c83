#include "cuda/backend.h"

#include <fmt/format.h>

#include <stdexcept>

#include "cuda/layer.h"
#include "cuda/runtime.h"
#include "cuda/trainer.h"

namespace tessera {
namespace {

std::string_view name_of(DeviceOptions::Precision precision) {
  switch (precision) {
    case DeviceOptions::Precision::kFp32:
      return "fp32";
    case DeviceOptions::Precision::k3xTf32:
      return "3xtf32";
    case DeviceOptions::Precision::kTf32:
      break;
  }
  return "tf32";
}

void learn_on_gpu(const Model& model, const LearningOptions& options, Learning& learning) {
  cuda::use_gpu(options.device.index);
  learning.trainer =
      cuda::make_trainer({.model = model,
                          .initial = initial_parameters(model, Random(options.seed).fork("model")),
                          .train = learning.data.train,
                          .node_samples = learning.partition.train,
                          .sgd = options.training,
                          .device = options.device});
  learning.evaluator =
      cuda::make_evaluator({.model = model,
                            .test = learning.data.test,
                            .node_samples = test_lists(learning, options.test_samples),
                            .device = options.device});
  learning.description =
      describe(model.name, model.dimension(),
               fmt::format("stacked on the GPU, {}", name_of(options.device.precision)));
}

}  // namespace

const Backend& cuda_backend() {
  static constexpr Backend kBackend{.name = "CUDA",
                                    .runs =
                                        [](const Model& model, const DeviceOptions& device) {
                                          return device.cuda &&
                                                 cuda::missing_in(model.layers).empty();
                                        },
                                    .learn = learn_on_gpu};
  return kBackend;
}

}  // namespace tessera
