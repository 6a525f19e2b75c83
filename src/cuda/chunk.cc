#include "cuda/chunk.h"

#include <algorithm>

#include "base/check.h"

namespace tessera::cuda {
namespace {

NetSize net_size(const ChunkParts& parts, std::size_t nodes) {
  return {.nodes = nodes,
          .batch = parts.trainer.training.batch,
          .precision = parts.trainer.device.precision,
          .sparse = parts.optimizer.sparse()};
}

}  // namespace

std::size_t bytes_of_node(const ChunkParts& parts) {
  const Model& model = parts.trainer.model;
  const TrainingOptions& training = parts.trainer.training;
  const std::size_t rows = 2 * parts.optimizer.rows_of_node();  // As they travel, and in our order.
  const std::size_t images = training.augment.any() ? training.batch * model.task.features() : 0;
  return CudaNet::bytes_for(model, net_size(parts, 1)) +
         (rows * model.dimension() + images) * sizeof(float);
}

void Chunk::give_memory_back() {
  net_.reset();
  room_ = 0;
}

void Chunk::make_room(std::size_t nodes) {
  net_ = std::make_unique<CudaNet>(parts_.trainer.model, net_size(parts_, nodes));
  turns_.forget();
  const std::size_t rows = parts_.optimizer.rows_of_node() * nodes, drawn = drawn_by(nodes);
  if (training().augment.any()) {
    if (!augmented_)
      augmented_ = std::make_unique<AugmentedImages>(training().augment, parts_.trainer.model.task);
    augmented_->fit(drawn, nodes * training().batch);
  }
  both_.rows.fit(rows * parts_.dimension());
  working_.fit(rows * net_->dimension());
  both_.samples.fit(drawn);
  both_.weights.fit(drawn);
  both_.losses.fit(nodes);
  both_.rates.fit(training().steps * nodes);
  room_ = nodes;
}

void Chunk::take_jobs(std::span<TrainJob> jobs) {
  jobs_ = jobs;
  put_ = 0;
  asked_ = 0;
  if (augmented_) augmented_->begin(drawn_by(jobs.size()));
}

bool Chunk::put(std::size_t job) {
  CHECK(jobs_[job].model.size() == parts_.dimension());
  draw(job);
  const std::span<const float> model = jobs_[job].model;
  float* const rows = both_.rows.host.data();
  std::copy(model.begin(), model.end(), rows + job * parts_.dimension());
  parts_.optimizer.put(place_of(job), rows, both_.rates.host.data());
  return ++put_ == jobs_.size();
}

// Nodes with fewer samples than a batch fill it up with samples that weigh nothing.
void Chunk::draw(std::size_t place) const {
  const std::size_t nodes = jobs_.size(), batch = training().batch;
  TrainJob& job = jobs_[place];
  CHECK(job.node < parts_.trainer.node_samples.size());
  const Indices& own = parts_.trainer.node_samples[job.node];
  const std::vector<Indices> steps = draw_minibatches(own.size(), training(), job.random);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const std::size_t at = (step * nodes + place) * batch, drawn = steps[step].size();
    for (std::size_t i = 0; i < batch; ++i) {
      both_.samples.host[at + i] = i < drawn ? own[steps[step][i]] : 0;
      both_.weights.host[at + i] = i < drawn ? 1.0f / static_cast<float>(drawn) : 0;
    }
    if (augmented_) augmented_->draw(at, drawn, job.random.fork("augment", step));
  }
}

void Chunk::leave_others_empty() {
  for (; put_ < jobs_.size(); ++put_) leave_empty(put_);
}

// Zeros, trained on samples that weigh nothing.
void Chunk::leave_empty(std::size_t place) const {
  const std::size_t nodes = jobs_.size(), batch = training().batch;
  for (std::size_t row = 0; row < parts_.optimizer.rows_of_node(); ++row)
    std::fill_n(both_.rows.host.data() + (row * nodes + place) * parts_.dimension(),
                parts_.dimension(), 0.0f);
  for (std::size_t step = 0; step < training().steps; ++step) {
    std::fill_n(both_.samples.host.data() + (step * nodes + place) * batch, batch, 0u);
    std::fill_n(both_.weights.host.data() + (step * nodes + place) * batch, batch, 0.0f);
    both_.rates.host[step * nodes + place] = {};
  }
}

