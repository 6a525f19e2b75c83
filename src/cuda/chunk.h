// Nodes that train together on one GPU: their jobs, a stream for them, and memory that is kept from
// round to round. Each job is put where the GPU fetches it, then the chunk is started, asked for
// its steps in turns, and each trained node is fetched.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "cuda/augmented_images.h"
#include "cuda/busy_time.h"
#include "cuda/graph.h"
#include "cuda/net.h"
#include "cuda/optimizer_rows.h"
#include "cuda/resident_data.h"
#include "cuda/runtime.h"
#include "learn/stacked_parts.h"
#include "node/trainer.h"

namespace tessera::cuda {

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

// What goes to the GPU, and some of it back.
struct Travelling {
  Mirrored<float> rows{};             // Models; below them what the optimizer keeps.
  Mirrored<std::uint32_t> samples{};  // [step][node][batch]: rows of the resident data.
  Mirrored<float> weights{};          // Likewise: one over the batch's size, or zero.
  Mirrored<float> losses{};           // [node]
  Mirrored<StepRates> rates{};        // [step][node]
};

// What all chunks of a trainer work with; it outlives them.
struct ChunkParts {
  const StackedTrainerParts& trainer;
  const ResidentData& data;
  OptimizerRows& optimizer;
  std::size_t dimension() const { return trainer.initial.size(); }
};
// What one node takes of the GPU's memory.
std::size_t bytes_of_node(const ChunkParts& parts);

class Chunk {
 public:
  // Of lower rank, earlier.
  Chunk(const ChunkParts& parts, int rank) : parts_(parts), stream_(rank), turns_(kGraphsKept) {}

  void drop_jobs() {
    jobs_ = {};
    put_ = 0;
  }
  void settle() const { stream_.wait(); }  // After a failure something may still be under way.
  std::span<TrainJob> jobs() const { return jobs_; }
  std::size_t room() const { return room_; }  // For so many nodes there is memory.
  void give_memory_back();                    // The net's, which is most of it.
  // Its memory stays where it is from here on, for as many nodes or fewer.
  void make_room(std::size_t nodes);

  // For whom there is room; it is settled.
  void take_jobs(std::span<TrainJob> jobs);
  // A job's model, samples and moments, from any thread. Says whether it was the last.
  bool put(std::size_t job);
  std::size_t missing() const { return jobs_.size() - put_; }
  // Of jobs that were put from the first on, the others are never to be fetched.
  void leave_others_empty();
  void start();
  // For its next steps; false where it was asked for all. A GPU holds about a thousand kernels that
  // wait, and those of one chunk would keep the others out.
  bool ask();

  void wait() const { done_.wait(); }
  // When it computed, once it has been waited for.
  Stretch& computing() { return computing_; }
  void fetch(std::size_t job) const;

 private:
  static constexpr std::size_t kStepsInTurn = 8;
  // Of rounds in which other nodes train each time there may be as many sizes as nodes. A round's
  // turns are kept for two sizes, a full chunk's and the last one's; of a round with more turns
  // than that allows, every kernel is asked for by itself.
  static constexpr std::size_t kGraphsKept = 32, kTurnsInGraphsMax = kGraphsKept / 2;

  const TrainingOptions& training() const { return parts_.trainer.training; }
  std::size_t drawn_by(std::size_t nodes) const {  // In a round.
    return training().steps * nodes * training().batch;
  }
  std::size_t floats_in_rows() const {
    return parts_.optimizer.rows_of_node() * jobs_.size() * parts_.dimension();
  }
  RowPlace place_of(std::size_t job) const {
    return {jobs_[job].node, job, jobs_.size(), parts_.dimension()};
  }
  void draw(std::size_t job) const;
  void leave_empty(std::size_t job) const;
  void arrange() const;
  void take_steps(std::size_t first_step, std::size_t last_step) const;
  void restore() const;
  void bring_back() const;

  const ChunkParts& parts_;
  std::span<TrainJob> jobs_{};
  std::atomic<std::size_t> put_ = 0;  // Jobs.
  Travelling both_{};
  DeviceArray<float> working_{};  // The rows in the net's order.
  std::size_t room_ = 0;
  std::unique_ptr<CudaNet> net_{};
  std::unique_ptr<AugmentedImages> augmented_{};  // Where images are changed.
  std::size_t asked_ = 0;                         // Steps that the stream was asked for.
  Stretch computing_{};
  Stream stream_;
  Graphs turns_;      // By how many nodes train, and from which step on.
  Milestone done_{};  // Rows and losses are on the host.
};

}  // namespace tessera::cuda
