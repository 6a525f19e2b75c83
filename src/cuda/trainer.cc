#include "cuda/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "base/check.h"
#include "base/threads.h"
#include "cuda/augmented_images.h"
#include "cuda/graph.h"
#include "cuda/net.h"
#include "cuda/optimizer_rows.h"
#include "cuda/resident_data.h"

namespace tessera::cuda {
namespace {

// The same memory on both sides.
template <typename T>
struct Mirrored {
  HostArray<T> host{};
  DeviceArray<T> device{};
  void fit(std::size_t size) {
    host.fit(size);
    device.fit(size);
  }
};

// One chunk in flight: its jobs, and memory that is kept from round to round.
struct Chunk {
  Chunk(int rank, std::size_t graphs) : stream(rank), turns(graphs) {}
  std::span<TrainJob> jobs{};
  Mirrored<float> rows{};             // Models; below them what the optimizer keeps.
  Mirrored<std::uint32_t> samples{};  // [step][node][batch]: rows of the resident data.
  Mirrored<float> weights{};          // Likewise: one over the batch's size, or zero.
  Mirrored<float> losses{};           // [node]
  Mirrored<StepRates> rates{};        // [step][node]
  DeviceArray<float> working{};       // The rows in the net's order.
  std::size_t nodes = 0;              // That there is room for.
  std::unique_ptr<CudaNet> net{};
  std::unique_ptr<AugmentedImages> augmented{};  // Where images are changed.
  std::size_t asked = 0;                         // Steps that the stream was asked for.
  Stretch computing{};
  Stream stream;
  Graphs turns;      // By how many nodes train, and from which step on.
  Milestone done{};  // Rows and losses are on the host.
};

class CudaTrainer final : public Trainer {
 public:
  CudaTrainer(StackedTrainerParts parts, InCommon in_common)
      : parts_(std::move(parts)),
        in_common_(std::move(in_common)),
        workers_(in_common_.threads),
        data_(*in_common_.data),
        optimizer_(parts_.training, in_common_.states, parts_.node_samples.size()),
        chunk_nodes_(nodes_in_chunk()) {
    for (int rank = 0; rank < static_cast<int>(in_flight_); ++rank)
      chunks_.emplace_back(rank, kGraphsKept);
  }

  std::size_t dimension() const override { return parts_.initial.size(); }
  Vector initial_model() const override { return parts_.initial; }
  std::vector<std::uint32_t> tensors() const override { return parts_.model.tensors(); }
  void fields(Archive& archive) override { optimizer_.fields(archive); }

  void train(std::span<TrainJob> cohort) override {
    begin(cohort);
    workers_.for_each(cohort.size(), [this](std::size_t job) { await(job); });
  }

  // A chunk whose place the next one takes is awaited here. Of a long round each chunk is asked for
  // some steps in turn: a GPU holds about a thousand kernels, and those of one chunk would fill it
  // up.
  void begin(std::span<TrainJob> cohort) override {
    require(cudaSetDevice(parts_.device.index), "taking it");
    together_ = nodes_together(cohort.size());
    fetched_ = 0;
    for (Chunk& chunk : chunks_)
      chunk.jobs = {};  // A failure may have left some of an earlier cohort.
    for (std::size_t start = 0, turn = 0; start < cohort.size(); start += together_, ++turn) {
      Chunk& chunk = chunks_[turn % in_flight_];
      if (turn >= in_flight_) {
        ask_for_the_rest();
        workers_.for_each(together_, [&](std::size_t job) { await(fetched_ + job); });
        fetched_ += together_;
      }
      begin_chunk(chunk, cohort.subspan(start, std::min(together_, cohort.size() - start)));
    }
    ask_for_the_rest();
  }

  void await(std::size_t job) override {
    if (job < fetched_) return;
    require(cudaSetDevice(parts_.device.index), "taking it");
    Chunk& chunk = chunks_[job / together_ % in_flight_];
    chunk.done.wait();
    if (job % together_ == 0) in_common_.clock->add(chunk.computing);
    fetch(chunk, job % together_);
  }

 private:
  // What fits at once is cut up all the same when that leaves enough to do: while some compute, the
  // rows of others travel, and those that are back are packed.
  static constexpr std::size_t kInFlight = 4;
  static constexpr std::size_t kTogetherMin = 24;
  static constexpr std::size_t kStepsInTurn = 8;
  // A chunk's: of rounds in which other nodes train each time there may be as many sizes as nodes.
  // A round's turns are kept for two sizes, a full chunk's and the last one's; of a round with more
  // turns than that allows, every kernel is asked for by itself.
  static constexpr std::size_t kGraphsKept = 32, kTurnsInGraphsMax = kGraphsKept / 2;

