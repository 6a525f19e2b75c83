// Gzip in memory. The size of what comes out is bounded by the caller and memory grows only with
// what really comes out, so a small file that unpacks to terabytes costs nothing.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

bool is_gzip(ByteSpan bytes);

// Everything `packed` holds, or an error when that is more than `bytes_max` bytes.
Result<Bytes> gunzip(ByteSpan packed, std::size_t bytes_max);

// The first `count` bytes, or as many as there are: enough to read a header.
Result<Bytes> gunzip_first(ByteSpan packed, std::size_t count);

}  // namespace tessera
