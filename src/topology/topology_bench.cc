#include "topology/topology_bench.h"

#include <fmt/format.h>

#include "base/random.h"
#include "topology/mixing.h"
#include "topology/peer_sampling.h"
#include "topology/topology.h"

namespace tessera {
namespace {

// The time of one draw, which a redrawn topology pays once a round for all nodes together.
void bench_draw(Bench& bench, std::string_view spec, std::uint32_t nodes) {
  const auto topology = make_topology(fmt::format("{},redraw=yes", spec), nodes, Random(1));
  bench.verify(is_connected(*topology->graph(0)), "connected");
  Round round = 0;
  const auto draw = [&] { keep(topology->graph(++round).get()); };
  const auto bytes = static_cast<double>(topology->graph(0)->edge_count() * 2 * sizeof(NodeId));
  bench.row(fmt::format("{} nodes={}", spec, nodes), bench.time(draw), bytes);
}

}  // namespace

void bench_topology(Bench& bench) {
  bench.section("draw a graph");
  for (const std::uint32_t nodes : {96u, 1'000u, 10'000u})
    for (const std::string_view spec :
         {"regular:degree=4", "regular:degree=6", "small-world:degree=4", "bipartite:degree=4",
          "erdos-renyi:degree=10"})
      bench_draw(bench, spec, nodes);

  constexpr std::uint32_t kNodes = 1'000;
  const auto topology = make_topology("regular:degree=4,redraw=yes", kNodes, Random(1));
  const auto graph = topology->graph(0);
  NodeId node = 0;
  Random random(2);
  const double bytes = 4 * sizeof(NodeId);
  bench.section(fmt::format("ask for peers among {} nodes", kNodes));
  bench.row("Topology::peers, drawn before",
            bench.time([&] { keep(topology->peers(++node % kNodes, 0).data()); }), bytes);
  bench.row("sample_peers, 6",
            bench.time([&] { keep(sample_peers(kNodes, ++node % kNodes, 6, random).data()); }),
            6 * sizeof(NodeId));
  bench.section(fmt::format("second eigenvalue of {} nodes", kNodes));
  bench.row("regular:degree=4", bench.time([&] { keep(second_eigenvalue(*graph)); }),
            static_cast<double>(graph->edge_count() * 2 * sizeof(NodeId)));
}

}  // namespace tessera
