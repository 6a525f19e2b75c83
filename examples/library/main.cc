// Sixteen nodes fit one line through points that each keeps to itself: the library without the
// program. A trainer of your own is three functions, an evaluator one; everything else is the lines
// an experiment's file has.
#include <protocol/protocols.h>
#include <run/simulated_run.h>
#include <sharing/sharing.h>

#include <cmath>
#include <cstdio>
#include <memory>

using namespace tessera;

constexpr std::size_t kWeights = 2000;

// y = truth . x with few inputs switched on in each point; every node draws points of its own.
class LineTrainer : public Trainer {
 public:
  LineTrainer() : truth_(kWeights) {
    Random random = Random(90).fork("truth");
    for (float& weight : truth_) weight = static_cast<float>(random.normal());
  }

  std::size_t dimension() const override { return kWeights; }
  Vector initial_model() const override { return Vector(kWeights); }
  void train(std::span<TrainJob> cohort) override {
    for (TrainJob& job : cohort)
      for (int step = 0; step < 100; ++step) improve(job.model, job.random);
  }

  double error(std::span<const float> model) const {
    double sum = 0;
    for (std::size_t i = 0; i < kWeights; ++i) sum += std::pow(model[i] - truth_[i], 2);
    return std::sqrt(sum / kWeights);
  }

 private:
  void improve(std::span<float> model, Random& random) const {
    const auto on = random.sample(kWeights, 8);
    float miss = 0;
    for (const std::uint32_t i : on) miss += truth_[i] - model[i];
    for (const std::uint32_t i : on) model[i] += 0.1f * miss;
  }

  Vector truth_;
};

class LineEvaluator : public Evaluator {
 public:
  explicit LineEvaluator(const LineTrainer& trainer) : trainer_(trainer) {}
  std::vector<Score> evaluate(std::span<const NodeId>,
                              std::span<const std::span<const float>> models) override {
    std::vector<Score> scores;
    for (const auto model : models) scores.push_back({.loss = trainer_.error(model)});
    return scores;
  }

 private:
  const LineTrainer& trainer_;
};

void run(const char* sharing, const char* protocol = "dpsgd:rounds=100") {
  auto trainer = std::make_unique<LineTrainer>();
  auto evaluator = std::make_unique<LineEvaluator>(*trainer);
  SimulatedRun run(read_plan({.nodes = "16",
                              .topology = "regular:degree=4",
                              .protocol = protocol,
                              .sharing = sharing,
                              .network = "links:up=1Mbit/s,down=1Mbit/s,latency=10ms"}),
                   {.trainer = std::move(trainer), .evaluator = std::move(evaluator)});
  const Summary summary = run.to_end();
  std::printf("%-17s %-17s error %.3f, %llu bytes from each node, %.1f s\n", sharing, protocol,
              summary.last.loss.max,
              static_cast<unsigned long long>(run.simulation().sent(0).bytes),
              summary.last.seconds);
}

// In window.cc: a sharing of your own, which becomes a word like the others.
std::unique_ptr<Sharing> make_window(Options& options, const SharingContext& context);
// In gossip.cc: a protocol of your own, likewise.
PreparedProtocol prepare_gossip(Options& options, const ProtocolContext& context);

int main() {
  register_sharing({.name = "window",
                    .usage = "window:length=400",
                    .summary = "a window of the model that moves on every round",
                    .make = make_window});
  register_protocol({.name = "gossip",
                     .usage = "gossip:until=67s",
                     .summary = "one random neighbour after every training",
                     .prepare = prepare_gossip});
  run("full");
  run("random:budget=0.2");
  run("jwins:budget=0.2");
  run("window:length=400");
  run("full", "gossip:rounds=100");
}
