// Sixteen nodes fit one line through points that each keeps to itself: the library without the
// program. A trainer of your own is three functions; sharing, protocol, topology and network are
// the same one-line specs an experiment's file has.
#include <base/table.h>
#include <codec/codec.h>
#include <protocol/protocols.h>
#include <sim/simulation.h>
#include <topology/topology.h>

#include <cmath>
#include <cstdio>
#include <memory>

using namespace tessera;

constexpr std::uint32_t kNodes = 16;
constexpr std::size_t kWeights = 2000;
constexpr std::uint64_t kSeed = 90;

// y = truth . x with few inputs switched on in each point; every node draws points of its own.
class LineTrainer : public Trainer {
 public:
  LineTrainer() : truth_(kWeights) {
    Random random = Random(kSeed).fork("truth");
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

class Silent : public Observer {
  void on_rounds_done(const Simulation&, std::span<const RoundDone>) override {}
};

void run(const char* sharing) {
  LineTrainer trainer;
  const Random root(kSeed);
  const auto topology = std::shared_ptr<const Topology>(
      make_topology("regular:degree=4", kNodes, root.fork("topology")));
  const PreparedProtocol protocol = prepare_protocol(
      "dpsgd:rounds=100", {.nodes = kNodes, .topology = topology, .random = root.fork("protocol")});
  SimulationParts parts{.nodes = kNodes, .trainer = &trainer};
  parts.network = make_network("links:up=1Mbit/s,down=1Mbit/s,latency=10ms",
                               {.nodes = kNodes, .random = root.fork("network")});
  parts.make_node = [&](NodeId id) {
    return std::make_unique<Node>(
        NodeParts{.id = id,
                  .model = trainer.initial_model(),
                  .sharing = make_sharing(sharing, {.dimension = kWeights, .seed = kSeed}),
                  .protocol = protocol.make(id),
                  .codec = parse_codec("gamma+planes"),
                  .random = root.fork("node", id)});
  };
  Simulation simulation(std::move(parts));
  Silent observer;
  simulation.start();
  while (simulation.step(observer)) continue;

  double worst = 0;
  for (NodeId id = 0; id < kNodes; ++id)
    worst = std::fmax(worst, trainer.error(simulation.node(id).model()));
  std::printf("%-24s error %.3f, %llu bytes from each node, %.1f s\n", sharing, worst,
              static_cast<unsigned long long>(simulation.sent(0).bytes),
              to_seconds(simulation.now().time_since_epoch()));
}

int main() {
  run("full");
  run("random:budget=0.2");
  run("jwins:budget=0.2");
}
