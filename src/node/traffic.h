// Messages counted with their bytes, of simulated nodes and live ones alike.
#pragma once

#include <cstdint>

#include "base/archive.h"

namespace tessera {

struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t metadata_bytes() const { return bytes - value_bytes; }

  void fields(Archive& archive) { archive(messages, bytes, value_bytes); }
};

}  // namespace tessera
