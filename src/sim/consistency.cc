#include "sim/consistency.h"

#include <fmt/format.h>

#include <set>

namespace tessera {
namespace {

// An instant that no run gets to: a hundred years. Sums of times before it do not overflow.
constexpr Instant kTooLate{std::chrono::hours(24 * 365 * 100)};

std::string clock_fault(const SimulationState& state) {
  if (state.now < Instant{} || state.now > kTooLate) return "its clock shows no possible time";
  if (state.network.next() < state.now) return "the network has something to say of the past";
  if (!state.agenda.empty() && state.agenda.next_at() < state.now)
    return "an event should have happened before";
  return {};
}

// Every message on its way is in the network or is held back by a fault, and is there once.
std::string message_fault(const SimulationState& state,
                          const std::vector<std::pair<Instant, Happening>>& agenda) {
  std::vector<CarriedMessage> all;
  state.network.list_carried(all);
  for (const auto& [at, happening] : agenda)
    if (happening.kind == Happening::Kind::kLanding) {
      if (!state.flights.holds(happening.message)) return "an event waits for no message";
      all.push_back({happening.message, state.flights.find(happening.message).payload.size()});
    }
  std::set<const Flight*> seen;
  for (const CarriedMessage& message : all) {
    if (!state.flights.holds(message.id)) return "the network carries a message that nobody sent";
    const Flight& flight = state.flights.find(message.id);
    if (flight.payload.size() != message.bytes)
      return "the network carries a message of another size";
    if (flight.sent_at > state.now) return "a message was sent at a time to come";
    if (!seen.insert(&flight).second) return "a message is in two places";
  }
  if (all.size() != state.flights.size()) return "a message on its way is nowhere";
  return {};
}

// What waits for a node in its present life.
struct Waiting {
  int starts = 0, wakes = 0, trained = 0;
  Instant start_at{};
};

std::string node_fault(const SimulationState& state, NodeId id, const Waiting& waiting) {
  const bool up = state.lives.up(id), trains = state.shard.trains(id);
  if (up && state.shard.holds(id) && !state.shard.node(id).finished() &&
      state.shard.node(id).training() != trains)
    return "a node trains and no training is under way, or the other way round";
  if (!up && trains) return "a node that is down trains";
  if (waiting.trained > (trains ? 1 : 0)) return "a training ends that is not under way";
  if (waiting.starts > 1) return "a node starts twice";
  if (waiting.starts == 1 && (waiting.wakes > 0 || trains))
    return "a node does something before it starts";
  if (waiting.starts == 1 && up && waiting.start_at != Instant{})
    return "a node starts that is there already";
  if (!state.shard.can_renew(id, state.lives.snapshot(id)))
    return "a node's snapshot of itself cannot be read";
  return {};
}

std::string event_fault(const SimulationState& state,
                        const std::vector<std::pair<Instant, Happening>>& agenda) {
  using Kind = Happening::Kind;
  std::vector<Waiting> waiting(state.shard.size());
  for (const auto& [at, happening] : agenda) {
    if (happening.node >= waiting.size()) return "an event is of a node that does not exist";
    if (happening.kind == Kind::kLanding) continue;
    if (happening.life > state.lives.number(happening.node)) return "an event is of a life to come";
    if (happening.life < state.lives.number(happening.node)) continue;
    Waiting& own = waiting[happening.node];
    own.starts += happening.kind == Kind::kStart;
    own.wakes += happening.kind == Kind::kWake;
    own.trained += happening.kind == Kind::kTrained;
    if (happening.kind == Kind::kStart) own.start_at = at;
  }
  for (NodeId id = 0; id < waiting.size(); ++id)
    if (std::string why = node_fault(state, id, waiting[id]); !why.empty())
      return fmt::format("{} (node {})", why, id);
  return {};
}

}  // namespace

std::string contradiction(const SimulationState& state) {
  if (std::string why = clock_fault(state); !why.empty()) return why;
  const std::vector<std::pair<Instant, Happening>> agenda = state.agenda.waiting();
  if (std::string why = message_fault(state, agenda); !why.empty()) return why;
  return event_fault(state, agenda);
}

}  // namespace tessera
