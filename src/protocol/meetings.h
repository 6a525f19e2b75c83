// The schedule: who sends to whom in a round of a synchronous protocol. Every node can answer for
// every other from the seed alone, so a receiver knows whom to wait for without being told.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "topology/peer_sampling.h"
#include "topology/topology.h"

namespace tessera {

class Meetings {
 public:
  virtual ~Meetings() = default;
  virtual std::vector<NodeId> targets(NodeId node, Round round) const = 0;  // Ascending.
  virtual std::vector<NodeId> sources(NodeId node, Round round) const = 0;  // Ascending.
  // Whether `from` tells `to`. Cheap even for rounds no node has reached: anyone may claim to be in
  // one.
  virtual bool meet(NodeId from, NodeId to, Round round) const = 0;
  virtual bool fixed() const = 0;  // Whether every round is like the first.
  // The weight `to` gives what `from` tells it, where that is part of the plan; nothing where the
  // protocol works it out.
  virtual std::optional<double> weight(NodeId, NodeId, Round) const { return std::nullopt; }
};

// Along the edges of the round's graph: both ways, or as their directions and weights say.
class GraphMeetings final : public Meetings {
 public:
  explicit GraphMeetings(std::shared_ptr<const Topology> topology)
      : topology_(std::move(topology)) {}
  std::vector<NodeId> targets(NodeId node, Round round) const override;
  std::vector<NodeId> sources(NodeId node, Round round) const override;
  bool meet(NodeId from, NodeId to, Round round) const override;
  bool fixed() const override { return !topology_->redrawn(); }
  std::optional<double> weight(NodeId from, NodeId to, Round round) const override;

 private:
  std::shared_ptr<const Topology> topology_;
};

// Epidemic Learning, local form: each round every node picks `fanout` others at random. Shared by
// the nodes of one process, which then draw each round once; several threads may ask.
class EpidemicMeetings final : public Meetings {
 public:
  EpidemicMeetings(std::uint32_t nodes, std::uint32_t fanout, Random random);
  std::vector<NodeId> targets(NodeId node, Round round) const override;
  std::vector<NodeId> sources(NodeId node, Round round) const override;
  bool meet(NodeId from, NodeId to, Round round) const override;
  bool fixed() const override { return false; }

 private:
  struct Drawn {
    Round round = 0;
    std::vector<std::vector<NodeId>> targets{}, sources{};
  };
  std::vector<NodeId> draw(NodeId node, Round round) const;  // Its targets, in random order.
  std::shared_ptr<const Drawn> drawn_for(Round round) const;

  std::uint32_t nodes_, fanout_;
  Random random_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Drawn>> recent_;
};

}  // namespace tessera
