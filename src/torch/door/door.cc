#include "torch/door/door.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "torch/door/blas_kernel.h"

namespace tessera {
namespace {

[[noreturn]] void refuse(std::string_view why) {
  throw std::invalid_argument(fmt::format(
      "this needs LibTorch, and {} cannot be used: {}. Install LibTorch (scripts/setup.sh torch) "
      "and build the preset 'release' again, or use device=cpu and a model that `tessera list "
      "models` shows",
      TESSERA_TORCH_LIBRARY, why));
}

const Backend* open_library() {
  choose_blas_kernel();
  // Names of its own stay its own: the program's static libraries are in it once more.
  void* const library = ::dlopen(TESSERA_TORCH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) refuse(::dlerror());
  auto* const open = reinterpret_cast<OpenTorchLibrary*>(::dlsym(library, kOpenTorchLibrary));
  if (!open) refuse(::dlerror());
  const TorchLibrary opened = open();
  if (opened.version != std::string_view(TESSERA_VERSION))
    refuse(fmt::format("it is of version {}, the program of {}", opened.version, TESSERA_VERSION));
  return opened.backend;
}

const Backend& library() {
  static const Backend* const kLibrary = open_library();
  return *kLibrary;
}

// Every run has one of these, and few save by it.
class ExporterOnDemand final : public Exporter {
 public:
  explicit ExporterOnDemand(Model model) : model_(std::move(model)) {}

  std::string_view extension() const override { return kTorchScriptExtension; }
  Result<void> save(std::span<const float> flat, const std::filesystem::path& file) override {
    if (!exporter_) exporter_ = library().exporter(model_);
    return exporter_->save(flat, file);
  }

 private:
  Model model_;
  std::unique_ptr<Exporter> exporter_{};
};

void learn_module(const LearningOptions& options, Learning& learning) {
  std::get<FillIn>(library().models.front().make)(options, learning);
}

}  // namespace

const Backend& torch_on_demand() {
  static constexpr std::array kModels = {torchscript_model(learn_module)};
  static constexpr Backend kBackend{
      .name = "LibTorch",
      .models = kModels,
      .runs = [](const Model&, const DeviceOptions&) { return true; },
      .learn = [](const Model& model, const LearningOptions& options,
                  Learning& learning) { library().learn(model, options, learning); },
      .exporter = [](const Model& model) -> std::unique_ptr<Exporter> {
        return std::make_unique<ExporterOnDemand>(model);
      },
      .bench = [](Bench& bench) { library().bench(bench); }};
  return kBackend;
}

}  // namespace tessera
