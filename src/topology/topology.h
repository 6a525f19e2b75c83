// Who talks to whom in which round. A topology is the same graph for the whole run, a new one drawn
// for every round, or a cycle of graphs that comes again and again. In each case it is a function
// of the seed: every node works it out alone and all agree, whatever order they ask in.
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
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"
#include "topology/graph.h"
#include "topology/weighted_graph.h"

namespace tessera {

using DrawGraph = std::function<Graph(const Random& random)>;

// Graphs with weights of their own, one after the other: round r has that of step r % length.
struct Cycle {
  std::uint32_t length = 1;
  std::function<WeightedGraph(std::uint32_t step)> step{};
};

using Scheme = std::variant<DrawGraph, Cycle>;

class Topology {
 public:
  explicit Topology(Graph graph);  // This graph in every round.
  // A graph of its own for every round: draw(random.fork("round", round)).
  Topology(std::uint32_t nodes, DrawGraph draw, const Random& random);
  Topology(std::uint32_t nodes, Cycle cycle);

  std::uint32_t nodes() const { return nodes_; }
  // Whether the graph changes from round to round. Methods that remember their neighbours, such as
  // CHOCO-SGD, cannot work on one that does.
  bool redrawn() const { return draw_ != nullptr || cycle_.length > 1; }
  // Whether edges have directions and weights of their own. If not, they go both ways and weigh
  // what mixing.h says.
  bool has_weights() const { return cycle_.step != nullptr; }
  std::uint32_t cycle_length() const { return cycle_.length; }  // 1 where there is no cycle.

  // May be called from several threads. A redrawn graph is kept while later rounds are asked for
  // (the last kKept of them), so all nodes of a simulator share one; whoever holds the pointer may
  // go on reading for as long as they like.
  std::shared_ptr<const Graph> graph(Round round) const;
  // Of one that has weights; graph() is who meets in it, whichever way.
  std::shared_ptr<const WeightedGraph> weighted(Round round) const;
  std::vector<NodeId> peers(NodeId node, Round round) const;  // Ascending, without the node.

 private:
  static constexpr std::size_t kKept = 8;
  struct Drawn {
    Round round = 0;
    std::shared_ptr<const Graph> graph{};
    std::shared_ptr<const WeightedGraph> weighted{};
  };
  const Drawn& drawn(Round round) const;  // Under the lock.

  std::uint32_t nodes_ = 0;
  DrawGraph draw_{};
  Random random_{0};
  Cycle cycle_{};
  mutable std::mutex mutex_{};
  mutable std::array<Drawn, kKept> drawn_{};  // Round r stands at r % kKept; a fixed graph at 0.
};

// What redraw=yes means to a kind: other edges, other places in the same shape, nothing where the
// graph or its cycle is given, or what it does anyway.
enum class Redraw : std::uint8_t { kEdges, kPlaces, kNothing, kCycle, kAlways };

struct TopologyKind {
  std::string_view name{};
  std::string_view usage{};  // An example that works as it stands, for a few dozen nodes or more.
  std::string_view summary{};
  Redraw redraw = Redraw::kNothing;
  // Reads its options and calls options.done() before it touches files. Throws
  // std::invalid_argument where the nodes do not fit; what it returns always succeeds. A graph that
  // stays is connected; of those that change by themselves a few rounds together are.
  Scheme (*make)(Options& options, std::uint32_t nodes) = nullptr;
};

std::span<const TopologyKind> topologies();

// Every kind that can be drawn again takes redraw=yes. Whatever cannot be done throws
// std::invalid_argument with what to change.
std::unique_ptr<const Topology> make_topology(std::string_view spec, std::uint32_t nodes,
                                              const Random& random);

}  // namespace tessera
