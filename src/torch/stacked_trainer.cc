#include "torch/stacked_trainer.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/threads.h"
#include "torch/device_state.h"
#include "torch/stacked_layers.h"
#include "torch/tensors.h"

namespace tessera {
namespace {

using torch::Tensor;

std::int64_t whole(std::size_t count) {
  return static_cast<std::int64_t>(count);
}

class StackedTrainer final : public Trainer {
 public:
  explicit StackedTrainer(StackedTrainerParts parts)
      : parts_(std::move(parts)),
        state_(parts_.device),
        data_(state_.load(*parts_.train, parts_.model.task)),
        chunk_(state_.chunk_for(parts_.model, parts_.training.batch)) {
    if (parts_.training.momentum != 0) velocities_.resize(parts_.node_samples.size());
  }

  std::size_t dimension() const override { return parts_.initial.size(); }
  Vector initial_model() const override { return parts_.initial; }
  std::vector<std::uint32_t> tensors() const override { return parts_.model.tensors(); }
  void fields(Archive& archive) override {
    for (NodeId id = 0; id < velocities_.size(); ++id) archive.of_node(id, velocities_[id]);
  }

  void train(std::span<TrainJob> cohort) override {
    for (std::size_t start = 0, turn = 0; start < cohort.size(); start += chunk_, ++turn) {
      Chunk& chunk = chunks_[turn % chunks_.size()];
      finish(chunk);
      begin_chunk(chunk, cohort.subspan(start, std::min(chunk_, cohort.size() - start)));
    }
    for (Chunk& chunk : chunks_) finish(chunk);
  }

 private:
  // One tensor on both sides. Its memory is that of the largest cohort so far.
  struct Mirrored {
    Tensor host_memory{}, device_memory{};
    Tensor host{}, device{};  // Views of it, for this cohort.
  };
  // One chunk in flight: its jobs, and memory that is kept from round to round.
  struct Chunk {
    std::span<TrainJob> jobs{};
    Mirrored rows{};     // [K, P]: models; with momentum [2 K, P], velocities below them.
    Mirrored samples{};  // [steps, B, K]: rows of the resident data.
    Mirrored weights{};  // [steps, B, K]: one over the batch's size, or zero.
    Mirrored losses{};   // [K]
    std::array<std::unique_ptr<DeviceState::Ticket>, 2> tickets{};
  };

  float* row_of(const Chunk& chunk, std::size_t row) const {
    return chunk.rows.host.data_ptr<float>() + row * dimension();
  }
  void begin_chunk(Chunk& chunk, std::span<TrainJob> jobs);
  void finish(Chunk& chunk);
  void allocate(Chunk& chunk, std::size_t nodes) const;
  void shape(Mirrored& tensor, const std::vector<std::int64_t>& shape,
             torch::ScalarType type) const;
  void draw(Chunk& chunk) const;
  void run_steps(Chunk& chunk) const;
  Tensor step(const Chunk& chunk, std::int64_t number, stacked::Parameters& parameters,
              stacked::Parameters& velocities) const;

