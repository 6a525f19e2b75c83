// Models out of a run and into Python. Each file is a TorchScript archive: torch.jit.load (and
// torch.load, which recognises one; PyTorch 2.6 and later want weights_only=False) gives a module
// that predicts, and its state_dict() has PyTorch's names and shapes, so load_state_dict() takes it
// into the same model written in Python.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "learn/model.h"

namespace tessera {

class Exporter {
 public:
  virtual ~Exporter() = default;
  // Written beside its place and renamed into it.
  virtual Result<void> save(std::span<const float> flat, const std::filesystem::path& file) = 0;
};

std::unique_ptr<Exporter> make_exporter(const Model& model);
// For a user's module, read from its own file.
std::unique_ptr<Exporter> make_script_exporter(const std::string& file);

// The mean of several models, summed in double precision in the order given.
Vector average_models(std::span<const std::span<const float>> models);

// DIR/node_0.pt, DIR/node_1.pt, ... and DIR/average.pt.
Result<void> export_models(Exporter& exporter, std::span<const std::span<const float>> models,
                           const std::filesystem::path& folder);

}  // namespace tessera
