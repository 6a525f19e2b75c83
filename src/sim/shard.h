// Nodes with what belongs to them alone: their states, their trainings, and what they did when they
// last handled events. Nothing in here knows of time or of networks.
//
// A simulation that is spread over several ranks has a shard in each, which holds a block of the
// nodes (blocks.h) and knows of the others what they did and how far they are. What is outside the
// shard (clock, network, faults, lives, progress) is small, follows from effects and standings
// alone, and is the same in all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/prefetch.h"
#include "base/threads.h"
#include "base/word_counts.h"
#include "node/node.h"
#include "sim/blocks.h"
#include "sim/effects.h"
#include "sim/node_progress.h"
#include "sim/trainings.h"

namespace tessera {

struct NodeEvent {
  NodeId node = 0;
  Event event{};
};

struct ShardParts {
  std::uint32_t nodes = 0;
  std::function<std::unique_ptr<Node>(NodeId)> make_node{};
  Trainer* trainer = nullptr;
  unsigned threads = 1;    // For packing, encoding, merging; 0: one per core.
  Ranks* ranks = nullptr;  // None: all nodes are held here.
  // Whether a training may be computed before its time is up. Not where nodes may crash: of a
  // training that is cancelled before its time, the optimizer would remember steps never made.
  bool computes_early = false;
};

class Shard {
 public:
  explicit Shard(ShardParts parts);

  std::size_t size() const { return nodes_.size(); }  // Of all ranks.
  bool holds(NodeId id) const { return nodes_[id] != nullptr; }
  Blocks& blocks() { return blocks_; }
  const Blocks& blocks() const { return blocks_; }
  const Node& node(NodeId id) const;              // Of one that is held here.
  std::span<const float> model(NodeId id) const;  // Of one that is held here or lent; else empty.
  Standing standing(NodeId id) const;
  // Of all nodes, and asked by all ranks together.
  Vector model_of_any(NodeId id) const;
  std::string waiting_for(NodeId id) const;
  WordCounts refusals() const;
  std::uint64_t model_digest() const;  // Of the models in the order of ids.

  // Hands out the events: each node's in their order, different nodes' in parallel. A Trained
  // without a model gets what became of the training that was ended, right before its node handles
  // it, and `mend`, where there is one, may change that. What the nodes do is in effects()
  // afterwards.
  using Mend = std::function<void(NodeId, Trained&)>;
  void handle(std::vector<NodeEvent>& batch, Instant now, const Mend& mend = {});
  std::span<const NodeId> touched() const { return touched_; }  // Who handled something, ascending.
  Effects& effects(std::size_t i) { return effects_[i]; }       // Of touched()[i].
  // All ranks together: models that others hold can be asked for, until they are given back.
  void borrow_models();
  void return_models() { lent_.clear(); }
  // All ranks together, before effects and standings of nodes held elsewhere are asked for.
  void tell_effects();
  void tell_standings();
  // Throws Divergence when the model of one that was touched has diverged.
  void refuse_divergence(Instant now) const;

  void begin_training(NodeId id, Training training) { trainings_.begin(id, std::move(training)); }
  void end_training(NodeId id) { trainings_.end(id); }
  void cancel_training(NodeId id) { trainings_.cancel(id); }
  bool trains(NodeId id) const { return trainings_.model(id) != nullptr; }

  Bytes snapshot(NodeId id) const;
  // Puts a new node in the place of one that crashed, as its snapshot says; empty: as at the start.
  void renew(NodeId id, const Bytes& snapshot);
  bool can_renew(NodeId id, const Bytes& snapshot) const;

  void prefetch_node(NodeId id) const {
    if (holds(id)) prefetch(*nodes_[id]);
  }

  void fields(Archive& archive);

 private:
  void sort_by_node(const std::vector<NodeEvent>& batch);
  void complete(NodeId id, Event& event, const Mend& mend);
  std::size_t held_and_touched() const;

  Blocks blocks_;
  std::function<std::unique_ptr<Node>(NodeId)> make_node_;
  std::vector<std::unique_ptr<Node>> nodes_;  // None where another rank holds it.
  std::vector<Standing> standings_;           // By node, where there are several ranks.
  std::vector<Vector> lent_;                  // By node, while models are lent.
  Trainings trainings_;
  bool computes_early_;
  Workers workers_;
  std::vector<NodeId> touched_;
  std::vector<Effects> effects_;      // At least as many as `touched_`: their memory is kept.
  std::vector<std::uint64_t> order_;  // Node x 2^32 + number of the event in the batch, ascending.
  std::vector<std::size_t> begins_;   // Where each touched node's events begin in `order_`.
};

}  // namespace tessera
