// A plan is an experiment that has been read: text becomes typed here, once, and here every line is
// held against the others. A plan can be carried out, but for what only
// the files of its data can tell.
//
//   const Plan plan = read_plan({.nodes = "8", .model = "quadratic", .protocol = "divshare"});
//   SimulatedRun run(plan);
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"
#include "base/time.h"
#include "codec/codec.h"
#include "data/datasets.h"
#include "learn/learning.h"
#include "node/node.h"
#include "protocol/protocols.h"
#include "run/experiment.h"
#include "run/merge_plan.h"
#include "sharing/rule.h"
#include "sharing/sharing.h"
#include "sim/compute.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "topology/topology.h"

namespace tessera {

// What is learnt, from what, and how.
struct LessonPlan {
  LearningOptions options{};
  bool needs_data = true;  // The toy needs none.
  int steps = 1;           // Of one local training.
};

struct ProtocolPlan {
  const ProtocolKind* kind = nullptr;
  PreparedProtocol prepared{};  // Makes one for every node, and knows when they end.

  // In a live run: whether a link whose queue is full lets go of the oldest message, since no node
  // waits for it.
  bool newest_wins() const { return !prepared.waits_for_ever; }
};

// When to test, and on how much.
struct EvaluatePlan {
  Round rounds = 10;        // From one evaluation to the next.
  Duration period{};        // Counts instead of `rounds` where it is not zero.
  std::size_t samples = 0;  // 0: the whole test half.
  bool merged = true;       // Whether the mean of the nodes' models is tested beside them.
  bool start = false;       // Whether there is a row of the models before they are trained.
  bool nodes = false;       // Whether rows have the scores of each node.
  bool by_time() const { return period > Duration::zero(); }
};

// What only a simulation has; a live run has what there is.
struct WorldPlan {
  Chosen<NetworkKind> network{};
  std::vector<NodeId> stragglers{};  // Whose links the network's line slows down, for reports.
  std::shared_ptr<const Compute> compute{};
};

struct Plan {
  Experiment experiment{};  // What it was read from, with every default written out.
  std::uint32_t nodes = 0;
  std::uint64_t seed = 0;
  LessonPlan lesson{};
  std::shared_ptr<const Topology> topology{};
  ProtocolPlan protocol{};
  Chosen<SharingKind> sharing{};
  std::shared_ptr<const Rule> rule{};  // Null: the sharing's own choice.
  Codec codec{};
  std::optional<MergePlan> merge{};
  EvaluatePlan evaluate{};
  Faults faults{};                       // Of which a live cluster has the hostile nodes alone.
  std::vector<NodeId> label_flippers{};  // Whose data is to lie.
  std::optional<WorldPlan> world{};      // None in a plan for live nodes.
  std::uint64_t roster_run = 0;          // Which live run of this experiment it is (live/roster.h).

  Random root() const { return Random(seed); }  // What belongs to the run, not to a node.
  Random fault_random() const { return root().fork("faults"); }
  std::uint64_t run() const;  // Tells this run's messages from another's.
  bool own_data() const;      // Whether each node has its own files.
  // How many of its last messages a live node tells a peer that has come back; none where nobody
  // waits for them. One that was killed goes on from before its last training, and may have told
  // what came of that: its peer is one round ahead then, and all steps of a merge in which they
  // meet.
  std::uint32_t retold(NodeId node) const;
};

// Both throw std::invalid_argument for a wrong line, or for two that contradict each other.
Plan read_plan(const Experiment& experiment);
// Leaves the lines on the network and on computing unread: a file they name need not be on a live
// node's machine.
Plan read_live_plan(const Experiment& experiment);
// One node with all the data and no peers: of the lines only those on learning count.
Plan read_plan_alone(const Experiment& experiment);
// How many rounds a run is to make, by the config.toml in its folder; none where it ends at a
// moment, or where that file is not one of ours.
std::optional<Round> rounds_planned(const std::filesystem::path& folder);
// Makes these nodes' data lie. Throws std::invalid_argument where there are no labels.
void flip_labels(Plan& plan, std::span<const NodeId> nodes);
// Another number of local steps at a time than the plan's lines say, and how many in all, for
// learning rates that fall until the end.
void set_training_steps(Plan& plan, std::int64_t steps, std::int64_t in_all);

// The same node in a simulation and in a live process of its own. All begin with the same model;
// one that comes late may begin with its neighbours'.
std::unique_ptr<Node> make_node(const Plan& plan, NodeId id, Vector model,
                                std::vector<std::uint32_t> tensors, std::uint32_t samples = 0);
std::unique_ptr<Network> make_network(const Plan& plan);

}  // namespace tessera
