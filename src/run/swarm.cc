#include "run/swarm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace tessera {
namespace {

// What each node must do at least between healing and the end, where there is time for it.
constexpr Round kAfterHealing = 5;
// In seconds. A training takes 2 s at most, a straggler's four times as long, and half as much
// again where its speed was drawn low.
constexpr double kSlowestRound = 12;

// What must hold after every event, whatever the world: of the honest nodes.
class Auditor {
 public:
  Auditor(const Simulation& simulation, const Plan& plan)
      : simulation_(simulation), hostile_(plan.nodes, false) {
    for (const NodeId id : plan.faults.hostile()) hostile_[id] = true;
    for (NodeId id = 0; id < plan.nodes; ++id)
      fastest_ = std::min(fastest_, plan.world->compute->training_time(id, 0, Instant{}));
    rounds_are_earned_ = outvoted(plan);
  }

  bool is_hostile(NodeId id) const { return hostile_[id]; }

  Result<void> check() {
    if (simulation_.now() < before_) return broken("time ran backwards");
    before_ = simulation_.now();
    const Ledger books = simulation_.ledger();
    if (!books.balances())
      return broken(fmt::format("{} bytes were offered, {} delivered, {} dropped, {} on their way",
                                books.offered, books.delivered, books.dropped, books.on_their_way));
    return {};
  }

  // Too dear for every event.
  Result<void> check_nodes() const {
    for (NodeId id = 0; id < simulation_.node_count(); ++id)
      if (const std::string wrong = is_hostile(id) ? "" : wrong_with(simulation_.node(id));
          !wrong.empty())
        return broken(fmt::format("node {} {}", id, wrong));
    return {};
  }

  Error broken(const std::string& what) const {
    return {"invariant",
            fmt::format("at {:.6f} s: {}", to_seconds(simulation_.now().time_since_epoch()), what)};
  }

 private:
  // Whether no honest node can be moved by hostile ones: they do not lie about rounds, or they are
  // half of its neighbours at most.
  bool outvoted(const Plan& plan) const {
    const AttackKind* const attack = plan.faults.attack().kind;
    if (!attack || !attack->moves_rounds) return true;
    if (!plan.protocol.kind->fixed_peers || plan.topology->redrawn() ||
        plan.topology->has_weights())
      return false;
    const Neighbours neighbours(hostile_, plan.topology->graph(0));
    for (NodeId id = 0; id < plan.nodes; ++id)
      if (2 * neighbours.hostile(id).size() > plan.topology->graph(0)->degree(id)) return false;
    return true;
  }

  std::string wrong_with(const Node& node) const {
    for (const float x : node.model())
      if (!std::isfinite(x)) return "has a model that is not finite";
    for (const auto& [reason, senders] : node.refusals_by_sender())
      for (const auto& [from, count] : senders)
        if (!may_refuse(reason, from))
          return fmt::format("refused {} messages of node {} as '{}'", count, from, reason);
    if (node.kept_bytes() > kept_bytes_max(node))
      return fmt::format("keeps {} bytes of its peers' shares", node.kept_bytes());
    if (node.rounds_done() > node.age() + node.rounds_skipped())
      return fmt::format("says {} rounds after {} trainings and {} rounds skipped",
                         node.rounds_done(), node.age(), node.rounds_skipped());
    const Duration passed = simulation_.now().time_since_epoch();
    if (rounds_are_earned_ && static_cast<std::int64_t>(node.rounds_done()) * fastest_ > passed)
      return fmt::format("is in round {}, for which nobody had the time", node.rounds_done());
    return "";
  }

  // A node may turn down what faults made late, early or double, or what comes from a peer it has
  // outlived, and of hostile nodes what it does not believe. An honest one that they have led far
  // astray may be too large to be believed, never more than that. Nobody finds a message damaged:
  // no fault and no attack breaks one.
  bool may_refuse(std::string_view reason, NodeId from) const {
    if (Node::is_ordinary(reason)) return true;
    if (reason == "too-large") return std::count(hostile_.begin(), hostile_.end(), true) > 0;
    return is_hostile(from) && (reason == "not-finite" || reason == "stranger");
  }