  NetSize net_size(std::size_t nodes) const {
    return {.nodes = nodes,
            .batch = parts_.training.batch,
            .precision = parts_.device.precision,
            .sparse = optimizer_.sparse()};
  }
  RowPlace place_of(const Chunk& chunk, std::size_t i) const {
    return {chunk.jobs[i].node, i, chunk.jobs.size(), dimension()};
  }
  std::size_t bytes_of_node() const;
  std::size_t nodes_in_chunk();
  std::uint64_t bytes_held() const;
  std::size_t nodes_together(std::size_t nodes) const {
    return std::min(chunk_nodes_, std::max(kTogetherMin, (nodes + kInFlight - 1) / kInFlight));
  }
  void require_room(std::size_t nodes) const;
  void allocate(Chunk& chunk, std::size_t nodes) const;
  void fit(Chunk& chunk, std::size_t nodes) const;
  std::size_t drawn_by(std::size_t nodes) const {  // In a round.
    return parts_.training.steps * nodes * parts_.training.batch;
  }
  void draw(Chunk& chunk, std::size_t node) const;
  void begin_chunk(Chunk& chunk, std::span<TrainJob> jobs);
  void ask(Chunk& chunk) const;
  void ask_for_the_rest();
  void arrange(Chunk& chunk) const;
  void take_steps(Chunk& chunk, std::size_t first_step, std::size_t last_step) const;
  void restore(Chunk& chunk) const;
  void fetch(const Chunk& chunk, std::size_t node);

