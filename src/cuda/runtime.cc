#include "cuda/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tessera::cuda {

void require(cudaError_t outcome, std::string_view what) {
  if (outcome == cudaSuccess) return;
  if (outcome == cudaErrorMemoryAllocation)
    throw std::runtime_error(fmt::format(
        "device: out of GPU memory at {}: take fewer nodes at a time, as in device=cuda:chunk=16, "
        "or less memory, as in device=cuda:memory=8GiB",
        what));
  throw std::runtime_error(fmt::format("device: the GPU failed at {}: {} ({})", what,
                                       cudaGetErrorString(outcome), cudaGetErrorName(outcome)));
}

void use_gpu(int index) {
  int count = 0;
  const cudaError_t outcome = cudaGetDeviceCount(&count);
  if (outcome == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    // Without any driver its version is 0.
    if (driver > 0)
      throw std::invalid_argument(fmt::format(
          "device: the NVIDIA driver knows CUDA {}.{} and this program needs {}.{}: install a "
          "newer "
          "one, or use device=cpu",
          driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10));
  }
  const bool none = outcome == cudaErrorInsufficientDriver || outcome == cudaErrorNoDevice;
  if (none || (outcome == cudaSuccess && count == 0))
    throw std::invalid_argument(
        "device: cuda is not available: there is no NVIDIA GPU or no driver; use device=cpu");
  require(outcome, "looking for it");
  if (index >= count)
    throw std::invalid_argument(
        fmt::format("device: there is no GPU {}: {} found, counted from 0", index, count));
  require(cudaSetDevice(index), fmt::format("opening GPU {}", index));
}

GpuMemory gpu_memory() {
  std::size_t left = 0, all = 0;
  require(cudaMemGetInfo(&left, &all), "asking for its memory");
  return {left, all};
}

void* allocate_bytes(Where where, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  require(where == Where::kDevice ? cudaMalloc(&memory, bytes) : cudaMallocHost(&memory, bytes),
          fmt::format("allocating {:.2f} GiB{}", static_cast<double>(bytes) / 0x1p30,
                      where == Where::kDevice ? "" : " of pinned memory on the host"));
  return memory;
}

void free_bytes(Where where, void* memory) noexcept {
  if (where == Where::kDevice)
    cudaFree(memory);
  else
    cudaFreeHost(memory);
}

Stream::Stream() {
  require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}

Stream::Stream(int rank) {
  int last = 0, first = 0;  // The first has the lowest number.
  require(cudaDeviceGetStreamPriorityRange(&last, &first), "asking for priorities");
  require(
      cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, std::min(first + rank, last)),
      "making a stream");
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
}

void Stream::upload(void* device, const void* host, std::size_t bytes) const {
  require(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_), "an upload");
}

void Stream::download(void* host, const void* device, std::size_t bytes) const {
  require(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_), "a download");
}

void Stream::clear(void* device, std::size_t bytes) const {
  require(cudaMemsetAsync(device, 0, bytes, stream_), "clearing memory");
}

void Stream::wait() const {
  require(cudaStreamSynchronize(stream_), "waiting for it");
}

Milestone::Milestone() {
  require(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
}

Milestone::~Milestone() {
  cudaEventDestroy(event_);
}

void Milestone::put(const Stream& stream) const {
  require(cudaEventRecord(event_, stream.get()), "recording an event");
}

void Milestone::wait() const {
  require(cudaEventSynchronize(event_), "waiting for it");
}

}  // namespace tessera::cuda
