// A simulated world around the quadratic toy in one call, for tests, benchmarks and the swarm; each
// states only what differs.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "learn/quadratic.h"
#include "protocol/protocols.h"
#include "sim/simulation.h"
#include "topology/topology.h"

namespace tessera {

struct ToyWorldOptions {
  std::uint32_t nodes = 8;
  std::size_t dimension = 200;
  float noise = QuadraticOptions{}.noise;  // Of the toy's gradients.
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::string topology = "ring";
  std::string protocol = "dpsgd:rounds=60";
  std::string sharing = "full";
  std::string codec = "gamma+planes";
  std::string network = "ideal";
  std::string compute = "constant:round=1s";
  std::string faults = "none";
};

struct ToyWorld {
  explicit ToyWorld(const ToyWorldOptions& options)
      : trainer({.nodes = options.nodes,
                 .dimension = options.dimension,
                 .seed = options.seed,
                 .noise = options.noise}) {
    const Random root(options.seed);
    std::shared_ptr<const Topology> topology =
        make_topology(options.topology, options.nodes, root.fork("topology"));
    const PreparedProtocol protocol = prepare_protocol(
        options.protocol,
        {.nodes = options.nodes, .topology = topology, .random = root.fork("protocol")});
    const Codec codec = parse_codec(options.codec);
    const SharingContext context{.dimension = static_cast<std::uint32_t>(options.dimension),
                                 .seed = options.seed,
                                 .lossless_codec = !codec.values || codec.values->lossless};
    SimulationParts parts{.nodes = options.nodes, .trainer = &trainer, .threads = options.threads};
    parts.make_node = [=, this](NodeId id) {
      return std::make_unique<Node>(NodeParts{.id = id,
                                              .run = options.seed,
                                              .model = trainer.initial_model(),
                                              .sharing = make_sharing(options.sharing, context),
                                              .protocol = protocol.make(id),
                                              .codec = codec,
                                              .random = root.fork("node", id)});
    };
    parts.network =
        make_network(options.network, {.nodes = options.nodes, .random = root.fork("network")});
    parts.compute =
        make_compute(options.compute, {.nodes = options.nodes, .random = root.fork("compute")});
    parts.faults = make_faults(options.faults, options.nodes, root.fork("faults"));
    simulation = std::make_unique<Simulation>(std::move(parts));
  }

  // Steps until nothing is left to do; returns the digest of all models.
  std::uint64_t run() {
    simulation->start();
    while (simulation->step()) {
    }
    return simulation->model_digest();
  }

  // Mean over nodes of the distance to the optimum.
  double error() const {
    double sum = 0;
    for (NodeId id = 0; id < simulation->node_count(); ++id)
      sum += trainer.distance_to_optimum(simulation->node(id).model());
    return sum / static_cast<double>(simulation->node_count());
  }

  Quadratic trainer;
  std::unique_ptr<Simulation> simulation{};
};

}  // namespace tessera
