#include "cuda/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

namespace tessera::cuda {
namespace {

// PTX in this program is for these and later.
constexpr int kOldestMajor = 8;

std::string name_of_current() {
  int index = 0;
  return cudaGetDevice(&index) == cudaSuccess ? fmt::format("GPU {}", index) : "the GPU";
}

// Of the driver and of what this program was built with: 12040 is 12.4.
std::string show_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

void require(cudaError_t outcome, std::string_view what) {
  if (outcome == cudaSuccess) return;
  if (outcome == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // The GPU is well, and the next kernel is not to hear of it.
    throw OutOfMemory(fmt::format(
        "device: out of GPU memory at {}: take fewer nodes at a time, as in device=cuda:chunk=16, "
        "or less memory, as in device=cuda:memory=8GiB",
        what));
  }
  throw DeviceFailed(fmt::format("device: {} failed at {}: {} ({})", name_of_current(), what,
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
          "device: the NVIDIA driver knows CUDA {} and this program needs {}: install a newer one, "
          "or use device=cpu",
          show_version(driver), show_version(CUDART_VERSION)));
  }
  const bool none = outcome == cudaErrorInsufficientDriver || outcome == cudaErrorNoDevice;
  if (none || (outcome == cudaSuccess && count == 0))
    throw std::invalid_argument(
        "device: cuda is not available: there is no NVIDIA GPU or no driver; use device=cpu");
  require(outcome, "looking for it");
  if (index >= count)
    throw std::invalid_argument(fmt::format(
        "device: there is no GPU {}: {} found, counted from 0; use {}", index, count,
        count == 1 ? "device=cuda:0" : fmt::format("one or more of device=cuda:0-{}", count - 1)));
  int major = 0;
  require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index),
          fmt::format("asking what GPU {} is", index));
  if (major < kOldestMajor)
    throw std::invalid_argument(
        fmt::format("device: GPU {} has compute capability {} and our kernels need {}: use a GPU "
                    "of Ampere or later, or device=cpu",
                    index, major, kOldestMajor));
  require(cudaSetDevice(index), fmt::format("opening GPU {}", index));
}

GpuMemory gpu_memory() {
  std::size_t left = 0, all = 0;
  require(cudaMemGetInfo(&left, &all), "asking for its memory");
  return {left, all};
}

void allow_shared(const void* kernel, std::size_t bytes) {
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, std::size_t> allowed;
  int index = 0;
  require(cudaGetDevice(&index), "a kernel's shared memory");
  const std::lock_guard lock(mutex);
  std::size_t& most = allowed[{index, kernel}];
  if (bytes <= most) return;
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(bytes)),
          "a kernel's shared memory");
  most = bytes;
}

void* allocate_bytes(Where where, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const auto gib = static_cast<double>(bytes) / 0x1p30;
  if (where == Where::kDevice) {
    require(cudaMalloc(&memory, bytes), fmt::format("allocating {:.2f} GiB", gib));
  } else if (cudaMallocHost(&memory, bytes) != cudaSuccess) {
    cudaGetLastError();
    throw DeviceFailed(fmt::format(
        "device: the host has no {:.2f} GiB of memory that the GPU may copy from (pinned memory): "
        "take fewer nodes at a time, as in device=cuda:chunk=16",
        gib));
  }
  return memory;
}

// A copy of a few bytes from ordinary memory may return before it is done, and streams that do not
// wait for the first one would read what was there before.
void upload_now(void* device, const void* host, std::size_t bytes) {
  require(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "an upload");
  require(cudaStreamSynchronize(nullptr), "an upload");
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

Event::Event() {
  require(cudaEventCreate(&event_), "making an event");
}

Event::~Event() {
  cudaEventDestroy(event_);
}

void Event::record(const Stream& stream) const {
  require(cudaEventRecord(event_, stream.get()), "timing");
}

double Event::seconds_since(const Event& other) const {
  float ms = 0;
  require(cudaEventElapsedTime(&ms, other.event_, event_), "timing");
  return double{ms} * 1e-3;
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
