// Gzip in memory. The size of what comes out is bounded by the caller and memory grows only with
// what really comes out, so a small file that unpacks to terabytes costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

// What one packed file may unpack to: a few megabytes of zeros unpack to gigabytes. The largest of
// the sets that are read gzipped, EMNIST, is of 600 MB.
inline constexpr std::uint64_t kUnpackedBytesMax = 2ull << 30;

bool is_gzip(ByteSpan bytes);

// Everything `packed` holds, or an error when that is more than `bytes_max` bytes.
Result<Bytes> gunzip(ByteSpan packed, std::size_t bytes_max);

// The first `count` bytes, or as many as there are: enough to read a header.
Result<Bytes> gunzip_first(ByteSpan packed, std::size_t count);

// The same without gzip's header and checksum, as archives have it.
Result<Bytes> inflate_deflated(ByteSpan packed, std::size_t bytes_max);

}  // namespace tessera
