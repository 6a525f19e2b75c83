#include "learn/export.h"

#include <fmt/format.h>

#include "base/check.h"

namespace tessera {

Vector average_models(std::span<const std::span<const float>> models) {
  CHECK(!models.empty());
  Vector mean(models.front().size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const auto model : models) sum += double{model[i]};
    mean[i] = static_cast<float>(sum / static_cast<double>(models.size()));
  }
  return mean;
}

Result<void> export_models(Exporter& exporter, std::span<const std::span<const float>> models,
                           const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return Error{"write", fmt::format("cannot create the folder '{}': {}", folder.string(),
                                      failed.message())};
  const auto file = [&](std::string_view stem) {
    return folder / fmt::format("{}.{}", stem, exporter.extension());
  };
  for (std::size_t i = 0; i < models.size(); ++i)
    if (auto saved = exporter.save(models[i], file(fmt::format("node_{}", i))); !saved)
      return saved;
  return exporter.save(average_models(models), file("average"));
}

}  // namespace tessera
