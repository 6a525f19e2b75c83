#include "run/simulation_bench.h"

#include <fmt/format.h>

#include "base/stopwatch.h"
#include "run/toy_world.h"

namespace tessera {
namespace {

struct Speed {
  double delivered_per_s = 0, messages_per_node_round = 0;
};

// With stragglers, half of the nodes have a fifth of the bandwidth, and two fifths of what is
// offered are taken back, which costs about as much as delivering them.
struct Setting {
  std::string_view network{};
  bool stragglers = false;
};

// DivShare as in its paper, F = 10 fragments to J = 6 nodes each, on a model so small that the
// simulator itself is what takes the time. Sixty messages of 104 bytes take a fast node 0.4 s of
// its rounds of 1 s, as they do in the paper's setting.
Speed run_divshare(std::uint32_t nodes, const Setting& setting, double virtual_s) {
  ToyWorldOptions options;
  options.nodes = nodes;
  options.dimension = 40;
  options.noise = 0;
  options.topology = "ring";
  options.protocol = fmt::format("divshare:fanout=6,until={}s", virtual_s);
  options.sharing = "fragments:fraction=0.1";
  options.codec = "raw32+f32";
  options.network = fmt::format("{}:up=16kB/s,down=16kB/s,latency=1ms,stragglers={},slowdown=5",
                                setting.network, setting.stragglers ? nodes / 2 : 0);
  ToyWorld world(options);
  const CpuStopwatch watch;
  world.run();
  const double seconds = watch.seconds();
  double delivered = 0;
  for (NodeId id = 0; id < nodes; ++id)
    delivered += static_cast<double>(world.simulation->counts(id).delivered.messages);
  return {delivered / seconds, delivered / nodes / virtual_s};
}

// The same work every time: what differs is what else goes on in the machine's caches.
Speed best_of(int times, std::uint32_t nodes, const Setting& setting, double virtual_s) {
  Speed best;
  for (int i = 0; i < times; ++i) {
    const Speed speed = run_divshare(nodes, setting, virtual_s);
    if (speed.delivered_per_s > best.delivered_per_s) best = speed;
  }
  return best;
}

}  // namespace

void bench_simulator(Bench& bench) {
  bench.section(
      "DivShare, F = 10, J = 6, toy model of 40 coordinates, one thread: delivered messages per "
      "second of its CPU time, best of 3; one try with 10,000 nodes");
  const bool quick = bench.options().seconds_per_contender < 0.1;
  const double virtual_s = quick ? 3 : 10;  // Enough rounds for queues to be as long as they get.
  for (const Setting& setting :
       {Setting{"fifo"}, Setting{"fifo", true}, Setting{"links"}, Setting{"links", true}}) {
    for (const std::uint32_t nodes : {100u, 1'000u, 10'000u}) {
      if (quick && nodes > 100) continue;
      const Speed speed =
          best_of(nodes > 1'000 ? 1 : 3, nodes, setting, nodes > 1'000 ? virtual_s / 2 : virtual_s);
      const std::string name =
          fmt::format("{}{}", setting.network, setting.stragglers ? ", stragglers" : "");
      bench.say(fmt::format("{:<17} {:>6} nodes  {:>12.0f} messages/s  {:>5.1f} per node and round",
                            name, nodes, speed.delivered_per_s, speed.messages_per_node_round));
      if (nodes == 1'000)
        bench.goal(name + ": messages per second at 1,000 nodes", speed.delivered_per_s / 1e6,
                   setting.network == "fifo" ? 1 : 0.1, " M/s");
    }
  }
}

}  // namespace tessera
