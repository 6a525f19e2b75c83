#include "run/swarm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace tessera {
namespace {

constexpr double kHealAt = 30;      // Faults end here, in seconds of virtual time;
constexpr double kEndAt = 90;       // the run ends here, where it ends by time.
constexpr Round kRounds = 40;       // Where it ends by rounds.
constexpr Round kAfterHealing = 5;  // What each node must do at least between the two,
// where there is time for it. The longest training takes 2 s, four times slower and a half more
// where a straggler's speed was drawn low.
constexpr double kSlowestRound = 12;

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
};

DrawnProtocol draw_protocol(Random& random, std::uint32_t nodes) {
  const std::string fanout = fmt::format("fanout={}", 1 + random.below(std::min(nodes - 1, 4u)));
  const std::string until = fmt::format("until={}s", kEndAt);
  const std::string patience = fmt::format("patience={}s", 2 + random.below(4));
  switch (random.below(8)) {
    case 0:
      return {fmt::format("dpsgd:rounds={},{}", kRounds, patience), Graphs::kFixed};
    case 1:
      return {fmt::format("epidemic:rounds={},{},{}", kRounds, fanout, patience)};
    case 2:
    case 3:
      return {fmt::format("divshare:{},{},lag={},clear={}", fanout, until,
                          chance(random, 0.8) ? "yes" : "no", chance(random, 0.8) ? "yes" : "no")};
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
  std::string faults = fmt::format("heal={}s", kHealAt);
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

// What must hold after every event, whatever the world.
class Auditor {
 public:
  explicit Auditor(const Simulation& simulation) : simulation_(simulation) {}

  Result<void> check() {
    if (simulation_.now() < before_) return broken("time ran backwards");
    before_ = simulation_.now();
    const Ledger books = simulation_.ledger();
    if (!books.balances())
      return broken(fmt::format("{} bytes were offered, {} delivered, {} dropped, {} on their way",
                                books.offered, books.delivered, books.dropped, books.on_their_way));
    return {};
  }

  // Too dear for every event.
  Result<void> check_nodes() const {
    // A node may turn down what faults made late, early or double, or what comes from a peer it
    // has outlived. It never finds a message damaged: none of these faults writes into one.
    static const std::set<std::string, std::less<>> kExpected = {"late", "early", "duplicate",
                                                                 "stale", "unasked"};
    for (NodeId id = 0; id < simulation_.node_count(); ++id) {
      const Node& node = simulation_.node(id);
      for (const float x : node.model())
        if (!std::isfinite(x)) return broken(fmt::format("node {}'s model is not finite", id));
      for (const auto& [reason, count] : node.refusals())
        if (!kExpected.contains(reason))
          return broken(fmt::format("node {} refused {} messages as '{}'", id, count, reason));
    }
    return {};
  }

  Error broken(const std::string& what) const {
    return {"invariant",
            fmt::format("at {:.6f} s: {}", to_seconds(simulation_.now().time_since_epoch()), what)};
  }

 private:
  const Simulation& simulation_;
  Instant before_{};
};

Instant at_seconds(double seconds) {
  return Instant(Duration(static_cast<std::int64_t>(seconds * 1e9)));
}

// Where a node stood when the faults were over for it: they had ended, and it was there. One that
// is down when they end comes back later, and may know nothing.
struct Healed {
  Round rounds = 0;
  double at_s = 0;
};

// Every node that had not finished by then has got on since, as far as there was time for it.
Result<void> check_progress(const Simulation& simulation, const Auditor& auditor,
                            const std::map<NodeId, Healed>& healed) {
  if (!simulation.finished()) return auditor.broken(simulation.why_stuck());
  for (const auto& [id, then] : healed) {
    const auto time_for = static_cast<Round>(std::max(0.0, kEndAt - then.at_s) / kSlowestRound);
    const Round now = simulation.node(id).rounds_done();
    if (now < std::min(then.rounds + std::min(time_for, kAfterHealing), kRounds))
      return auditor.broken(
          fmt::format("node {} had done {} rounds at {:.1f} s, with the faults over, and {} at the "
                      "end",
                      id, then.rounds, then.at_s, now));
  }
  return {};
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
  world.sharing = draw_sharing(random, protocol_kind(world.protocol).takes_pieces);
  world.codec = one_of(random, {"gamma+planes", "rice+f32", "auto", "bitmap+bf16", "raw32+int8"});
  world.network = draw_network(random, world.nodes);
  world.compute =
      fmt::format("constant:round={}ms,stragglers={},slowdown={}", 500 + random.below(1500),
                  random.below(world.nodes + 1), 1 + random.below(4));
  world.faults = draw_faults(random);
  return world;
}

std::string describe(const ToyWorldOptions& world) {
  return fmt::format(
      "nodes={} dimension={} seed={}\n  topology={}\n  protocol={}\n  sharing={}\n  codec={}\n"
      "  network={}\n  compute={}\n  faults={}",
      world.nodes, world.dimension, world.seed, world.topology, world.protocol, world.sharing,
      world.codec, world.network, world.compute, world.faults);
}

Result<SwarmStory> run_swarm_world(std::uint64_t seed, unsigned threads) {
  ToyWorldOptions options = swarm_world(seed);
  options.threads = threads;
  ToyWorld world(options);
  Simulation& simulation = *world.simulation;
  Auditor auditor(simulation);
  SwarmStory story;
  std::map<NodeId, Healed> healed;
  simulation.start();
  while (true) {
    if (healed.size() < simulation.node_count() && simulation.next() >= at_seconds(kHealAt)) {
      if (const auto fine = auditor.check_nodes(); !fine.ok()) return fine.error();
      const double now_s = std::max(kHealAt, to_seconds(simulation.now().time_since_epoch()));
      for (NodeId id = 0; id < simulation.node_count(); ++id)
        if (simulation.is_up(id)) healed.insert({id, {simulation.node(id).rounds_done(), now_s}});
    }
    if (!simulation.step()) break;
    ++story.events;
    if (const auto fine = auditor.check(); !fine.ok()) return fine.error();
    // Nothing here takes longer than this; a world that does has lost its way.
    if (simulation.now() > at_seconds(1000 * kEndAt))
      return auditor.broken("the run does not come to an end");
  }
  if (const auto fine = auditor.check_nodes(); !fine.ok()) return fine.error();
  if (const auto fine = check_progress(simulation, auditor, healed); !fine.ok())
    return fine.error();
  for (NodeId id = 0; id < simulation.node_count(); ++id) {
    story.messages += simulation.counts(id).offered.messages;
    for (const auto& [reason, count] : simulation.node(id).refusals()) story.refused += count;
  }
  story.crashes = simulation.crashes();
  story.virtual_seconds = to_seconds(simulation.now().time_since_epoch());
  story.digest = simulation.model_digest();
  return story;
}

}  // namespace tessera
