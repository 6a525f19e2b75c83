#include "codec/fpzip_encoder.h"

#include <fpzip.h>

#include <limits>

#include "base/check.h"

namespace tessera {

// A value costs its symbol, whose share of the model is never less than one in 2^16, and at most 31
// bits as they are: 47 bits. The header and the coder's last word take less than 64 bytes.
std::size_t fpzip_bound(std::size_t count) {
  return 64 + 6 * count;
}

std::uint64_t fpzip_values_max(std::size_t bytes) {
  return fpzip_values_bound(bytes);
}

void encode_fpzip(std::span<const float> values, const Random&, Bytes& out) {
  CHECK(values.size() <= std::size_t{std::numeric_limits<int>::max()});
  const std::size_t start = out.size();
  out.resize(start + fpzip_bound(values.size()));
  FPZ* stream = fpzip_write_to_buffer(out.data() + start, out.size() - start);
  CHECK(stream != nullptr);
  stream->type = FPZIP_TYPE_FLOAT;
  stream->prec = 0;
  stream->nx = static_cast<int>(values.size());
  stream->ny = stream->nz = stream->nf = 1;
  CHECK(fpzip_write_header(stream) != 0);
  const std::size_t written = fpzip_write(stream, values.data());
  fpzip_write_close(stream);
  CHECK(written > 0);
  out.resize(start + written);
}

}  // namespace tessera
