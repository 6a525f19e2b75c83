// A GPU as this folder uses it: memory, pinned memory, a stream. What goes wrong on it is said in
// one line, with a remedy where there is one.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "node/device_failed.h"

namespace tessera::cuda {

// Whether there is no GPU, and the CPU plays one (emulated/).
#ifdef TESSERA_CUDA_EMULATED
constexpr bool kEmulated = true;
#else
constexpr bool kEmulated = false;
#endif

struct OutOfMemory : DeviceFailed {
  using DeviceFailed::DeviceFailed;
};
// Throws DeviceFailed, which names what was being done; OutOfMemory where that is why.
void require(cudaError_t outcome, std::string_view what);

// Takes GPU `index` for the calling thread. Throws std::invalid_argument where there is none that
// can be used.
void use_gpu(int index);
struct GpuMemory {
  std::uint64_t free_bytes = 0, all_bytes = 0;
};
GpuMemory gpu_memory();

// Lets a kernel have so much shared memory on the calling thread's GPU. What it may have never
// shrinks: another thread may be about to start it with more.
void allow_shared(const void* kernel, std::size_t bytes);

// Memory on the device, or pinned memory of the host that the device copies from and to by itself.
enum class Where { kDevice, kHost };

void* allocate_bytes(Where where, std::size_t bytes);
void free_bytes(Where where, void* memory) noexcept;

// Done when it returns, for every stream.
void upload_now(void* device, const void* host, std::size_t bytes);

template <typename T, Where kWhere>
class Array {
 public:
  Array() = default;
  explicit Array(std::size_t size)
      : memory_(static_cast<T*>(allocate_bytes(kWhere, size * sizeof(T)))), size_(size) {}
  // Grows, and forgets what was there.
  void fit(std::size_t size) {
    if (size <= size_) return;
    *this = Array();
    *this = Array(size);
  }
  T* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return memory_.get()[i]; }

 private:
  struct Free {
    void operator()(T* memory) const { free_bytes(kWhere, memory); }
  };
  std::unique_ptr<T, Free> memory_;
  std::size_t size_ = 0;
};
template <typename T>
using DeviceArray = Array<T, Where::kDevice>;
template <typename T>
using HostArray = Array<T, Where::kHost>;

class Stream {
 public:
  Stream();
  // One whose work goes before that of streams of higher rank, as far as the GPU tells ranks apart.
  explicit Stream(int rank);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  // All three are done in the order they are asked for; wait() for all so far.
  void upload(void* device, const void* host, std::size_t bytes) const;
  void download(void* host, const void* device, std::size_t bytes) const;
  void clear(void* device, std::size_t bytes) const;
  void wait() const;

 private:
  cudaStream_t stream_ = nullptr;
};

// A moment in a stream's work.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream) const;
  // From another to this one on the same GPU, below zero where this one was before; both are over.
  double seconds_since(const Event& other) const;
  void swap(Event& other) noexcept { std::swap(event_, other.event_); }

 private:
  cudaEvent_t event_ = nullptr;
};

// A place in a stream, for those who wait for what comes before it. Any number of threads may.
class Milestone {
 public:
  Milestone();
  ~Milestone();
  Milestone(const Milestone&) = delete;
  Milestone& operator=(const Milestone&) = delete;

  void put(const Stream& stream) const;
  void wait() const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace tessera::cuda
