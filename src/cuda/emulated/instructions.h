// The instructions of instructions.cuh, emulated. Included by it alone.
#pragma once

#include <cstdint>

#include "cuda/emulated/block.h"

namespace tessera::cuda {

template <typename T = float>
T* shared_memory() {
  return reinterpret_cast<T*>(emulated::block_memory());
}
// From the beginning of the block's memory.
inline std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(at) - emulated::block_memory());
}

void mma(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void mma_halves(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);

void load_blocks(std::uint32_t address, std::uint32_t (&to)[4]);
void load_turned_blocks(std::uint32_t address, std::uint32_t (&to)[4]);

inline void copy16(float* to, const float* from, bool there) {
  emulated::begin_copy({to, from, 16, there});
}
inline void copy4(float* to, const float* from, bool there) {
  emulated::begin_copy({to, from, 4, there});
}
inline void end_group() {
  emulated::end_copies();
}
template <int kGroups>
void wait_for_all_but() {
  emulated::wait_for_copies(kGroups);
}

inline void stay_here(float&) {}

inline void meet_cluster() {
  emulated::meet_cluster();
}
inline float* of_block(float* shared, int block) {
  return reinterpret_cast<float*>(emulated::block_memory(block) + shared_address(shared));
}

}  // namespace tessera::cuda
