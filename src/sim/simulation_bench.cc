#include "sim/simulation_bench.h"

#include <fmt/format.h>

#include "base/stopwatch.h"
#include "sim/toy_world.h"

namespace tessera {
namespace {

struct Speed {
  double delivered_per_s = 0, messages_per_node_round = 0;
};

// DivShare as in its paper, F = 10 fragments to J = 6 nodes each, half of the nodes stragglers, on
// a model so small that the simulator itself is what takes the time. Sixty messages of 112 bytes
// take a fast node 0.4 s of its rounds of 1 s, as they do in the paper's setting.
Speed run_divshare(std::uint32_t nodes, std::string_view network, double virtual_s) {
  ToyWorldOptions options;
  options.nodes = nodes;
  options.dimension = 100;
  options.topology = "ring";
  options.protocol = fmt::format("divshare:fanout=6,until={}s", virtual_s);
  options.sharing = "fragments:fraction=0.1";
  options.codec = "raw32+f32";
  options.network = fmt::format("{}:up=17kB/s,down=17kB/s,latency=1ms,stragglers={},slowdown=5",
                                network, nodes / 2);
  ToyWorld world(options);
  const Stopwatch watch;
  world.run();
  const double seconds = watch.seconds();
  double delivered = 0;
  for (NodeId id = 0; id < nodes; ++id)
    delivered += static_cast<double>(world.simulation->mail(id).delivered.messages);
  return {delivered / seconds, delivered / nodes / virtual_s};
}

}  // namespace

void bench_simulator(Bench& bench) {
  bench.section("DivShare, F = 10, J = 6, toy model, one core: delivered messages per second");
  // Enough rounds for queues to be as long as they get.
  const double virtual_s = bench.options().seconds_per_contender < 0.1 ? 3 : 10;
  const bool quick = bench.options().seconds_per_contender < 0.1;
  for (const std::string_view network : {"fifo", "links"}) {
    for (const std::uint32_t nodes : {100u, 1'000u, 10'000u}) {
      if (quick && nodes > 100) continue;
      const Speed speed = run_divshare(nodes, network, nodes > 1'000 ? virtual_s / 2 : virtual_s);
      bench.say(fmt::format("{:<6} {:>6} nodes  {:>12.0f} messages/s  {:>5.1f} per node and round",
                            network, nodes, speed.delivered_per_s, speed.messages_per_node_round));
      if (nodes == 1'000)
        bench.goal(fmt::format("{} messages per second at 1,000 nodes", network),
                   speed.delivered_per_s, network == "fifo" ? 1e6 : 1e5);
    }
  }
}

}  // namespace tessera
