#include "cuda/backend.h"

#include <fmt/format.h>

#include "cuda/layer.h"
#include "cuda/runtime.h"
#include "cuda/trainer.h"

namespace tessera {
namespace {

void learn_on_gpu(const Model& model, const LearningOptions& options, Learning& learning) {
  require_images_to_augment(options.training.augment, model.task);
  cuda::use_gpu(options.device.index);
  learning.trainer = cuda::make_trainer(stacked_trainer_parts(model, options, learning));
  learning.evaluator = cuda::make_evaluator(stacked_evaluator_parts(model, options, learning));
  learning.description =
      describe(model.name, model.dimension(),
               fmt::format("stacked on the GPU, {}", to_string(options.device.precision)));
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
