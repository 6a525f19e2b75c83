// The evaluator of trainer.h: many models at a time over the test set. Where all nodes are tested
// on the same samples the list is there once; where each has its own, a batch holds the next ones
// of every node, and lists that have ended are filled up with samples that do not count.
#include <algorithm>

#include "base/check.h"
#include "base/threads.h"
#include "cuda/net.h"
#include "cuda/resident_data.h"
#include "cuda/trainer.h"
#include "learn/score.h"

namespace tessera::cuda {
namespace {

// Lists of samples, all as long as the longest is when rounded up to whole batches.
struct Lists {
  std::size_t length = 0, stride = 0;  // The stride is 0 where one list serves all nodes.
  std::vector<std::uint32_t> samples{};
  std::vector<std::uint8_t> counted{};
};

class CudaEvaluator final : public Evaluator {
 public:
  CudaEvaluator(StackedEvaluatorParts parts, InCommon in_common)
      : parts_(std::move(parts)),
        in_common_(std::move(in_common)),
        data_(*in_common_.data),
        workers_(in_common_.threads) {}

  std::vector<Score> evaluate(std::span<const NodeId> nodes,
                              std::span<const std::span<const float>> models) override {
    CHECK(nodes.size() == models.size());
    require(cudaSetDevice(parts_.device.index), "taking it");
    std::vector<Score> scores;
    const std::size_t chunk = chunk_for(nodes.size());
    for (std::size_t start = 0; start < nodes.size(); start += chunk) {
      const std::size_t count = std::min(chunk, nodes.size() - start);
      try {
        evaluate_chunk(nodes.subspan(start, count), models.subspan(start, count), scores);
      } catch (const OutOfMemory&) {
        const Need least{.what = "evaluating",
                         .model = parts_.model.name,
                         .nodes = count,
                         .bytes_each = bytes_of(kBatchMin)};
        const std::uint64_t left = gpu_memory().free_bytes;
        if (count * least.bytes_each > left) refuse_for_room(least, left);
        throw;  // Smaller batches would fit: memory= says more than there is.
      }
    }
    return scores;
  }
  bool own_samples() const override { return parts_.node_samples.size() > 1; }

 private:
  // Images at a time over all nodes: enough to fill a large GPU many times over.
  static constexpr std::size_t kImages = 16384, kBatchMin = 8, kBatchMax = 1024;

  const Indices& samples_of(NodeId node) const {
    if (!own_samples()) return parts_.node_samples.front();
    CHECK(node < parts_.node_samples.size());
    return parts_.node_samples[node];
  }
  std::size_t bytes_of(std::size_t batch) const {
    return CudaNet::bytes_for(parts_.model, {1, batch, false, parts_.device.precision}) +
           2 * parts_.model.dimension() * sizeof(float);
  }
  std::size_t chunk_for(std::size_t nodes) const;
  std::size_t batch_for(std::size_t nodes, std::size_t longest) const;
  Lists lists_for(std::span<const NodeId> nodes, std::size_t batch, std::size_t longest) const;
  void load_models(std::span<const std::span<const float>> models, const CudaNet& net);
  void evaluate_chunk(std::span<const NodeId> nodes, std::span<const std::span<const float>> models,
                      std::vector<Score>& scores);
  void add_batches(CudaNet& net, std::size_t nodes, std::size_t batch, const Lists& lists);

