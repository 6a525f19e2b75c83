#include "protocol/protocols.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "base/table.h"
#include "protocol/meetings.h"
#include "protocol/rounds.h"

namespace tessera {
namespace {

constexpr double kMostRounds = 100'000'000;

PreparedProtocol make_rounds(std::shared_ptr<const Meetings> meetings, RoundsOptions options) {
  return {[meetings = std::move(meetings), options](NodeId) {
            return std::make_unique<Rounds>(meetings, options);
          },
          options.rounds};
}

PreparedProtocol prepare_dpsgd(Options& options, const ProtocolContext& context) {
  const auto rounds = static_cast<Round>(options.integer("rounds", 100, between(1, kMostRounds)));
  return make_rounds(std::make_shared<GraphMeetings>(context.topology),
                     {.rounds = rounds, .weights = Weights::kMetropolisHastings});
}

PreparedProtocol prepare_epidemic(Options& options, const ProtocolContext& context) {
  const auto rounds = static_cast<Round>(options.integer("rounds", 100, between(1, kMostRounds)));
  const auto fanout = static_cast<std::uint32_t>(options.integer("fanout", 7, between(1, 1e6)));
  if (fanout >= context.nodes)
    options.refuse("fanout",
                   fmt::format("{} peers cannot be picked among {} others: lower it or add nodes",
                               fanout, context.nodes - 1));
  return make_rounds(
      std::make_shared<EpidemicMeetings>(context.nodes, fanout, context.random.fork("epidemic")),
      {.rounds = rounds, .weights = Weights::kUniform});
}

constexpr std::array kProtocols = {
    ProtocolKind{
        "dpsgd", "dpsgd:rounds=1000",
        "synchronous rounds with all neighbours of the topology (a redrawn one makes it EL-Oracle)",
        prepare_dpsgd, true},
    ProtocolKind{"epidemic", "epidemic:fanout=7,rounds=1000",
                 "EL-Local: each round a node tells a few random others, whatever the topology",
                 prepare_epidemic},
};

}  // namespace

std::span<const ProtocolKind> protocols() {
  return kProtocols;
}

const ProtocolKind& protocol_kind(std::string_view spec) {
  return require_entry(protocols(), "protocol", parse_spec(spec).name);
}

PreparedProtocol prepare_protocol(std::string_view spec, const ProtocolContext& context) {
  Options options(parse_spec(spec));
  PreparedProtocol prepared = protocol_kind(spec).prepare(options, context);
  options.done();
  return prepared;
}

}  // namespace tessera
