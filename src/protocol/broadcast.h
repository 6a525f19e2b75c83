// SWIFT (Bornstein et al., 2023): after every training a node tells all its neighbours and goes on;
// after every `every`-th it averages with the newest it has of each, with the graph's weights. A
// neighbour that sent nothing new since the last time counts with its stored copy, or, in the
// memory-saving form, not at all: then its weight is the node's own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "node/node.h"
#include "node/protocol.h"
#include "protocol/ending.h"
#include "protocol/pending.h"
#include "topology/graph.h"

namespace tessera {

struct BroadcastOptions {
  std::shared_ptr<const Graph> graph{};
  std::uint32_t every = 1;  // Trainings from one averaging to the next.
  bool stored = true;       // Whether a copy counts until a newer one comes.
  Ending ending{};
};

class Broadcast final : public Protocol {
 public:
  explicit Broadcast(BroadcastOptions options) : options_(std::move(options)) {}

  void on_start(Node& node) override;
  void on_trained(Node& node) override;
  void on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) override;
  void on_wake(Node& node) override;
  Round rounds_done() const override { return done_; }

  void fields(Archive& archive) override;
  std::vector<const Share*> kept() const override { return copies_.shares(); }

 private:
  void average(Node& node);

  BroadcastOptions options_;
  Round done_ = 0;
  Pending copies_;
};

}  // namespace tessera
