// Words of the GPU's own that C++ has none for: products of tiles on the tensor cores, blocks of
// halves out of shared memory, copies that run beside the computing, the blocks of a cluster. Each
// is an instruction, for all lanes of a warp where nothing else is said. What reads or writes
// memory says so to the compiler ("memory"), which keeps its own reads and writes on their side of
// it. Where the GPU is emulated, emulated/instructions.h has the same words.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#ifdef TESSERA_CUDA_EMULATED
#include "cuda/emulated/instructions.h"
#else

namespace tessera::cuda {

// The shared memory that a block was started with.
template <typename T = float>
__device__ inline T* shared_memory() {
  extern __shared__ float4 block_memory[];
  return reinterpret_cast<T*>(block_memory);
}
__device__ inline std::uint32_t shared_address(const void* at) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}

// sums += a b for 16x8 sums and eight terms, numbers as TF32 (multiply.cuh).
__device__ inline void mma(float (&sums)[4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// The same for 16 terms, two halves to a register (pairs.cuh).
__device__ inline void mma_halves(float (&sums)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                  std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8x8 blocks of halves from shared memory, each lane with the address of a row: of block l / 8
// row l % 8. A lane gets row g, columns 2 t and 2 t + 1 of each; turned, column g and those rows.
__device__ inline void load_blocks(std::uint32_t address, std::uint32_t (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_turned_blocks(std::uint32_t address, std::uint32_t (&to)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// A thread's own copies to shared memory, which run beside the computing until it waits for them;
// what is not `there` becomes zeros.
__device__ inline void copy16(float* to, const float* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
}
__device__ inline void copy4(float* to, const float* from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(there ? 4 : 0)
               : "memory");
}
__device__ inline void end_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int kGroups>
__device__ inline void wait_for_all_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

// What is computed from x is computed anew after this, again and again in a loop, rather than once
// before it and kept in registers.
__device__ inline void stay_here(float& x) {
  asm volatile("" : "+f"(x));
}

// A barrier for all threads of a cluster, where the GPU has them.
__device__ inline void meet_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
#endif
}
// The same place in the shared memory of another block of the cluster.
__device__ inline float* of_block(float* shared, int block) {
#if __CUDA_ARCH__ >= 900
  std::uint64_t there = 0;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(block));
  return reinterpret_cast<float*>(there);
#else
  return shared;
#endif
}

}  // namespace tessera::cuda

#endif
