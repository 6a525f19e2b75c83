// A launch on the CPU: block after block, of each block all threads, taking turns. A thread runs
// until it waits for others (at a barrier, or for the lanes of its warp) and then the next goes on.
//
// Which is next, TESSERA_EMULATED_ORDER says: `ascending` (by default), `descending`, or a number,
// the seed of an order that is drawn anew at every turn. A kernel without races gives the same bits
// in all of them. Copies beside the computing are made as late as they may be when ascending, at
// once when descending, and either way when drawn.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tessera::cuda::emulated {

struct Grid {
  dim3 blocks{}, threads{};
  unsigned cluster = 1;  // Blocks that run together and see one another's memory.
  std::size_t shared_bytes = 0;
};
void run(const Grid& grid, const std::function<void()>& thread);

// Work in streams is done when it is asked for, or no sooner than somebody waits for it.
bool streams_are_lazy();

// Of the thread that is running: its block's memory, or that of another block of the cluster.
std::byte* block_memory();
std::byte* block_memory(int block);
void meet_cluster();
// `count` bytes that all lie in the block's memory, at a multiple of that many.
const std::byte* shared_bytes(std::uint32_t address, std::size_t count);

struct Copy {
  float* to = nullptr;
  const float* from = nullptr;
  std::size_t bytes = 0;
  bool there = false;
};
void begin_copy(const Copy& copy);
void end_copies();
void wait_for_copies(int groups_left);

// What lanes of a warp do together: the last to come does it for all. own[lane] is what each of
// them brought, with room for what it gets; null for lanes that do not take part.
using Together = void (*)(void* const (&own)[32]);
void together(unsigned mask, Together work, void* own);

}  // namespace tessera::cuda::emulated
