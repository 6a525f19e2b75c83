// Named tensors as whole files of two formats that Python opens without us:
//
//   safetensors  8 bytes with the length of a JSON header, the header, then all values in a row;
//                safetensors.torch.load_file() gives a state_dict
//   npz          a ZIP archive with a NumPy array per tensor, not compressed; numpy.load()
//
// Both hold float32, little-endian, row by row. The same tensors give the same bytes: no time and
// no version is written.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

// One piece of a model, seen, not owned.
struct NamedTensor {
  std::string_view name{};  // As in PyTorch's state_dict: "conv1.weight".
  std::span<const std::int64_t> shape{};
  std::span<const float> values{};
};

Bytes to_safetensors(std::span<const NamedTensor> tensors);

// Refuses what the plain form of ZIP cannot count: more than 4 GiB, or more than 65,534 tensors.
Result<Bytes> to_npz(std::span<const NamedTensor> tensors);

}  // namespace tessera
