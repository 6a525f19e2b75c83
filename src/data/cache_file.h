// The file of a decoded set:
//
//   8 bytes    "tessdata"
//   4          version
//   4          length of the head
//   8          XXH3 of the head
//   the head   the sources' digest, the name, task, scale and names of classes, and the length and
//              XXH3 of each column
//   columns    bytes, floats, targets and users of the training half, then of the test half, each
//              beginning at a multiple of 64 bytes
//
// What is read is believed only where every checksum, length and number holds.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "data/decoded.h"

namespace tessera {

inline constexpr std::uint32_t kCacheVersion = 1;

// `sources` is a digest of what the set was decoded from.
Result<void> write_cache_file(const std::filesystem::path& path, std::uint64_t sources,
                              const DecodedData& data);

// Mapped, not copied. Kinds of errors: "missing", "stale" for other sources, and others for a file
// that cannot be used.
Result<DecodedData> read_cache_file(const std::filesystem::path& path, std::uint64_t sources);

}  // namespace tessera
