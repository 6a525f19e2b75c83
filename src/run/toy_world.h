// A simulated world around the quadratic toy in one call, for tests, benchmarks and the swarm; each
// states only what differs.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "learn/quadratic.h"
#include "run/lesson.h"
#include "run/plan.h"
#include "run/simulated_run.h"
#include "sim/simulation.h"

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
  std::string rule = "auto";
  std::string codec = "gamma+planes";
  std::string merge = "none";
  std::string network = "ideal";
  std::string compute = "constant:round=1s";
  std::string faults = "none";
};

inline Experiment experiment_of(const ToyWorldOptions& options) {
  return {.nodes = std::to_string(options.nodes),
          .seed = std::to_string(options.seed),
          .model = fmt::format("quadratic:dimension={},noise={}", options.dimension, options.noise),
          .topology = options.topology,
          .protocol = options.protocol,
          .sharing = options.sharing,
          .rule = options.rule,
          .codec = options.codec,
          .merge = options.merge,
          .network = options.network,
          .compute = options.compute,
          .faults = options.faults};
}

struct ToyWorld {
  explicit ToyWorld(const ToyWorldOptions& options)
      : plan(read_plan(experiment_of(options))),
        learning(make_lesson(plan, 1)),
        trainer(dynamic_cast<Quadratic&>(*learning.trainer)),
        simulation(make_simulation(plan, trainer, options.threads)) {}

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

  Plan plan;
  Learning learning;
  Quadratic& trainer;
  std::unique_ptr<Simulation> simulation{};
};

}  // namespace tessera
