// Models as files of named tensors (tensor_files.h), with the names and shapes of PyTorch's
// state_dict, so that load_state_dict() takes them into the same model written in Python.
#pragma once

#include <memory>

#include "learn/export.h"
#include "learn/model.h"

namespace tessera {

std::unique_ptr<Exporter> make_safetensors_exporter(const Model& model);
std::unique_ptr<Exporter> make_npz_exporter(const Model& model);

}  // namespace tessera
