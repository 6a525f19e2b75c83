#include "codec/int8_blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/int8_blocks.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include "codec/int8_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

void RoundBlocks(const float* values, std::size_t count, std::uint64_t seed, std::byte* scales,
                 std::byte* wholes) {
  int8_loops::round_blocks({values, count}, seed, scales, wholes);
}

void RestoreBlocks(const std::byte* scales, const std::byte* wholes, float* values,
                   std::size_t count) {
  int8_loops::restore_blocks(scales, wholes, {values, count});
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(RoundBlocks);
HWY_EXPORT(RestoreBlocks);

void round_blocks(std::span<const float> values, std::uint64_t seed, std::byte* scales,
                  std::byte* wholes) {
  HWY_DYNAMIC_DISPATCH(RoundBlocks)(values.data(), values.size(), seed, scales, wholes);
}

void restore_blocks(const std::byte* scales, const std::byte* wholes, std::span<float> values) {
  HWY_DYNAMIC_DISPATCH(RestoreBlocks)(scales, wholes, values.data(), values.size());
}

void plain::round_blocks(std::span<const float> values, std::uint64_t seed, std::byte* scales,
                         std::byte* wholes) {
  int8_loops::round_blocks(values, seed, scales, wholes);
}

void plain::restore_blocks(const std::byte* scales, const std::byte* wholes,
                           std::span<float> values) {
  int8_loops::restore_blocks(scales, wholes, values);
}

}  // namespace tessera
#endif  // HWY_ONCE
