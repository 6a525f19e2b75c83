// Any bytes as an IDX file, plain or gzipped.
#include "data/formats/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tessera::ByteSpan bytes = std::as_bytes(std::span(data, size));
  for (const unsigned dimensions : {1u, 3u}) (void)tessera::parse_idx(bytes, dimensions).ok();
  return 0;
}
