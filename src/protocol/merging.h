// An exact average without a server: all nodes average over a graph whose cycle of rounds gives
// everybody the mean (topology=base), without training in between. It is the second voice of a node
// (node.h), with whole models and a codec of its own, and begins when the first has come to a
// merge.
//
// What holds: where every node takes part and the codec is lossless, all end with the mean of all
// models, to rounding. A peer whose share of a step was refused, or has not come by the step's
// deadline, is left out of that step: its weight is the node's own. Then models are still weighted
// means of models that nodes had when the merge began, but no longer exactly the same mean for all.
//
// Step s of a merge ends (s + 1) * patience after it began at the latest. So a node that went
// on late because of one that is down is in time for the next step, as long as a message takes no
// longer than the patience: only nodes that are down or slow themselves are left out.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/node.h"
#include "node/protocol.h"
#include "protocol/heard.h"
#include "protocol/refused.h"
#include "topology/topology.h"

namespace tessera {

struct MergingOptions {
  std::shared_ptr<const Topology> topology{};  // One with a cycle.
  Duration patience{};                         // Per step; zero: without end.
};

class Merging final : public Protocol {
 public:
  Merging(NodeId self, MergingOptions options) : self_(self), options_(std::move(options)) {}

  void on_start(Node& node) override;  // A merge begins, or goes on after a crash.
  void on_trained(Node&) override {}
  void on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) override;
  void on_refused(Node& node, NodeId from, const Heading& heading) override;
  void on_wake(Node& node) override;
  Round rounds_done() const override { return step_; }
  std::string waiting_for() const override;

  void fields(Archive& archive) override;
  std::vector<const Share*> kept() const override { return heard_.shares(); }

 private:
  Round length() const { return options_.topology->cycle_length(); }
  std::vector<NodeId> missing() const;  // Whose share of the step under way has not come.
  Instant deadline() const;
  void tell(Node& node);
  void wait(Node& node);
  void forget_before_step();
  void finish_step(Node& node);

  NodeId self_;
  MergingOptions options_;
  Round step_ = 0;  // The one under way or to come, counted through all merges of the run.
  bool under_way_ = false;
  Instant began_{};
  Heard heard_{};
  Refused refused_{};
};

}  // namespace tessera
