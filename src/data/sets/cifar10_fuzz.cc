// Any bytes as a CIFAR-10 file of two records; and behind enough zeros to be as long as one, which
// would otherwise stop nearly everything.
#include "data/sets/cifar10.h"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const ByteSpan bytes = std::as_bytes(std::span(data, size));
  ByteHalf half;
  (void)parse_cifar10(bytes, 2, half).ok();
  constexpr std::size_t kRecord = 1 + 3 * 32 * 32;
  if (size > kRecord) return 0;
  Bytes file(2 * kRecord);
  std::copy(bytes.begin(), bytes.end(), file.begin() + kRecord);
  ByteHalf padded;
  (void)parse_cifar10(file, 2, padded).ok();
  return 0;
}
