// The worlds of the swarm, drawn from a seed.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "run/swarm.h"

namespace tessera {
namespace {

template <typename T, std::size_t N>
const T& one_of(Random& random, const T (&choices)[N]) {
  return choices[random.below(N)];
}

bool chance(Random& random, double p) {
  return random.uniform() < p;
}

// What a protocol asks of the graph its nodes are on.
enum class Graphs { kAny, kFixed, kTwoSided };

struct DrawnProtocol {
  std::string line{};
  Graphs graphs = Graphs::kAny;
  bool takes_pieces = false;
};

DrawnProtocol draw_protocol(Random& random, std::uint32_t nodes) {
  const std::string fanout = fmt::format("fanout={}", 1 + random.below(std::min(nodes - 1, 4u)));
  const std::string until = fmt::format("until={}s", kSwarmEndsAt);
  const std::string patience = fmt::format("patience={}s", 2 + random.below(4));
  switch (random.below(8)) {
    case 0:
      return {fmt::format("dpsgd:rounds={},{}", kSwarmRounds, patience), Graphs::kFixed};
    case 1:
      return {fmt::format("epidemic:rounds={},{},{}", kSwarmRounds, fanout, patience)};
    case 2:
    case 3:
      return {fmt::format("divshare:{},{},lag={},clear={}", fanout, until,
                          chance(random, 0.8) ? "yes" : "no", chance(random, 0.8) ? "yes" : "no"),
              Graphs::kAny, true};
    case 4:
      return {fmt::format("adpsgd:form=pings,fanout={},{}", 2, until)};
    case 5:
      return {fmt::format("adpsgd:form=pairwise,patience=5s,{}", until), Graphs::kTwoSided};
    case 6:
      return {fmt::format("swift:form=graph,every={},missing={},{}", 1 + random.below(3),
                          chance(random, 0.5) ? "stored" : "self", until),
              Graphs::kFixed};
    default:
      return {fmt::format("swift:form=scatter,{},{}", fanout, until)};
  }
}

std::string draw_topology(Random& random, Graphs graphs) {
  switch (graphs) {
    case Graphs::kTwoSided:
      return one_of(random, {"line", "star"});
    case Graphs::kFixed:
      return one_of(random, {"ring", "line", "star", "full"});
    default:
      return one_of(random, {"ring", "full", "ring:redraw=yes"});
  }
}

std::string draw_sharing(Random& random, bool pieces) {
  if (pieces && chance(random, 0.6))
    return fmt::format("fragments:fraction={}", one_of(random, {1.0, 0.5, 0.34, 0.1}));
  if (pieces && chance(random, 0.5)) return fmt::format("jwins:pieces={}", 2 + random.below(4));
  const char* const whole[] = {
      "full",  "random:budget=0.5",   "topk:budget=0.3", "topk:budget=0.3,accumulate=training",
      "jwins", "jwins:transform=none"};
  return one_of(random, whole);
}

std::string draw_network(Random& random, std::uint32_t nodes) {
  const std::string slow =
      fmt::format("stragglers={},slowdown={}", random.below(nodes + 1), 1 + random.below(8));
  // Messages of a few hundred bytes: from nearly free to slower than training.
  const std::string rate = one_of(random, {"1kB/s", "5kB/s", "100kB/s"});
  const std::string links = fmt::format("up={},down={},latency={}ms,{}", rate, rate,
                                        one_of(random, {0, 1, 50, 400}), slow);
  switch (random.below(4)) {
    case 0:
      return "ideal";
    case 1:
      return "fifo:" + links;
    case 2:
      return "links:" + links;
    default:
      return fmt::format("links:{},parallel={},half_sent={}", links, 1 + random.below(3),
                         one_of(random, {"lost", "finished"}));
  }
}

std::string draw_faults(Random& random) {
  if (chance(random, 0.1)) return "none";
  std::string faults = fmt::format("heal={}s", kSwarmHealsAt);
  if (chance(random, 0.5)) faults += fmt::format(",loss={:.2f}", 0.4 * random.uniform());
  if (chance(random, 0.5)) faults += fmt::format(",duplicate={:.2f}", 0.3 * random.uniform());
  if (chance(random, 0.5)) faults += fmt::format(",reorder={:.2f}@2s", random.uniform() * 0.9);
  if (chance(random, 0.3)) faults += fmt::format(",spike={:.2f}@9s", random.uniform() * 0.1);
  if (chance(random, 0.3))
    faults += fmt::format(",partition={}s/{}s", random.below(15), 16 + random.below(20));
  if (chance(random, 0.5))
    faults += fmt::format(",crash={}s/{}s,memory={},snapshot={}s", 3 + random.below(20),
                          1 + random.below(6), chance(random, 0.5) ? "checkpoint" : "nothing",
                          1 + random.below(5));
  return faults;
}

// Fewer than half of the nodes; what they do with one another is no concern of ours.
std::string draw_hostile(Random& random, std::uint32_t nodes) {
  if (nodes < 3 || chance(random, 0.5)) return "";
  const char* const attacks[] = {"sign_flip",
                                 "ipm",
                                 "ipm:epsilon=2",
                                 "alie",
                                 "dissensus",
                                 "random",
                                 "random:sigma=1e30",
                                 "nan",
                                 "stale",
                                 "future:ahead=2",
                                 "future:ahead=20",
                                 "degree",
                                 "age"};
  return fmt::format("hostile={},attack={}", 1 + random.below((nodes - 1) / 2),
                     one_of(random, attacks));
}

std::string draw_rule(Random& random, bool compares) {
  if (chance(random, 0.4)) return "auto";
  const char* const by_coordinate[] = {"gaps", "present", "median", "trimmed", "clipped:radius=1"};
  const char* const by_peer[] = {"clipped",   "geometric", "krum",
                                 "multikrum", "nnm",       "nnm:then=median"};
  return compares && chance(random, 0.6) ? one_of(random, by_peer) : one_of(random, by_coordinate);
}

// Now and then, where nobody is hostile. All the patience of a merge is less than its period.
std::string draw_merge(Random& random, bool by_rounds) {
  if (chance(random, 0.7)) return "none";
  const std::string patience = fmt::format("patience={}s", 1 + random.below(2));
  if (chance(random, 0.3)) return "end:" + patience;
  const std::string when = by_rounds ? fmt::format("rounds={}", 4 + random.below(20))
                                     : fmt::format("time={}s", 20 + random.below(20));
  return fmt::format("every:{},{}{}", when, patience,
                     one_of(random, {"", ",codec=gamma+bf16", ",codec=rice+q6,last=auto"}));
}

}  // namespace

ToyWorldOptions swarm_world(std::uint64_t seed) {
  Random random = Random(seed).fork("swarm");
  ToyWorldOptions world;
  world.seed = seed;
  world.nodes = static_cast<std::uint32_t>(2 + random.below(9));
  world.dimension = 1 + random.below(40);
  const DrawnProtocol protocol = draw_protocol(random, world.nodes);
  world.protocol = protocol.line;
  world.topology = draw_topology(random, protocol.graphs);
  world.sharing = draw_sharing(random, protocol.takes_pieces);
  world.codec = one_of(random, {"gamma+planes", "rice+f32", "auto", "bitmap+bf16", "raw32+int8"});
  world.network = draw_network(random, world.nodes);
  world.compute =
      fmt::format("constant:round={}ms,stragglers={},slowdown={}", 500 + random.below(1500),
                  random.below(world.nodes + 1), 1 + random.below(4));
  world.faults = draw_faults(random);
  Random hostility = Random(seed).fork("swarm hostility");
  const bool compares = world.protocol.find("pairwise") == world.protocol.npos &&
                        world.sharing.find("pieces") == world.sharing.npos;
  world.rule = draw_rule(hostility, compares);
  if (const std::string hostile = draw_hostile(hostility, world.nodes); !hostile.empty())
    world.faults = world.faults == "none" ? hostile : world.faults + "," + hostile;
  else {
    Random merging = Random(seed).fork("swarm merge");
    world.merge = draw_merge(merging, world.protocol.find("rounds=") != std::string::npos);
  }
  return world;
}

std::string describe(const ToyWorldOptions& world) {
  return fmt::format(
      "nodes={} dimension={} seed={}\n  topology={}\n  protocol={}\n  sharing={}\n  rule={}\n  "
      "codec={}\n"
      "  merge={}\n  network={}\n  compute={}\n  faults={}",
      world.nodes, world.dimension, world.seed, world.topology, world.protocol, world.sharing,
      world.rule, world.codec, world.merge, world.network, world.compute, world.faults);
}

}  // namespace tessera
