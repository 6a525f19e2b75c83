#include "torch/device_state.h"

#ifdef TESSERA_CUDA
#pragma push_macro("CHECK")
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#pragma pop_macro("CHECK")
#endif

#include <algorithm>
#include <variant>

#include "torch/tensors.h"

namespace tessera {

#ifdef TESSERA_CUDA
namespace {

class CopyTicket final : public DeviceState::Ticket {
 public:
  explicit CopyTicket(const c10::cuda::CUDAStream& stream) { done_.record(stream); }
  void wait() override { done_.synchronize(); }

 private:
  at::cuda::CUDAEvent done_;
};

}  // namespace

// Copies have a stream of their own, so that they run while the kernels of another chunk do.
struct DeviceState::Streams {
  c10::cuda::CUDAStream copies;
};
#else
struct DeviceState::Streams {};
#endif

DeviceState::DeviceState(const DeviceOptions& options)
    : options_(options),
      device_(options.cuda
                  ? torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(options.index))
                  : torch::Device(torch::kCPU)) {
  if (!options.cuda) return;
  at::globalContext().setBenchmarkCuDNN(!options.deterministic);
  at::globalContext().setDeterministicCuDNN(options.deterministic);
#ifdef TESSERA_CUDA
  streams_ = std::make_unique<Streams>(
      Streams{c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device_.index())});
#endif
}

DeviceState::~DeviceState() = default;

ResidentData DeviceState::load(const Dataset& dataset, const Task& task) const {
  const auto size = static_cast<std::int64_t>(dataset.size());
  const auto width = static_cast<std::int64_t>(task.features());
  ResidentData data{torch::empty({size, width}, device_), torch::empty({size}, device_)};
  // In pieces, so that the floats of a large set are never in the host's memory all at once.
  constexpr std::int64_t kPiece = 4096;
  Vector features, targets;
  for (std::int64_t start = 0; start < size; start += kPiece) {
    const std::int64_t count = std::min(kPiece, size - start);
    features.resize(static_cast<std::size_t>(count * width));
    targets.resize(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      targets[static_cast<std::size_t>(i)] = dataset.get(
          static_cast<std::size_t>(start + i),
          std::span(features).subspan(static_cast<std::size_t>(i * width), task.features()));
    data.features.narrow(0, start, count).copy_(view_of(features).view({count, width}));
    data.targets.narrow(0, start, count).copy_(view_of(targets));
  }
  return data;
}

std::uint64_t DeviceState::memory_bytes() const {
  if (options_.memory_bytes > 0) return options_.memory_bytes;
#ifdef TESSERA_CUDA
  if (options_.cuda) return at::cuda::getDeviceProperties(device_.index())->totalGlobalMem / 2;
#endif
  return std::uint64_t{2} << 30;
}

std::size_t DeviceState::chunk_for(const Model& model, std::size_t batch) const {
  if (options_.chunk > 0) return options_.chunk;
  // Parameters, gradient, velocity and the rows they travel in; what a forward pass leaves and
  // about twice that on the way back.
  const std::size_t floats = 6 * model.dimension() + 3 * batch * activations_of(model);
  return std::max<std::size_t>(1, memory_bytes() / (floats * sizeof(float)));
}

torch::Tensor DeviceState::host_tensor(at::IntArrayRef shape, torch::ScalarType type) const {
  return torch::empty(shape, torch::TensorOptions().dtype(type).pinned_memory(options_.cuda));
}

void DeviceState::settle() const {
  if (options_.cuda) torch::cuda::synchronize(device_.index());
}

void DeviceState::upload(const torch::Tensor& host, torch::Tensor& on_device) {
#ifdef TESSERA_CUDA
  if (options_.cuda) {
    at::cuda::CUDAEvent copied;
    {
      const c10::cuda::CUDAStreamGuard guard(streams_->copies);
      on_device.copy_(host, /*non_blocking=*/true);
    }
    copied.record(streams_->copies);
    copied.block(c10::cuda::getCurrentCUDAStream(device_.index()));
    return;
  }
#endif
  on_device.copy_(host);
}

std::unique_ptr<DeviceState::Ticket> DeviceState::download(const torch::Tensor& on_device,
                                                           torch::Tensor& host) {
#ifdef TESSERA_CUDA
  if (options_.cuda) {
    at::cuda::CUDAEvent computed;
    computed.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    computed.block(streams_->copies);
    const c10::cuda::CUDAStreamGuard guard(streams_->copies);
    host.copy_(on_device, /*non_blocking=*/true);
    return std::make_unique<CopyTicket>(streams_->copies);
  }
#endif
  host.copy_(on_device);
  return std::make_unique<Ticket>();
}

namespace {

std::size_t floats_in(const std::vector<std::uint32_t>& shape) {
  std::size_t count = 1;
  for (const std::uint32_t extent : shape) count *= extent;
  return count;
}

std::size_t activations_in(const std::vector<Layer>& layers) {
  std::size_t count = 0;
  for (const Layer& layer : layers) {
    count += floats_in(layer.in);
    if (const auto* const residual = std::get_if<Residual>(&layer.kind))
      count += activations_in(residual->body) + activations_in(residual->shortcut);
    // What goes in is counted; what comes out is the next layer's, but for the gates of an LSTM.
    if (const auto* const lstm = std::get_if<Lstm>(&layer.kind))
      count += 12 * lstm->levels * layer.in[0] * lstm->units;
    // A convolution leaves its columns (im2col) too.
    if (const auto* const conv = std::get_if<Convolution>(&layer.kind))
      count += std::size_t{conv->kernel} * conv->kernel * floats_in(layer.in) +
               std::size_t{conv->outputs} * layer.in[1] * layer.in[2] / conv->stride / conv->stride;
  }
  return count;
}

}  // namespace

std::size_t activations_of(const Model& model) {
  return activations_in(model.layers) + model.outputs;
}

}  // namespace tessera