  // Sixteen rounds of each peer, or one model in pieces, each value with its index. A wavelet's
  // borders add to small models.
  std::size_t kept_bytes_max(const Node& node) const {
    const std::size_t coordinates = 2 * node.model().size() + 64;
    return (hostile_.size() - 1) * 16 * coordinates * (sizeof(float) + sizeof(std::uint32_t));
  }

  const Simulation& simulation_;
  std::vector<bool> hostile_;           // By node.
  Duration fastest_ = Duration::max();  // A training of the fastest node.
  bool rounds_are_earned_ = true;
  Instant before_{};
};

Instant at_seconds(double seconds) {
  return Instant(Duration(static_cast<std::int64_t>(seconds * 1e9)));
}

// Where a node stood when the faults were over for it: they had ended, and it was there. One that
// is down when they end comes back later, and may know nothing.
struct Healed {
  Round rounds = 0;
  double at_s = 0;
};

// The part of a node's time that is not lost to merges by time, however long they take.
double free_of_merges(const Plan& plan) {
  if (!plan.merge || plan.merge->period == Duration::zero()) return 1;
  const MergingOptions& merging = plan.merge->options;
  return 1 - to_seconds(merging.patience * merging.topology->cycle_length()) /
                 to_seconds(plan.merge->period);
}

// Every honest node that had not finished by then has got on since, as far as there was time for
// it.
Result<void> check_progress(const Simulation& simulation, const Auditor& auditor, const Plan& plan,
                            const std::map<NodeId, Healed>& healed) {
  if (!simulation.finished()) return auditor.broken(simulation.why_stuck());
  for (const auto& [id, then] : healed) {
    const auto time_for = static_cast<Round>(std::max(0.0, kSwarmEndsAt - then.at_s) *
                                             free_of_merges(plan) / kSlowestRound);
    if (auditor.is_hostile(id)) continue;
    const Round now = simulation.node(id).rounds_done();
    if (now < std::min(then.rounds + std::min(time_for, kAfterHealing), kSwarmRounds))
      return auditor.broken(
          fmt::format("node {} had done {} rounds at {:.1f} s, with the faults over, and {} at the "
                      "end",
                      id, then.rounds, then.at_s, now));
  }
  return {};
}

}  // namespace

Result<SwarmStory> run_swarm_world(std::uint64_t seed, unsigned threads) {
  ToyWorldOptions options = swarm_world(seed);
  options.threads = threads;
  ToyWorld world(options);
  Simulation& simulation = *world.simulation;
  Auditor auditor(simulation, world.plan);
  SwarmStory story;
  std::map<NodeId, Healed> healed;
  simulation.start();
  while (true) {
    if (healed.size() < simulation.node_count() && simulation.next() >= at_seconds(kSwarmHealsAt)) {
      if (const auto fine = auditor.check_nodes(); !fine) return fine.error();
      const double now_s = std::max(kSwarmHealsAt, to_seconds(simulation.now().time_since_epoch()));
      for (NodeId id = 0; id < simulation.node_count(); ++id)
        if (simulation.is_up(id)) healed.insert({id, {simulation.node(id).rounds_done(), now_s}});
    }
    if (!simulation.step()) break;
    ++story.events;
    if (const auto fine = auditor.check(); !fine) return fine.error();
    // Nothing here takes longer than this; a world that does has lost its way.
    if (simulation.now() > at_seconds(1000 * kSwarmEndsAt))
      return auditor.broken("the run does not come to an end");
  }
  if (const auto fine = auditor.check_nodes(); !fine) return fine.error();
  if (const auto fine = check_progress(simulation, auditor, world.plan, healed); !fine)
    return fine.error();
  for (NodeId id = 0; id < simulation.node_count(); ++id)
    story.messages += simulation.counts(id).offered.messages;
  for (const auto& [reason, count] : simulation.refusals()) story.refused += count;
  story.crashes = simulation.crashes();
  story.hostile = world.plan.faults.hostile().size();
  story.merges = world.plan.merge.has_value();
  story.virtual_seconds = to_seconds(simulation.now().time_since_epoch());
  story.digest = simulation.model_digest();
  return story;
}

}  // namespace tessera