  StackedTrainerParts parts_;
  InCommon in_common_;
  Workers workers_;
  const ResidentData& data_;
  OptimizerRows optimizer_;
  std::size_t in_flight_ = kInFlight;  // Chunks at a time.
  std::size_t chunk_nodes_;            // At most so many nodes are in a chunk.
  std::deque<Chunk> chunks_;
  std::size_t together_ = 1;  // Nodes in each chunk of the cohort under way but the last.
  std::size_t fetched_ = 0;   // So many of the cohort were awaited by begin() already.
};

std::size_t CudaTrainer::bytes_of_node() const {
  const std::size_t rows = 2 * optimizer_.rows_of_node();  // As they travel, and in our order.
  const std::size_t images =
      parts_.training.augment.any() ? parts_.training.batch * parts_.model.task.features() : 0;
  return CudaNet::bytes_for(parts_.model, net_size(1)) +
         (rows * parts_.model.dimension() + images) * sizeof(float);
}

// What its chunks have of the GPU's memory already.
std::uint64_t CudaTrainer::bytes_held() const {
  std::uint64_t held = 0;
  for (const Chunk& chunk : chunks_) held += chunk.nodes * bytes_of_node();
  return held;
}

// For a chunk of so many nodes and those that are to come.
void CudaTrainer::require_room(std::size_t nodes) const {
  const std::uint64_t bytes = bytes_of_node();
  if (nodes * bytes <= gpu_memory().free_bytes) return;
  const std::uint64_t left = gpu_memory().free_bytes + bytes_held();
  refuse_for_room({.what = "training",
                   .model = parts_.model.name,
                   .nodes = nodes * in_flight_,
                   .bytes_each = bytes,
                   .in_flight = in_flight_},
                  left);
}

// Each of those in flight may take its part of the memory.
std::size_t CudaTrainer::nodes_in_chunk() {
  const std::size_t bytes = bytes_of_node();
  const std::uint64_t fit = memory_for(parts_.device) / bytes;
  if (parts_.device.chunk > 0) {
    in_flight_ = std::clamp<std::size_t>(fit / parts_.device.chunk, 1, kInFlight);
    return parts_.device.chunk;
  }
  if (fit == 0)
    throw std::invalid_argument(
        fmt::format("device: a node of {} takes {:.1f} MiB of the GPU's memory with batches of {}, "
                    "and there is "
                    "less: raise memory= or take smaller batches",
                    parts_.model.name, static_cast<double>(bytes) / 0x1p20, parts_.training.batch));
  in_flight_ = std::min<std::size_t>(kInFlight, fit);
  return static_cast<std::size_t>(fit) / in_flight_;
}

void CudaTrainer::allocate(Chunk& chunk, std::size_t nodes) const {
  if (chunk.nodes < nodes) {
    const std::size_t wanted = std::max(nodes, std::min(together_, parts_.node_samples.size()));
    chunk.net.reset();
    chunk.nodes = 0;
    require_room(wanted);
    chunk.net = std::make_unique<CudaNet>(parts_.model, net_size(wanted));
    fit(chunk, wanted);
    chunk.nodes = wanted;
  }
}

// Its memory stays where it is from here on, for as many nodes or fewer.
void CudaTrainer::fit(Chunk& chunk, std::size_t nodes) const {
  chunk.turns.forget();
  const std::size_t rows = optimizer_.rows_of_node() * nodes;
  const std::size_t drawn = drawn_by(nodes);
  if (parts_.training.augment.any()) {
    if (!chunk.augmented)
      chunk.augmented =
          std::make_unique<AugmentedImages>(parts_.training.augment, parts_.model.task);
    chunk.augmented->fit(drawn, nodes * parts_.training.batch);
  }
  chunk.rows.fit(rows * dimension());
  chunk.working.fit(rows * chunk.net->dimension());
  chunk.samples.fit(drawn);
  chunk.weights.fit(drawn);
  chunk.losses.fit(nodes);
  chunk.rates.fit(parts_.training.steps * nodes);
}

// Nodes with fewer samples than a batch fill it up with samples that weigh nothing.
void CudaTrainer::draw(Chunk& chunk, std::size_t node) const {
  const std::size_t nodes = chunk.jobs.size(), batch = parts_.training.batch;
  TrainJob& job = chunk.jobs[node];
  CHECK(job.model.size() == dimension());
  CHECK(job.node < parts_.node_samples.size());
  const Indices& own = parts_.node_samples[job.node];
  const std::vector<Indices> steps = draw_minibatches(own.size(), parts_.training, job.random);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const std::size_t at = (step * nodes + node) * batch, drawn = steps[step].size();
    for (std::size_t i = 0; i < batch; ++i) {
      chunk.samples.host[at + i] = i < drawn ? own[steps[step][i]] : 0;
      chunk.weights.host[at + i] = i < drawn ? 1.0f / static_cast<float>(drawn) : 0;
    }
    if (chunk.augmented) chunk.augmented->draw(at, drawn, job.random.fork("augment", step));
  }
}

void CudaTrainer::begin_chunk(Chunk& chunk, std::span<TrainJob> jobs) {
  chunk.stream.wait();  // After a failure something may still be under way.
  allocate(chunk, jobs.size());
  chunk.jobs = jobs;
  chunk.asked = 0;
  const std::size_t drawn = drawn_by(jobs.size());
  if (chunk.augmented) chunk.augmented->begin(drawn);
  // A hundred small models are a lot of memory to move: all cores move it.
  workers_.for_each(jobs.size(), [&](std::size_t i) {
    draw(chunk, i);
    float* const rows = chunk.rows.host.data();
    std::copy(jobs[i].model.begin(), jobs[i].model.end(), rows + i * dimension());
    optimizer_.put(place_of(chunk, i), rows, chunk.rates.host.data());
  });
  const auto upload = [&](const auto& mirrored, std::size_t count) {
    chunk.stream.upload(mirrored.device.data(), mirrored.host.data(),
                        count * sizeof(mirrored.host[0]));
  };
  upload(chunk.samples, drawn);
  upload(chunk.weights, drawn);
  upload(chunk.rates, parts_.training.steps * jobs.size());
  if (chunk.augmented) chunk.augmented->upload(chunk.stream, drawn);
  upload(chunk.rows, optimizer_.rows_of_node() * jobs.size() * dimension());
  ask(chunk);
}

// For its next steps, and behind the last for their results: each node's trained row and mean loss.
void CudaTrainer::ask(Chunk& chunk) const {
  const std::size_t steps = parts_.training.steps, first = chunk.asked,
                    last = std::min(first + kStepsInTurn, steps);
  if (first == 0) chunk.computing.begin.record(chunk.stream);
  const auto turn = [&] {
    if (first == 0) arrange(chunk);
    take_steps(chunk, first, last);
    if (last == steps) restore(chunk);
  };
  if (parts_.device.graphs && steps <= kTurnsInGraphsMax * kStepsInTurn)
    chunk.turns.run(chunk.stream, chunk.jobs.size() * (steps + 1) + first, turn);
  else
    turn();
  chunk.asked = last;
  if (last < steps) return;
  chunk.computing.end.record(chunk.stream);
  chunk.stream.download(
      chunk.rows.host.data(), chunk.rows.device.data(),
      optimizer_.rows_of_node() * chunk.jobs.size() * dimension() * sizeof(float));
  chunk.stream.download(chunk.losses.host.data(), chunk.losses.device.data(),
                        chunk.jobs.size() * sizeof(float));
  chunk.done.put(chunk.stream);
}

void CudaTrainer::ask_for_the_rest() {
  for (bool more = true; more;) {
    more = false;
    for (Chunk& chunk : chunks_) {
      if (chunk.jobs.empty() || chunk.asked == parts_.training.steps) continue;
      ask(chunk);
      more = true;
    }
  }
}

void CudaTrainer::arrange(Chunk& chunk) const {
  chunk.stream.clear(chunk.losses.device.data(), chunk.jobs.size() * sizeof(float));
  chunk.net->arrange(chunk.stream, optimizer_.rows_of_node() * chunk.jobs.size(),
                     chunk.rows.device.data(), chunk.working.data());
}

void CudaTrainer::restore(Chunk& chunk) const {
  chunk.net->restore(chunk.stream, optimizer_.rows_of_node() * chunk.jobs.size(),
                     chunk.working.data(), chunk.rows.device.data());
}

void CudaTrainer::take_steps(Chunk& chunk, std::size_t first_step, std::size_t last_step) const {
  CudaNet& net = *chunk.net;
  const std::size_t nodes = chunk.jobs.size();
  const MomentRows moments = optimizer_.moments(chunk.working.data(), nodes, net.dimension());
  Descent descent = optimizer_.descent();
  const Pass pass{.stream = chunk.stream.get(),
                  .nodes = static_cast<int>(nodes),
                  .batch = static_cast<int>(parts_.training.batch),
                  .parameters = chunk.working.data(),
                  .dimension = net.dimension(),
                  .precision = parts_.device.precision};
  for (std::size_t step = first_step; step < last_step; ++step) {
    const std::size_t first = step * nodes * parts_.training.batch;
    const Rows samples = data_.rows(chunk.samples.device.data() + first, parts_.training.batch);
    const Rows in = chunk.augmented ? chunk.augmented->moved(pass, samples, first) : samples;
    net.forward(pass, in);
    loss_and_gradient(pass,
                      {.classes = static_cast<int>(parts_.model.task.classes),
                       .targets = data_.targets(),
                       .chosen = samples.chosen,
                       .weights = chunk.weights.device.data() + first,
                       .share = 1 / static_cast<float>(parts_.training.steps)},
                      net.outputs(), net.d_outputs(), chunk.losses.device.data());
    net.backward(pass, in);
    descent.rates = chunk.rates.device.data() + step * nodes;
    net.descend(pass, descent, chunk.working.data(), moments);
  }
}

// A node's results, from where the GPU left them to where they belong.
void CudaTrainer::fetch(const Chunk& chunk, std::size_t node) {
  TrainJob& job = chunk.jobs[node];
  const float* const rows = chunk.rows.host.data();
  std::copy_n(rows + node * dimension(), dimension(), job.model.begin());
  job.loss = chunk.losses.host[node];
  optimizer_.take(place_of(chunk, node), rows);
}

}  // namespace

