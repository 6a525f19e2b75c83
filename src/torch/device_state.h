// What the stacked trainer and evaluator share: a device, data that lives on it, and copies to and
// from it that run beside the computing. On the CPU the same calls are plain copies.
//
// Internal to torch/: this header shows LibTorch.
#pragma once

#include <memory>
#include <span>

#include "data/dataset.h"
#include "learn/device.h"
#include "learn/model.h"
#include "torch/libtorch.h"

namespace tessera {

// Samples on the device, as rows.
struct ResidentData {
  torch::Tensor features{};  // [samples, features]
  torch::Tensor targets{};   // [samples]
};

class DeviceState {
 public:
  explicit DeviceState(const DeviceOptions& options);
  ~DeviceState();
  DeviceState(const DeviceState&) = delete;
  DeviceState& operator=(const DeviceState&) = delete;

  const torch::Device& device() const { return device_; }
  ResidentData load(const Dataset& dataset, const Task& task) const;

  // How many nodes of this model fit when each works on `batch` samples.
  std::size_t chunk_for(const Model& model, std::size_t batch) const;
  std::uint64_t memory_bytes() const;

  // Memory the device can copy from and to without the CPU: pinned where there is a GPU.
  torch::Tensor host_tensor(at::IntArrayRef shape, torch::ScalarType type) const;
  // Waits for everything asked for so far. Needed after allocating what both computing and copying
  // use: the memory may still be in use under its last name.
  void settle() const;

  // Both return at once where there is a GPU. Computing waits for an upload; a download waits for
  // the computing asked for before it, and its ticket for the download.
  class Ticket {
   public:
    virtual ~Ticket() = default;
    virtual void wait() {}
  };
  void upload(const torch::Tensor& host, torch::Tensor& on_device);
  std::unique_ptr<Ticket> download(const torch::Tensor& on_device, torch::Tensor& host);

 private:
  struct Streams;
  DeviceOptions options_;
  torch::Device device_;
  std::unique_ptr<Streams> streams_;
};

// Numbers that all layers of a model put out for one sample: what a forward pass leaves in memory.
std::size_t activations_of(const Model& model);

}  // namespace tessera