void Chunk::start() {
  const std::size_t nodes = jobs_.size(), drawn = drawn_by(nodes);
  const auto upload = [&](const auto& mirrored, std::size_t count) {
    stream_.upload(mirrored.device.data(), mirrored.host.data(), count * sizeof(mirrored.host[0]));
  };
  upload(both_.samples, drawn);
  upload(both_.weights, drawn);
  upload(both_.rates, training().steps * nodes);
  if (augmented_) augmented_->upload(stream_, drawn);
  upload(both_.rows, floats_in_rows());
  ask();
}

bool Chunk::ask() {
  const std::size_t steps = training().steps, first = asked_,
                    last = std::min(first + kStepsInTurn, steps);
  if (jobs_.empty() || first == steps) return false;
  if (first == 0) computing_.begin.record(stream_);
  const auto turn = [&] {
    if (first == 0) arrange();
    take_steps(first, last);
    if (last == steps) restore();
  };
  if (parts_.trainer.device.graphs && steps <= kTurnsInGraphsMax * kStepsInTurn)
    turns_.run(stream_, jobs_.size() * (steps + 1) + first, turn);
  else
    turn();
  asked_ = last;
  if (last == steps) bring_back();
  return true;
}

// Each node's trained row and mean loss.
void Chunk::bring_back() const {
  computing_.end.record(stream_);
  stream_.download(both_.rows.host.data(), both_.rows.device.data(),
                   floats_in_rows() * sizeof(float));
  stream_.download(both_.losses.host.data(), both_.losses.device.data(),
                   jobs_.size() * sizeof(float));
  done_.put(stream_);
}

void Chunk::arrange() const {
  stream_.clear(both_.losses.device.data(), jobs_.size() * sizeof(float));
  net_->arrange(stream_, parts_.optimizer.rows_of_node() * jobs_.size(), both_.rows.device.data(),
                working_.data());
}

void Chunk::restore() const {
  net_->restore(stream_, parts_.optimizer.rows_of_node() * jobs_.size(), working_.data(),
                both_.rows.device.data());
}

void Chunk::take_steps(std::size_t first_step, std::size_t last_step) const {
  CudaNet& net = *net_;
  const std::size_t nodes = jobs_.size();
  const MomentRows moments = parts_.optimizer.moments(working_.data(), nodes, net.dimension());
  Descent descent = parts_.optimizer.descent();
  const Pass pass{.stream = stream_.get(),
                  .nodes = static_cast<int>(nodes),
                  .batch = static_cast<int>(training().batch),
                  .parameters = working_.data(),
                  .dimension = net.dimension(),
                  .precision = parts_.trainer.device.precision};
  for (std::size_t step = first_step; step < last_step; ++step) {
    const std::size_t first = step * nodes * training().batch;
    const Rows samples = parts_.data.rows(both_.samples.device.data() + first, training().batch);
    const Rows in = augmented_ ? augmented_->moved(pass, samples, first) : samples;
    net.forward(pass, in);
    loss_and_gradient(pass,
                      {.classes = static_cast<int>(parts_.trainer.model.task.classes),
                       .targets = parts_.data.targets(),
                       .chosen = samples.chosen,
                       .weights = both_.weights.device.data() + first,
                       .share = 1 / static_cast<float>(training().steps)},
                      net.outputs(), net.d_outputs(), both_.losses.device.data());
    net.backward(pass, in);
    descent.rates = both_.rates.device.data() + step * nodes;
    net.descend(pass, descent, working_.data(), moments);
  }
}

// A node's results, from where the GPU left them to where they belong.
void Chunk::fetch(std::size_t place) const {
  TrainJob& job = jobs_[place];
  const float* const rows = both_.rows.host.data();
  std::copy_n(rows + place * parts_.dimension(), parts_.dimension(), job.model.begin());
  job.loss = both_.losses.host[place];
  parts_.optimizer.take(place_of(place), rows);
}

}  // namespace tessera::cuda
