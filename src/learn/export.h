// Models out of a run, as files of other programs' formats. An exporter knows one format and one
// model's shape.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace tessera {

class Exporter {
 public:
  virtual ~Exporter() = default;
  virtual std::string_view extension() const = 0;  // "pt"
  // Written beside its place and renamed into it.
  virtual Result<void> save(std::span<const float> flat, const std::filesystem::path& file) = 0;
};

// The mean of several models, summed in double precision in the order given.
Vector average_models(std::span<const std::span<const float>> models);

// DIR/node_0.EXTENSION, DIR/node_1.EXTENSION, ... and DIR/average.EXTENSION.
Result<void> export_models(Exporter& exporter, std::span<const std::span<const float>> models,
                           const std::filesystem::path& folder);

}  // namespace tessera
