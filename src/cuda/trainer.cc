#include "cuda/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "base/check.h"
#include "base/threads.h"
#include "cuda/chunk.h"

namespace tessera::cuda {
namespace {

class CudaTrainer final : public Trainer {
 public:
  CudaTrainer(StackedTrainerParts parts, InCommon in_common)
      : parts_(std::move(parts)),
        in_common_(std::move(in_common)),
        workers_(in_common_.threads),
        optimizer_(parts_.training, in_common_.states, parts_.node_samples.size()),
        for_chunks_{parts_, *in_common_.data, optimizer_},
        chunk_nodes_(nodes_in_chunk()) {
    for (int rank = 0; rank < static_cast<int>(in_flight_); ++rank)
      chunks_.emplace_back(for_chunks_, rank);
  }

  std::size_t dimension() const override { return parts_.initial.size(); }
  Vector initial_model() const override { return parts_.initial; }
  std::vector<std::uint32_t> tensors() const override { return parts_.model.tensors(); }
  void fields(Archive& archive) override { optimizer_.fields(archive); }

  void train(std::span<TrainJob> cohort) override {
    begin(cohort);
    workers_.for_each(cohort.size(), [this](std::size_t job) { await(job); });
  }

  // A chunk whose place the next one takes is awaited here.
  void begin(std::span<TrainJob> cohort) override {
    begin_cohort(cohort.size());
    for (std::size_t first = 0; first < cohort.size(); first += together_) {
      if (first >= together_ * in_flight_) {
        ask_for_the_rest();
        workers_.for_each(together_, [&](std::size_t job) { await(fetched_ + job); });
        fetched_ += together_;
      }
      Chunk& chunk = make_ready(first, cohort);
      // A hundred small models are a lot of memory to move: all cores move it.
      workers_.for_each(chunk.jobs().size(), [&](std::size_t job) { chunk.put(job); });
      chunk.start();
    }
    ask_for_the_rest();
  }

  // For more jobs than one chunk takes, where all are in flight at once.
  bool takes_early(std::size_t jobs) const override {
    return jobs > kTogetherMin && jobs <= nodes_together(jobs) * in_flight_;
  }

  void open(std::span<TrainJob> cohort) override {
    begin_cohort(cohort.size());
    for (std::size_t first = 0; first < cohort.size(); first += together_)
      make_ready(first, cohort);
  }

  // Whoever brings the last of a chunk's jobs starts it.
  void join(std::size_t job) override {
    Chunk& chunk = chunk_of(job);
    if (!chunk.put(job % together_)) return;
    take_gpu();
    chunk.start();
  }

  // A chunk that fewer joined than were expected keeps its width.
  void close() override {
    take_gpu();
    for (Chunk& chunk : chunks_) {
      if (chunk.missing() == chunk.jobs().size()) chunk.drop_jobs();
      if (chunk.missing() == 0) continue;
      chunk.leave_others_empty();
      chunk.start();
    }
    ask_for_the_rest();
  }

  void await(std::size_t job) override {
    if (job < fetched_) return;
    take_gpu();
    Chunk& chunk = chunk_of(job);
    chunk.wait();
    if (job % together_ == 0) in_common_.clock->add(chunk.computing());
    chunk.fetch(job % together_);
  }

 private:
  // What fits at once is cut up all the same when that leaves enough to do: while some compute, the
  // rows of others travel, and those that are back are packed.
  static constexpr std::size_t kInFlight = 4;
  static constexpr std::size_t kTogetherMin = 24;

  void take_gpu() const { require(cudaSetDevice(parts_.device.index), "taking it"); }
  std::size_t nodes_in_chunk();
  std::uint64_t bytes_held() const;
  std::size_t nodes_together(std::size_t nodes) const {
    return std::min(chunk_nodes_, std::max(kTogetherMin, (nodes + kInFlight - 1) / kInFlight));
  }
  void require_room(std::size_t nodes) const;
  Chunk& chunk_of(std::size_t job) { return chunks_[job / together_ % in_flight_]; }
  void begin_cohort(std::size_t jobs);
  Chunk& make_ready(std::size_t first, std::span<TrainJob> cohort);
  void ask_for_the_rest();

  StackedTrainerParts parts_;
  InCommon in_common_;
  Workers workers_;
  OptimizerRows optimizer_;
  ChunkParts for_chunks_;
  std::size_t in_flight_ = kInFlight;  // Chunks at a time.
  std::size_t chunk_nodes_;            // At most so many nodes are in a chunk.
  std::deque<Chunk> chunks_;
  std::size_t together_ = 1;  // Nodes in each chunk of the cohort under way but the last.
  std::size_t fetched_ = 0;   // So many of the cohort were awaited by begin() already.
};

// What its chunks have of the GPU's memory already.
std::uint64_t CudaTrainer::bytes_held() const {
  std::uint64_t held = 0;
  for (const Chunk& chunk : chunks_) held += chunk.room() * bytes_of_node(for_chunks_);
  return held;
}

// For a chunk of so many nodes and those that are to come.
void CudaTrainer::require_room(std::size_t nodes) const {
  const std::uint64_t bytes = bytes_of_node(for_chunks_);
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
  const std::size_t bytes = bytes_of_node(for_chunks_);
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

void CudaTrainer::begin_cohort(std::size_t jobs) {
  take_gpu();
  together_ = nodes_together(jobs);
  fetched_ = 0;
  for (Chunk& chunk : chunks_) chunk.drop_jobs();
}

// The chunk of a cohort's jobs from the first on.
Chunk& CudaTrainer::make_ready(std::size_t first, std::span<TrainJob> cohort) {
  Chunk& chunk = chunk_of(first);
  const std::span<TrainJob> jobs =
      cohort.subspan(first, std::min(together_, cohort.size() - first));
  chunk.settle();
  if (chunk.room() < jobs.size()) {
    chunk.give_memory_back();
    const std::size_t wanted =
        std::max(jobs.size(), std::min(together_, parts_.node_samples.size()));
    require_room(wanted);
    chunk.make_room(wanted);
  }
  chunk.take_jobs(jobs);
  return chunk;
}

void CudaTrainer::ask_for_the_rest() {
  for (bool more = true; more;) {
    more = false;
    for (Chunk& chunk : chunks_) more = chunk.ask() || more;
  }
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
