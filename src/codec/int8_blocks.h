// The arithmetic of int8.h over all blocks of a message, for every instruction set: plain loops
// that the compiler makes the most of for each. The plain versions are the same loops for any CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera {

// The largest scale whose 127-fold is still finite.
inline constexpr float kInt8ScaleMax = 0x1.020406p+121f;

// Value number i of the message rounds by output number i of splitmix64(seed). `scales` has room
// for a float per block, anywhere; `wholes` for a byte per value.
void round_blocks(std::span<const float> values, std::uint64_t seed, std::byte* scales,
                  std::byte* wholes);
void restore_blocks(const std::byte* scales, const std::byte* wholes, std::span<float> values);

namespace plain {
void round_blocks(std::span<const float> values, std::uint64_t seed, std::byte* scales,
                  std::byte* wholes);
void restore_blocks(const std::byte* scales, const std::byte* wholes, std::span<float> values);
}  // namespace plain

}  // namespace tessera
