#include "cuda/backend.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cuda/layer.h"
#include "cuda/runtime.h"
#include "cuda/several.h"

namespace tessera {
namespace {

void learn_on_gpu(const Model& model, const LearningOptions& options, Learning& learning) {
  require_images_to_augment(options.training.augment, model.task);
  const auto gpus = std::make_shared<const cuda::Gpus>(options.device, options.threads);
  learning.trainer = gpus->trainer(stacked_trainer_parts(model, options, learning));
  learning.evaluator = gpus->evaluator(stacked_evaluator_parts(model, options, learning));
  learning.gpu_use = [gpus] { return gpus->use(); };
  const unsigned count = gpus->use().gpus;
  learning.description =
      describe(model.name, model.dimension(),
               fmt::format("our kernels on {}, {}",
                           cuda::kEmulated ? std::string("a GPU that the CPU emulates, slowly")
                           : count == 1    ? std::string("the GPU")
                                           : fmt::format("{} GPUs", count),
                           to_string(options.device.precision)));
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
