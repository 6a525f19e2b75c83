// The calls of cudart that runtime.cc makes, on memory of the host. A stream's work is done when it
// is asked for, or where streams are lazy (block.h) when somebody waits for it: then host code that
// reads too early reads what was there before.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "cuda/emulated/block.h"

namespace {

using tessera::Stopwatch;

constexpr std::size_t kMemory = std::size_t{4} << 30, kFilled = std::size_t{1} << 26;
constexpr std::size_t kShared = 227 * 1024, kSharedUnasked = 48 * 1024;
constexpr unsigned kThreadsMax = 1024, kClusterMax = 8, kAcrossMax = 65535;  // Blocks in y and z.
constexpr int kNever = 0xff;  // Bytes that nobody has written.

// Of a stream, once its work has come so far.
struct Moment {
  std::mutex mutex{};
  bool is_over = false;
  double at_s = 0;
};
double seconds_now() {
  static const Stopwatch since;
  return since.seconds();
}

// What there is of the one GPU.
struct Device {
  std::mutex mutex{};
  std::map<void*, std::size_t> memory{};
  std::size_t taken = 0;
  std::map<cudaStream_t, std::shared_ptr<EmulatedStream>> streams{};
  std::map<const void*, std::size_t> shared_allowed{};
};
Device& device() {
  static Device the_one;
  return the_one;
}

}  // namespace

struct EmulatedStream {
  std::mutex mutex{};  // Of the list.
  std::recursive_mutex working{};
  std::deque<std::function<void()>> work{};

  void add(std::function<void()> piece) {
    const std::lock_guard lock(mutex);
    work.push_back(std::move(piece));
  }
  bool take(std::function<void()>& piece) {
    const std::lock_guard lock(mutex);
    if (work.empty()) return false;
    piece = std::move(work.front());
    work.pop_front();
    return true;
  }
  void finish() {
    const std::lock_guard lock(working);
    for (std::function<void()> piece; take(piece);) piece();
  }
};

struct EmulatedGraph {
  std::vector<std::function<void()>> work{};
};

struct EmulatedEvent {
  std::shared_ptr<Moment> moment = std::make_shared<Moment>();
  cudaStream_t stream = nullptr;
};

namespace {

// What this thread takes down, and of which stream.
thread_local EmulatedGraph* taken_down = nullptr;
thread_local cudaStream_t taken_from = nullptr;
// What this thread was told last of an error, until it asks.
thread_local cudaError_t last_error = cudaSuccess;

void in_stream(cudaStream_t stream, std::function<void()> piece) {
  if (stream == nullptr) return piece();
  if (taken_down != nullptr && stream == taken_from)
    return taken_down->work.push_back(std::move(piece));
  stream->add(std::move(piece));
  if (!tessera::cuda::emulated::streams_are_lazy()) stream->finish();
}

void finish_all() {
  std::map<cudaStream_t, std::shared_ptr<EmulatedStream>> streams;
  {
    const std::lock_guard lock(device().mutex);
    streams = device().streams;
  }
  for (const auto& each : streams) each.second->finish();
}

cudaError_t allocate(void** memory, std::size_t bytes) {
  if (taken_down != nullptr) return last_error = cudaErrorStreamCaptureUnsupported;
  {
    const std::lock_guard lock(device().mutex);
    if (bytes > kMemory - device().taken) return cudaErrorMemoryAllocation;
    device().taken += bytes;
  }
  *memory = std::malloc(bytes);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*memory, kNever, std::min(bytes, kFilled));
  const std::lock_guard lock(device().mutex);
  device().memory[*memory] = bytes;
  return cudaSuccess;
}

cudaError_t give_back(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  finish_all();
  const std::lock_guard lock(device().mutex);
  const auto found = device().memory.find(memory);
  if (found == device().memory.end()) return cudaErrorInvalidValue;
  device().taken -= found->second;
  device().memory.erase(found);
  std::free(memory);
  return cudaSuccess;
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t) {
  return "an error of the emulated GPU";
}
cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* index) {
  *index = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int index) {
  return index == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 9;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return allocate(memory, bytes);
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return allocate(memory, bytes);
}
cudaError_t cudaFree(void* memory) {
  return give_back(memory);
}
cudaError_t cudaFreeHost(void* memory) {
  return give_back(memory);
}
cudaError_t cudaMemGetInfo(std::size_t* left, std::size_t* all) {
  const std::lock_guard lock(device().mutex);
  *left = kMemory - device().taken;
  *all = kMemory;
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) {
  std::memset(to, byte, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  in_stream(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t stream) {
  in_stream(stream, [=] { std::memset(to, byte, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const auto made = std::make_shared<EmulatedStream>();
  *stream = made.get();
  const std::lock_guard lock(device().mutex);
  device().streams[*stream] = made;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  stream->finish();
  const std::lock_guard lock(device().mutex);
  device().streams.erase(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (taken_down != nullptr) return last_error = cudaErrorStreamCaptureUnsupported;
  if (stream) stream->finish();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr || taken_down != nullptr) return cudaErrorInvalidValue;
  taken_down = new EmulatedGraph;
  taken_from = stream;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (taken_down == nullptr || stream != taken_from) return cudaErrorInvalidValue;
  *graph = std::exchange(taken_down, nullptr);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = new EmulatedGraph(*graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  for (const std::function<void()>& piece : graph->work) in_stream(stream, piece);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return cudaGraphDestroy(graph);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new EmulatedEvent;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->moment = std::make_shared<Moment>();
  event->stream = stream;
  in_stream(stream, [moment = event->moment] {
    const std::lock_guard lock(moment->mutex);
    moment->at_s = seconds_now();
    moment->is_over = true;
  });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return cudaStreamSynchronize(event->stream);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  const std::scoped_lock lock(begin->moment->mutex, end->moment->mutex);
  if (!begin->moment->is_over || !end->moment->is_over) return cudaErrorNotReady;
  *ms = static_cast<float>((end->moment->at_s - begin->moment->at_s) * 1e3);
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  attributes->ptxVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int value) {
  if (static_cast<std::size_t>(value) > kShared) return cudaErrorInvalidValue;
  const std::lock_guard lock(device().mutex);
  device().shared_allowed[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

cudaError_t emulated_launch(const cudaLaunchConfig_t& config, const void* kernel,
                            std::function<void()> thread) {
  tessera::cuda::emulated::Grid grid{.blocks = config.gridDim,
                                     .threads = config.blockDim,
                                     .shared_bytes = config.dynamicSmemBytes};
  if (config.numAttrs > 0) grid.cluster = config.attrs->val.clusterDim.x;
  {
    const std::lock_guard lock(device().mutex);
    const std::size_t allowed = std::max(kSharedUnasked, device().shared_allowed[kernel]);
    const unsigned blocks = grid.blocks.x * grid.blocks.y * grid.blocks.z;
    if (grid.shared_bytes > allowed || grid.threads.x == 0 || grid.threads.x > kThreadsMax ||
        blocks == 0 || std::max(grid.blocks.y, grid.blocks.z) > kAcrossMax ||
        grid.cluster > kClusterMax || grid.blocks.x % grid.cluster != 0)
      return cudaErrorInvalidValue;
  }
  in_stream(config.stream,
            [grid, thread = std::move(thread)] { tessera::cuda::emulated::run(grid, thread); });
  return cudaSuccess;
}
