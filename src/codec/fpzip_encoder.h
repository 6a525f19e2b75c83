// The writing half of fpzip, by libfpzip: what it reads is ours, so it may be trusted with it. The
// reading half is fpzip_decoder.h, because libfpzip's own reader takes no length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/random.h"
#include "codec/fpzip_decoder.h"

namespace tessera {

std::size_t fpzip_bound(std::size_t count);
std::uint64_t fpzip_values_max(std::size_t bytes);
// Lossless; nx = values.size(), ny = nz = nf = 1, with fpzip's own header.
void encode_fpzip(std::span<const float> values, const Random&, Bytes& out);

}  // namespace tessera
