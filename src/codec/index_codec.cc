#include "codec/index_codec.h"

#include <array>
#include <cstring>

#include "codec/bitmap.h"
#include "codec/gamma.h"
#include "codec/range_indices.h"
#include "codec/raw32.h"
#include "codec/rice.h"
#include "math/select_passes.h"

namespace tessera {
namespace {

// Wire ids are in messages and files: append, never renumber.
constexpr std::array kIndexCodecs{
    IndexCodec{.wire_id = 1,
               .name = "raw32",
               .summary = "four bytes per index",
               .size = raw32_size,
               .bound = raw32_bound,
               .indices_max = raw32_indices_max,
               .encode = encode_raw32,
               .decode = decode_raw32},
    IndexCodec{.wire_id = 2,
               .name = "gamma",
               .summary = "Elias gamma code of the gaps; best where indices cluster",
               .size = gamma_size,
               .bound = gamma_bound,
               .indices_max = gamma_indices_max,
               .encode = encode_gamma,
               .decode = decode_gamma},
    IndexCodec{.wire_id = 3,
               .name = "rice",
               .summary = "Rice code of the gaps, best parameter; best where indices are random",
               .size = rice_size,
               .bound = rice_bound,
               .indices_max = rice_indices_max,
               .encode = encode_rice,
               .decode = decode_rice},
    IndexCodec{.wire_id = 4,
               .name = "bitmap",
               .summary = "one bit per coordinate; best where more than a third is sent",
               .size = bitmap_size,
               .bound = bitmap_bound,
               .indices_max = bitmap_indices_max,
               .encode = encode_bitmap,
               .decode = decode_bitmap},
    IndexCodec{.wire_id = 5,
               .name = "range",
               .summary = "adaptive range code of the gaps; smallest in most messages, and slow",
               .size = range_size,
               .bound = range_bound,
               .indices_max = range_indices_max,
               .encode = encode_range,
               .decode = decode_range},
};

}  // namespace

std::span<const IndexCodec> index_codecs() {
  return kIndexCodecs;
}

const IndexCodec* find_index_codec(std::uint8_t wire_id) {
  for (const IndexCodec& codec : kIndexCodecs)
    if (codec.wire_id == wire_id) return &codec;
  return nullptr;
}

bool is_valid(const IndexSet& set) {
  if (set.indices.empty()) return true;
  return increase_strictly(set.indices) && set.indices.back() < set.dimension;
}

}  // namespace tessera
