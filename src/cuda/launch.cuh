// Starts a kernel, with as much shared memory as it asks for, and throws where it cannot start.
#pragma once

#include "cuda/runtime.h"

namespace tessera::cuda {

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, int threads, std::size_t shared_bytes,
            cudaStream_t stream, const Arguments&... arguments) {
  // More than this is given only to kernels that ask.
  constexpr std::size_t kUnasked = 48 * 1024;
  if (shared_bytes > kUnasked) allow_shared(reinterpret_cast<const void*>(kernel), shared_bytes);
#ifdef TESSERA_CUDA_EMULATED
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  require(cudaLaunchKernelEx(&config, kernel, arguments...), "starting a kernel");
#else
  kernel<<<grid, threads, shared_bytes, stream>>>(arguments...);
  require(cudaGetLastError(), "starting a kernel");
#endif
}

inline unsigned blocks_for(std::size_t items, int threads) {
  return static_cast<unsigned>((items + threads - 1) / threads);
}

}  // namespace tessera::cuda
