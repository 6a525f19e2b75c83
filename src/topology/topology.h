// Who talks to whom in which round. A topology is the same graph for the whole run, or a new one
// drawn for every round. Either way it is a function of the seed: every node works it out alone and
// all agree, whatever order they ask in.
//
//   const auto topology = make_topology("regular:degree=4,redraw=yes", 96, Random(seed));
//   for (NodeId peer : topology->peers(self, round)) ...
//
// Protocols that choose their peers anew for every message need no graph: see peer_sampling.h.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"
#include "topology/graph.h"

namespace tessera {

using DrawGraph = std::function<Graph(const Random& random)>;

class Topology {
 public:
  explicit Topology(Graph graph);  // This graph in every round.
  // A graph of its own for every round: draw(random.fork("round", round)).
  Topology(std::uint32_t nodes, DrawGraph draw, const Random& random);

  std::uint32_t nodes() const { return nodes_; }
  // Whether the graph changes from round to round. Methods that remember their neighbours, such as
  // CHOCO-SGD, cannot work on one that does.
  bool redrawn() const { return draw_ != nullptr; }

  // May be called from several threads. A redrawn graph is kept while later rounds are asked for
  // (the last kKept of them), so all nodes of a simulator share one; whoever holds the pointer may
  // go on reading for as long as they like.
  std::shared_ptr<const Graph> graph(Round round) const;
  std::vector<NodeId> peers(NodeId node, Round round) const;  // Ascending, without the node.

 private:
  static constexpr std::size_t kKept = 8;
  struct Drawn {
    Round round = 0;
    std::shared_ptr<const Graph> graph{};
  };

  std::uint32_t nodes_ = 0;
  DrawGraph draw_{};
  Random random_{0};
  mutable std::mutex mutex_{};
  mutable std::array<Drawn, kKept> drawn_{};  // Round r stands at r % kKept; a fixed graph at 0.
};

// What redraw=yes means to a kind: other edges, other places in the same shape, or nothing.
enum class Redraw : std::uint8_t { kEdges, kPlaces, kNothing };

struct TopologyKind {
  std::string_view name{};
  std::string_view usage{};  // An example that works as it stands, for a few dozen nodes or more.
  std::string_view summary{};
  Redraw redraw = Redraw::kNothing;
  // Reads its options and calls options.done() before it touches files. Throws
  // std::invalid_argument where the nodes do not fit; what it returns always succeeds and always
  // draws a connected graph.
  DrawGraph (*make)(Options& options, std::uint32_t nodes) = nullptr;
};

std::span<const TopologyKind> topologies();

// Every kind that can be drawn again takes redraw=yes. Whatever cannot be done throws
// std::invalid_argument with what to change.
std::unique_ptr<const Topology> make_topology(std::string_view spec, std::uint32_t nodes,
                                              const Random& random);

}  // namespace tessera
