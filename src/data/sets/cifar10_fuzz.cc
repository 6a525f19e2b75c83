// Any bytes as a CIFAR-10 file of two records.
#include "data/sets/cifar10.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::ByteHalf half;
  (void)tessera::parse_cifar10(std::as_bytes(std::span(data, size)), 2, half).ok();
  return 0;
}
