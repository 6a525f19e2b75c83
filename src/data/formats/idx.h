// IDX, the format of MNIST and its descendants (Fashion-MNIST, EMNIST, QMNIST): a magic number that
// holds the type and the number of dimensions, the extents, big-endian, and the values, row by row.
// Files may be gzipped.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

struct IdxHeader {
  std::vector<std::uint32_t> extents{};
  std::uint64_t file_bytes = 0;  // How long the whole file must be.
};

// Values are unsigned bytes in all these sets; other types are refused.
Result<IdxHeader> parse_idx_header(ByteSpan bytes, unsigned dimensions);

struct IdxArray {
  std::vector<std::uint32_t> extents{};
  std::vector<std::uint8_t> values{};
};

// `file` is the whole file, gzipped or plain. Nothing is allocated for a header's claim that the
// file does not back, and a gzipped one unpacks to 2 GiB at most.
Result<IdxArray> parse_idx(ByteSpan file, unsigned dimensions);

}  // namespace tessera