  StackedTrainerParts parts_;
  DeviceState state_;
  Workers workers_{0};
  ResidentData data_;
  std::size_t chunk_;
  std::array<Chunk, 2> chunks_;
  std::vector<Vector> velocities_;
};

void StackedTrainer::shape(Mirrored& tensor, const std::vector<std::int64_t>& shape,
                           torch::ScalarType type) const {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  if (!tensor.host_memory.defined() || tensor.host_memory.numel() < size) {
    tensor.host_memory = state_.host_tensor({size}, type);
    tensor.device_memory = torch::empty({size}, torch::TensorOptions(state_.device()).dtype(type));
    state_.settle();
  }
  tensor.host = tensor.host_memory.narrow(0, 0, size).view(shape);
  tensor.device = tensor.device_memory.narrow(0, 0, size).view(shape);
}

void StackedTrainer::allocate(Chunk& chunk, std::size_t nodes) const {
  const std::vector<std::int64_t> drawn = {whole(parts_.training.steps),
                                           whole(parts_.training.batch), whole(nodes)};
  shape(chunk.rows, {whole(velocities_.empty() ? nodes : 2 * nodes), whole(dimension())},
        torch::kFloat);
  shape(chunk.samples, drawn, torch::kInt64);
  shape(chunk.weights, drawn, torch::kFloat);
  shape(chunk.losses, {whole(nodes)}, torch::kFloat);
}

void StackedTrainer::begin_chunk(Chunk& chunk, std::span<TrainJob> jobs) {
  use_one_torch_thread();
  allocate(chunk, jobs.size());
  chunk.jobs = jobs;
  draw(chunk);
  // A hundred small models are a lot of memory to move: all cores move it.
  workers_.for_each(jobs.size(), [&](std::size_t i) {
    std::copy(jobs[i].model.begin(), jobs[i].model.end(), row_of(chunk, i));
    if (velocities_.empty()) return;
    Vector& velocity = velocities_[jobs[i].node];
    velocity.resize(dimension());
    std::copy(velocity.begin(), velocity.end(), row_of(chunk, jobs.size() + i));
  });
  for (Mirrored* tensor : {&chunk.rows, &chunk.samples, &chunk.weights})
    state_.upload(tensor->host, tensor->device);
  run_steps(chunk);
  chunk.tickets = {state_.download(chunk.rows.device, chunk.rows.host),
                   state_.download(chunk.losses.device, chunk.losses.host)};
}

void StackedTrainer::finish(Chunk& chunk) {
  if (chunk.jobs.empty()) return;
  for (auto& ticket : chunk.tickets) ticket->wait();
  const auto* const losses = chunk.losses.host.data_ptr<float>();
  workers_.for_each(chunk.jobs.size(), [&](std::size_t i) {
    TrainJob& job = chunk.jobs[i];
    std::copy_n(row_of(chunk, i), dimension(), job.model.begin());
    job.loss = losses[i];
    if (!velocities_.empty())
      std::copy_n(row_of(chunk, chunk.jobs.size() + i), dimension(), velocities_[job.node].begin());
  });
  chunk.jobs = {};
}

// Nodes with fewer samples than a batch fill it up with samples that weigh nothing.
void StackedTrainer::draw(Chunk& chunk) const {
  const std::size_t nodes = chunk.jobs.size(), batch = parts_.training.batch;
  chunk.weights.host.zero_();
  chunk.samples.host.zero_();
  auto* const samples = chunk.samples.host.data_ptr<std::int64_t>();
  auto* const weights = chunk.weights.host.data_ptr<float>();
  for (std::size_t node = 0; node < nodes; ++node) {
    TrainJob& job = chunk.jobs[node];
    CHECK(job.model.size() == dimension());
    CHECK(job.node < parts_.node_samples.size());
    const Indices& own = parts_.node_samples[job.node];
    const std::vector<Indices> steps = draw_minibatches(own.size(), parts_.training, job.random);
    for (std::size_t step = 0; step < steps.size(); ++step)
      for (std::size_t i = 0; i < steps[step].size(); ++i) {
        const std::size_t at = (step * batch + i) * nodes + node;
        samples[at] = std::int64_t{own[steps[step][i]]};
        weights[at] = 1.0f / static_cast<float>(steps[step].size());
      }
  }
}

// Leaves the trained rows and the mean loss of each node on the device.
void StackedTrainer::run_steps(Chunk& chunk) const {
  const std::int64_t nodes = whole(chunk.jobs.size());
  Tensor models = chunk.rows.device.narrow(0, 0, nodes);
  stacked::Parameters parameters = stacked::split(parts_.model, models), velocities;
  for (Tensor& parameter : parameters) parameter.requires_grad_();
  if (!velocities_.empty())
    velocities = stacked::split(parts_.model, chunk.rows.device.narrow(0, nodes, nodes));
  chunk.losses.device.zero_();
  for (std::int64_t i = 0; i < whole(parts_.training.steps); ++i)
    chunk.losses.device += step(chunk, i, parameters, velocities);
  chunk.losses.device /= static_cast<double>(parts_.training.steps);
  const torch::NoGradGuard no_gradients;
  stacked::join(parts_.model, parameters, models);
  if (!velocities_.empty()) {
    Tensor below = chunk.rows.device.narrow(0, nodes, nodes);
    stacked::join(parts_.model, velocities, below);
  }
}

Tensor StackedTrainer::step(const Chunk& chunk, std::int64_t number,
                            stacked::Parameters& parameters,
                            stacked::Parameters& velocities) const {
  const Tensor samples = chunk.samples.device[number];  // [B, K]
  const Tensor chosen = samples.flatten();
  const Tensor features =
      data_.features.index_select(0, chosen).view({samples.size(0), samples.size(1), -1});
  const Tensor targets = data_.targets.index_select(0, chosen).view(samples.sizes());
  const Tensor outputs = stacked::forward(parts_.model, parameters, features);
  const Tensor weighted =
      stacked::losses(parts_.model, outputs, targets) * chunk.weights.device[number].t();
  const Tensor losses = weighted.sum(1);
  const std::vector<Tensor> gradients = torch::autograd::grad({losses.sum()}, parameters);

  const torch::NoGradGuard no_gradients;
  const TrainingOptions& sgd = parts_.training;
  if (sgd.weight_decay != 0) at::_foreach_add_(gradients, parameters, at::Scalar(sgd.weight_decay));
  if (sgd.momentum != 0) {
    at::_foreach_mul_(velocities, at::Scalar(sgd.momentum));
    at::_foreach_add_(velocities, gradients, at::Scalar(1));
    at::_foreach_add_(parameters, velocities, at::Scalar(-sgd.lr));
  } else {
    at::_foreach_add_(parameters, gradients, at::Scalar(-sgd.lr));
  }
  return losses.detach();
}

}  // namespace

std::unique_ptr<Trainer> make_stacked_trainer(StackedTrainerParts parts) {
  return std::make_unique<StackedTrainer>(std::move(parts));
}

}  // namespace tessera
