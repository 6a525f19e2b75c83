// Models as TorchScript archives: torch.jit.load (and torch.load, which recognises one; PyTorch 2.6
// and later want weights_only=False) gives a module that predicts, and its state_dict() has
// PyTorch's names and shapes, so load_state_dict() takes it into the same model written in Python.
#pragma once

#include <memory>
#include <string>

#include "learn/export.h"
#include "learn/model.h"

namespace tessera {

std::unique_ptr<Exporter> make_script_exporter(const Model& model);
// For a user's module, read from its own file.
std::unique_ptr<Exporter> make_script_exporter(const std::string& file);

}  // namespace tessera
