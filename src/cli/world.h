// Everything an experiment names, made: data, partition, learning, topology, nodes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cli/experiment.h"
#include "codec/codec.h"
#include "learn/learning.h"
#include "node/node.h"
#include "protocol/protocols.h"
#include "sharing/sharing.h"
#include "sim/simulation.h"
#include "topology/topology.h"

namespace tessera {

// Wall time spent in a lesson, for the summary: what is left of a run is the simulator's own.
struct LessonTime {
  double training_s = 0, evaluating_s = 0;
};
// Wraps trainer and evaluator in ones that measure; `time` must outlive the lesson.
void measure(Learning& lesson, LessonTime& time);

struct EvaluateOptions {
  Round rounds = 10;        // Every so many, or
  Duration period{};        // every so much virtual time where this is not zero.
  std::size_t samples = 0;  // 0: the whole test half.
};

// What an experiment's nodes are made of, from its lines alone. A simulation makes them all, a live
// process only itself, and both make the same ones.
class NodeRecipe {
 public:
  explicit NodeRecipe(const Experiment& experiment);
  // All nodes begin with the same model; one that comes late may begin with its neighbours'.
  std::unique_ptr<Node> make(NodeId id, Vector model, std::vector<std::uint32_t> tensors) const;

  std::uint64_t run = 0;
  Round rounds = 0;  // As PreparedProtocol has them.
  Instant until = kNever;
  std::shared_ptr<const Topology> topology{};

 private:
  SharingContext sharing_context(std::size_t dimension, std::vector<std::uint32_t> tensors) const;

  std::string sharing_;
  std::shared_ptr<const Rule> rule_;
  std::uint64_t seed_ = 0;
  Codec codec_{};
  MakeProtocol make_protocol_{};
};

struct World {
  std::unique_ptr<LessonTime> time{};
  Learning lesson{};
  std::shared_ptr<const Topology> topology{};
  std::unique_ptr<Simulation> simulation{};
  EvaluateOptions evaluate{};
  Round rounds = 0;
  Instant until = kNever;
  std::vector<NodeId> stragglers{};
};

// All throw std::invalid_argument for a wrong line and std::runtime_error for a file that cannot be
// used.
bool is_toy(const Experiment& experiment);  // Needs no data.
EvaluateOptions parse_evaluate(const Experiment& experiment);
LearningOptions learning_options(const Experiment& experiment);  // Of its data and model alone.
Learning make_lesson(const Experiment& experiment, unsigned threads);
std::shared_ptr<const Topology> make_topology(const Experiment& experiment);
World make_world(const Experiment& experiment, unsigned threads);

}  // namespace tessera
