#include "protocol/protocols.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <stdexcept>

#include "protocol/broadcast.h"
#include "protocol/ending.h"
#include "protocol/meetings.h"
#include "protocol/pairs.h"
#include "protocol/pings.h"
#include "protocol/rounds.h"
#include "protocol/scatter.h"

namespace tessera {
namespace {

PreparedProtocol make_rounds(const std::shared_ptr<const Meetings>& meetings,
                             RoundsOptions options) {
  const auto meets = [meetings](NodeId node, Round round) {
    std::vector<NodeId> peers = meetings->targets(node, round);
    const std::vector<NodeId> sources = meetings->sources(node, round);
    peers.insert(peers.end(), sources.begin(), sources.end());
    return peers;
  };
  return {
      .make = [meetings, options](NodeId) { return std::make_unique<Rounds>(meetings, options); },
      .rounds = options.rounds,
      .waits_for_ever = Patience(options.patience).endless(),
      .weighs_samples = options.weights == Weights::kSamples,
      .patience = options.patience.wait_max,
      .meets = meets};
}

// The neighbours in a graph that stays.
auto neighbours_in(std::shared_ptr<const Graph> graph) {
  return [graph = std::move(graph)](NodeId node, Round) {
    const std::span<const NodeId> peers = graph->peers(node);
    return std::vector<NodeId>(peers.begin(), peers.end());
  };
}

std::uint32_t read_fanout(Options& options, const ProtocolContext& context, int fallback) {
  const auto fanout =
      static_cast<std::uint32_t>(options.integer("fanout", fallback, between(1, 1e6)));
  if (fanout >= context.nodes)
    options.refuse("fanout",
                   fmt::format("{} peers cannot be picked among {} others: lower it or add nodes",
                               fanout, context.nodes - 1));
  return fanout;
}

// patience=none waits for ever, which is right where nothing is lost.
PatienceOptions read_patience(Options& options) {
  PatienceOptions patience;
  if (!options.has("patience") || options.text("patience") == "none") return patience;
  patience.wait_max = options.duration("patience", Duration::zero());
  if (patience.wait_max <= Duration::zero()) options.refuse("patience", "must be above 0, or none");
  patience.wait_min = options.duration("patience_min", patience.wait_max / 4);
  if (patience.wait_min > patience.wait_max)
    options.refuse("patience_min", "must not be above patience");
  return patience;
}

// Whether a node hears one peer in a round at most, and others in other rounds.
bool one_peer_a_round(const Topology& topology) {
  if (!topology.redrawn()) return false;
  const std::shared_ptr<const Graph> first = topology.graph(0);
  for (NodeId node = 0; node < topology.nodes(); ++node) {
    const std::size_t heard = topology.has_weights() ? topology.weighted(0)->into(node).size()
                                                     : std::size_t{first->degree(node)};
    if (heard > 1) return false;
  }
  return true;
}

// Others than the graph's need one that leaves them to us; by samples, both ends of an edge count.
Weights read_weights(Options& options, const Topology& topology) {
  constexpr std::array<std::string_view, 3> kWords = {"graph", "even", "samples"};
  const std::string word = options.choice("weights", kWords, "graph");
  if (word == "graph") return Weights::kMetropolisHastings;
  if (topology.has_weights())
    options.refuse("weights", "the topology has weights of its own: use another, such as regular");
  return word == "even" ? Weights::kUniform : Weights::kSamples;
}

// Of protocols in which a node does not know whom its peers meet.
void refuse_weights(Options& options) {
  if (options.has("weights"))
    options.refuse("weights",
                   "nodes are weighted where both ends of an edge know its weight: leave it out, "
                   "or use protocol=dpsgd");
}

PreparedProtocol prepare_dpsgd(Options& options, const ProtocolContext& context) {
  const auto rounds = static_cast<Round>(options.integer("rounds", 100, between(1, kRoundsMax)));
  PreparedProtocol prepared = make_rounds(std::make_shared<GraphMeetings>(context.topology),
                                          {.rounds = rounds,
                                           .weights = read_weights(options, *context.topology),
                                           .patience = read_patience(options)});
  prepared.one_by_one = one_peer_a_round(*context.topology);
  return prepared;
}

PreparedProtocol prepare_epidemic(Options& options, const ProtocolContext& context) {
  refuse_weights(options);
  const auto rounds = static_cast<Round>(options.integer("rounds", 100, between(1, kRoundsMax)));
  const std::uint32_t fanout = read_fanout(options, context, 7);
  return make_rounds(
      std::make_shared<EpidemicMeetings>(context.nodes, fanout, context.random.fork("epidemic")),
      {.rounds = rounds, .weights = Weights::kUniform, .patience = read_patience(options)});
}

PreparedProtocol prepare_divshare(Options& options, const ProtocolContext& context) {
  refuse_weights(options);
  return make_asynchronous<Scatter>(ScatterOptions{.nodes = context.nodes,
                                                   .fanout = read_fanout(options, context, 6),
                                                   .clear = options.yes("clear", true),
                                                   .lag = options.yes("lag", true),
                                                   .ending = read_ending(options)});
}

// The graph of a protocol whose nodes know their neighbours for good.
std::shared_ptr<const Graph> fixed_graph(const Options& options, const ProtocolContext& context,
                                         std::string_view form) {
  if (context.topology->redrawn())
    options.refuse("form", fmt::format("{} needs neighbours that stay: use a topology without "
                                       "redraw=yes, and not one whose rounds differ",
                                       form));
  if (context.topology->has_weights())
    options.refuse("form",
                   fmt::format("{} needs edges that go both ways: use another topology", form));
  return context.topology->graph(0);
}

PreparedProtocol prepare_pairs(Options& options, const ProtocolContext& context) {
  PairsOptions pairs{.graph = fixed_graph(options, context, "pairwise")};
  auto sides = sides_of(*pairs.graph);
  if (!sides)
    options.refuse("form",
                   "pairwise needs a graph of two sides, and this one has a cycle of odd "
                   "length: use topology=bipartite or an even ring, or form=pings");
  pairs.sides = std::make_shared<const std::vector<Side>>(*std::move(sides));
  pairs.patience = options.duration("patience", std::chrono::seconds(10));
  pairs.ending = read_ending(options);
  const std::shared_ptr<const Graph> graph = pairs.graph;
  PreparedProtocol prepared = make_asynchronous<Pairs>(std::move(pairs));
  prepared.one_by_one = true;
  prepared.meets = neighbours_in(graph);
  return prepared;
}

// Two forms go by the name. The default is its authors'; the other is what DivShare was compared
// with.
PreparedProtocol prepare_adpsgd(Options& options, const ProtocolContext& context) {
  refuse_weights(options);
  constexpr std::array<std::string_view, 2> kForms = {"pairwise", "pings"};
  if (options.choice("form", kForms, "pairwise") == "pairwise")
    return prepare_pairs(options, context);
  // Every ping is answered: half the messages are pongs.
  const auto fanout = static_cast<std::uint32_t>(options.integer("fanout", 6, between(2, 1e6)));
  if (context.nodes < 2) options.refuse("form", "pings needs two nodes at least");
  return make_asynchronous<Pings>(
      PingsOptions{.nodes = context.nodes, .pings = fanout / 2, .ending = read_ending(options)});
}

PreparedProtocol prepare_swift(Options& options, const ProtocolContext& context) {
  refuse_weights(options);
  constexpr std::array<std::string_view, 2> kForms = {"graph", "scatter"};
  constexpr std::array<std::string_view, 2> kMissing = {"stored", "self"};
  if (options.choice("form", kForms, "graph") == "scatter")
    return make_asynchronous<Scatter>(ScatterOptions{.nodes = context.nodes,
                                                     .fanout = read_fanout(options, context, 6),
                                                     .clear = false,
                                                     .ending = read_ending(options)});
  const std::shared_ptr<const Graph> graph = fixed_graph(options, context, "graph");
  PreparedProtocol prepared = make_asynchronous<Broadcast>(BroadcastOptions{
      .graph = graph,
      .every = static_cast<std::uint32_t>(options.integer("every", 1, between(1, 1e6))),
      .stored = options.choice("missing", kMissing, "stored") == "stored",
      .ending = read_ending(options)});
  prepared.meets = neighbours_in(graph);
  return prepared;
}

constexpr std::array kProtocols = {
    ProtocolKind{
        .name = "dpsgd",
        .usage = "dpsgd:rounds=1000,patience=none,weights=graph",
        .summary = "synchronous rounds with all neighbours of the topology (a redrawn one makes it "
                   "EL-Oracle)",
        .prepare = prepare_dpsgd,
        .synchronous = true,
        .fixed_peers = true},
    ProtocolKind{
        .name = "epidemic",
        .usage = "epidemic:fanout=7,rounds=1000,patience=none",
        .summary = "EL-Local: each round a node tells a few random others, whatever the topology",
        .prepare = prepare_epidemic,
        .synchronous = true},
    ProtocolKind{.name = "divshare",
                 .usage = "divshare:fanout=6,until=67s",
                 .summary = "DivShare: every piece of the model to a few random others, waiting "
                            "for nobody",
                 .prepare = prepare_divshare},
    ProtocolKind{.name = "adpsgd",
                 .usage = "adpsgd:form=pairwise,until=67s",
                 .summary = "AD-PSGD: pairs of a two-sided graph average while they train; "
                            "form=pings,fanout=6: random pings and pongs, as DivShare's authors "
                            "ran it",
                 .prepare = prepare_adpsgd},
    ProtocolKind{.name = "swift",
                 .usage = "swift:form=graph,every=1,missing=stored,until=67s",
                 .summary = "SWIFT: tell all neighbours, average with the newest of each; "
                            "form=scatter,fanout=6: random recipients, as DivShare's authors ran "
                            "it",
                 .prepare = prepare_swift},
};

OpenTable<ProtocolKind>& table() {
  static OpenTable<ProtocolKind> rows("protocol", kProtocols);
  return rows;
}

}  // namespace

std::span<const ProtocolKind> protocols() {
  return table().rows();
}

void register_protocol(const ProtocolKind& kind) {
  table().add(kind);
}

Chosen<ProtocolKind> choose_protocol(std::string_view line) {
  return choose(protocols(), "protocol", line);
}

PreparedProtocol prepare_protocol(const Chosen<ProtocolKind>& chosen,
                                  const ProtocolContext& context) {
  Options options(chosen.spec);
  PreparedProtocol prepared = chosen.kind->prepare(options, context);
  options.done();
  return prepared;
}

PreparedProtocol prepare_protocol(std::string_view line, const ProtocolContext& context) {
  return prepare_protocol(choose_protocol(line), context);
}

}  // namespace tessera