std::uint64_t memory_for(const DeviceOptions& device) {
  if (device.memory_bytes > 0) return device.memory_bytes / device.sharers;
  const GpuMemory memory = gpu_memory();
  // Others may be on the same GPU, and a little is lost between pieces.
  return std::min(memory.all_bytes / 2, memory.free_bytes / 10 * 9) / device.sharers;
}

void refuse_for_room(const Need& need, std::uint64_t free_bytes) {
  const auto gib = [](std::uint64_t count) { return static_cast<double>(count) / 0x1p30; };
  const std::uint64_t fit = free_bytes / need.bytes_each;
  throw OutOfMemory(fmt::format(
      "device: {} {} nodes of {} takes {:.2f} GiB of the GPU's memory and {:.2f} are free: {} "
      "would fit{}; use device=cuda:chunk={}",
      need.what, need.nodes, need.model, gib(need.nodes * need.bytes_each), gib(free_bytes), fit,
      need.in_flight > 1 ? fmt::format(", {} chunks at a time", need.in_flight) : "",
      std::max<std::uint64_t>(1, fit / need.in_flight)));
}

std::unique_ptr<Trainer> make_trainer(StackedTrainerParts parts, InCommon in_common) {
  return std::make_unique<CudaTrainer>(std::move(parts), std::move(in_common));
}

}  // namespace tessera::cuda