  StackedEvaluatorParts parts_;
  InCommon in_common_;
  const ResidentData& data_;
  Workers workers_;
  Stretch computing_;
  Stream stream_;
  HostArray<float> host_rows_;
  DeviceArray<float> rows_, working_;
  DeviceArray<std::uint32_t> samples_;
  DeviceArray<std::uint8_t> counted_;
  DeviceArray<double> sums_;
};

std::size_t CudaEvaluator::chunk_for(std::size_t nodes) const {
  const std::size_t most = parts_.device.chunk > 0
                               ? parts_.device.chunk
                               : memory_for(parts_.device) / bytes_of(kBatchMin);
  return std::clamp<std::size_t>(most, 1, std::max<std::size_t>(nodes, 1));
}

std::size_t CudaEvaluator::batch_for(std::size_t nodes, std::size_t longest) const {
  const std::size_t fit = memory_for(parts_.device) / nodes / (bytes_of(kBatchMin) / kBatchMin + 1);
  const std::size_t wanted = std::min({kImages / nodes, kBatchMax, longest, fit});
  return std::max(wanted / kBatchMin, std::size_t{1}) * kBatchMin;
}

Lists CudaEvaluator::lists_for(std::span<const NodeId> nodes, std::size_t batch,
                               std::size_t longest) const {
  Lists lists{.length = (longest + batch - 1) / batch * batch};
  const std::size_t count = own_samples() ? nodes.size() : 1;
  if (own_samples()) lists.stride = lists.length;
  lists.samples.resize(count * lists.length);
  lists.counted.resize(count * lists.length);
  for (std::size_t i = 0; i < count; ++i) {
    const Indices& own = samples_of(nodes[i]);
    std::copy(own.begin(), own.end(), &lists.samples[i * lists.length]);
    std::fill_n(&lists.counted[i * lists.length], own.size(), std::uint8_t{1});
  }
  return lists;
}

void CudaEvaluator::load_models(std::span<const std::span<const float>> models,
                                const CudaNet& net) {
  const std::size_t dimension = parts_.model.dimension();
  host_rows_.fit(models.size() * dimension);
  rows_.fit(models.size() * dimension);
  working_.fit(models.size() * net.dimension());
  workers_.for_each(models.size(), [&](std::size_t i) {
    CHECK(models[i].size() == dimension);
    std::copy(models[i].begin(), models[i].end(), host_rows_.data() + i * dimension);
  });
  stream_.upload(rows_.data(), host_rows_.data(), models.size() * dimension * sizeof(float));
  net.arrange(stream_, models.size(), rows_.data(), working_.data());
}

void CudaEvaluator::evaluate_chunk(std::span<const NodeId> nodes,
                                   std::span<const std::span<const float>> models,
                                   std::vector<Score>& scores) {
  std::size_t longest = 0;
  for (const NodeId node : nodes) longest = std::max(longest, samples_of(node).size());
  const std::size_t batch = batch_for(nodes.size(), longest);
  CudaNet net(parts_.model, {nodes.size(), batch, false, parts_.device.precision});
  load_models(models, net);
  const Lists lists = lists_for(nodes, batch, longest);
  samples_.fit(lists.samples.size());
  counted_.fit(lists.counted.size());
  sums_.fit(3 * nodes.size());
  stream_.upload(samples_.data(), lists.samples.data(),
                 lists.samples.size() * sizeof(lists.samples[0]));
  stream_.upload(counted_.data(), lists.counted.data(), lists.counted.size());
  stream_.clear(sums_.data(), 3 * nodes.size() * sizeof(double));
  computing_.begin.record(stream_);
  add_batches(net, nodes.size(), batch, lists);
  computing_.end.record(stream_);
  std::vector<double> sums(3 * nodes.size());
  stream_.download(sums.data(), sums_.data(), sums.size() * sizeof(double));
  stream_.wait();
  in_common_.clock->add(computing_);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ScoreSum sum{sums[3 * i], sums[3 * i + 1], sums[3 * i + 2]};
    scores.push_back(sum.score(parts_.model.task));
  }
}

void CudaEvaluator::add_batches(CudaNet& net, std::size_t nodes, std::size_t batch,
                                const Lists& lists) {
  const Pass pass{.stream = stream_.get(),
                  .nodes = static_cast<int>(nodes),
                  .batch = static_cast<int>(batch),
                  .parameters = working_.data(),
                  .dimension = net.dimension(),
                  .precision = parts_.device.precision,
                  .training = false};
  for (std::size_t start = 0; start < lists.length; start += batch) {
    const Rows rows = data_.rows(samples_.data() + start, lists.stride);
    net.forward(pass, rows);
    add_scores(pass,
               {.classes = static_cast<int>(parts_.model.task.classes),
                .targets = data_.targets(),
                .chosen = rows.chosen,
                .counted = counted_.data() + start,
                .chosen_stride = lists.stride,
                .ratings = {kLowestRating, kHighestRating, kRatingTolerance}},
               net.outputs(), sums_.data());
  }
}

}  // namespace

std::unique_ptr<Evaluator> make_evaluator(StackedEvaluatorParts parts, InCommon in_common) {
  return std::make_unique<CudaEvaluator>(std::move(parts), std::move(in_common));
}

}  // namespace tessera::cuda
