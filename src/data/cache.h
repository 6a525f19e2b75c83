// Decoded sets are kept in a folder of files, which every process on the machine maps instead of
// decoding its own copy: a second run begins sooner, and the ranks of one simulation hold their
// data once. A file is remade when a source changed its size or its time, when one came or went,
// and when the file itself is not as it was written.
#pragma once

#include <cstddef>
#include <filesystem>

#include "base/result.h"
#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

struct DataCache {
  std::filesystem::path folder{};  // Empty: nothing is kept.
  // Of source files. Smaller sets are decoded faster than a file of theirs is worth.
  std::size_t bytes_min = 1 << 20;
};

// $TESSERA_CACHE, else tessera/ in $XDG_CACHE_HOME or in ~/.cache; TESSERA_CACHE=off is none.
DataCache users_cache();

// Of processes that ask for one set at the same time one decodes, and the others wait for its file.
Result<DecodedData> decode_once(const DataCache& cache, const Spec& spec, const DataSource& source);

}  // namespace tessera
