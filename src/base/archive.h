// Vectors in and out of a checkpoint.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace tessera {

inline void save_vector(std::span<const float> values, Bytes& out) {
  ByteWriter writer(out);
  writer.put<std::uint64_t>(values.size());
  writer.put_bytes(bytes_of(values));
}

// Restores a vector whose length is already known; a checkpoint of another length is not ours.
inline Result<void> load_vector(ByteReader& in, std::span<float> values) {
  const auto size = in.get<std::uint64_t>();
  if (size != values.size())
    return Error{"checkpoint", "a saved vector has another length than this run's"};
  const ByteSpan bytes = in.get_bytes(values.size_bytes());
  if (in.ran_short()) return Error{"checkpoint", "a saved vector is cut short"};
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return {};
}

}  // namespace tessera
