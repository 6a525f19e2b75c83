#include "live/status.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

double seconds_since(Instant then, Instant now) {
  return then == Instant{} ? -1 : to_seconds(now - then);
}

Json json_of(const PeerState& peer, Instant now) {
  return {{"id", peer.id},
          {"name", peer.name},
          {"condition", to_string(peer.condition)},
          {"reason", peer.reason},
          {"heard_seconds_ago", seconds_since(peer.last_heard, now)},
          {"deadline_seconds", to_seconds(peer.deadline)},
          {"queued", peer.out.queued},
          {"queued_bytes", peer.out.queued_bytes},
          {"unconfirmed_bytes", peer.out.unconfirmed_bytes},
          {"window_bytes", peer.out.window_bytes},
          {"held_bytes", peer.in.held_bytes},
          {"messages_out", peer.out.messages},
          {"messages_in", peer.in.messages},
          {"bytes_out", peer.out.bytes},
          {"bytes_in", peer.in.bytes},
          {"turned_away", peer.out.turned_away},
          {"superseded", peer.out.superseded},
          {"connections", peer.connections},
          {"wanted", peer.wanted}};
}

// By sender, then by reason.
Json json_of(const Node::CountsBySender& refused) {
  Json json = Json::object();
  for (const auto& [reason, senders] : refused)
    for (const auto& [from, count] : senders) json[std::to_string(from)][reason] = count;
  return json;
}

struct Totals {
  std::uint64_t bytes_out = 0, bytes_in = 0, alive = 0;
};
Totals totals_of(const NodeStatus& status) {
  Totals totals;
  for (const PeerState& peer : status.links.peers) {
    totals.bytes_out += peer.out.bytes;
    totals.bytes_in += peer.in.bytes;
    totals.alive += peer.alive();
  }
  return totals;
}

std::string counts_text(std::string_view what, const WordCounts& counts) {
  if (counts.empty()) return {};
  std::string line = fmt::format("{:<10}", what);
  for (const auto& [word, count] : counts) line += fmt::format("{} {}  ", word, count);
  return line + "\n";
}

// Who sent what no honest neighbour sends.
std::string misconduct_text(const Node::CountsBySender& refused) {
  std::string text;
  for (const auto& [reason, senders] : refused)
    for (const auto& [from, count] : senders)
      if (!Node::is_ordinary(reason))
        text += fmt::format("{:<10}{} {} of node {}\n", "", reason, count, from);
  return text;
}

}  // namespace

std::string to_json(const NodeStatus& status) {
  const Totals totals = totals_of(status);
  Json json = {{"name", status.name},
               {"id", status.id},
               {"state", status.state},
               {"waiting_for", status.waiting_for},
               {"round", status.round},
               {"rounds", status.rounds},
               {"age", status.age},
               {"seconds", status.seconds},
               {"seconds_left", status.seconds_left ? Json(*status.seconds_left) : Json()},
               {"rounds_skipped", status.work.skipped},
               {"trainings_alone", status.work.alone},
               {"alarms", status.alarms},
               {"evaluated_round", status.learning.evaluated_round},
               {"accuracy", status.learning.accuracy},
               {"loss", status.learning.loss},
               {"train_loss", status.learning.train_loss},
               {"messages_sent", status.sent.messages},
               {"bytes_sent", status.sent.bytes},
               {"link_bytes_out", totals.bytes_out},
               {"link_bytes_in", totals.bytes_in},
               {"peers_alive", totals.alive},
               {"checkpoints", status.checkpoints},
               {"adoptions", status.adoptions},
               {"refusals", status.refusals},
               {"refused_of", json_of(status.refused)},
               {"link_refusals", status.links.refusals},
               {"notes", status.notes},
               {"version", status.origin.version},
               {"time_ms", status.origin.time.count()},
               {"neighbours", status.origin.neighbours},
               {"peers", Json::array()}};
  for (const PeerState& peer : status.links.peers)
    json["peers"].push_back(json_of(peer, status.links.asked_at));
  // A peer's words may be in any encoding.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_text(const NodeStatus& status) {
  const Totals totals = totals_of(status);
  std::string text = fmt::format("{:<10}node {}, {}{}{}\n", status.name, status.id, status.state,
                                 status.waiting_for.empty() ? "" : " for ", status.waiting_for);
  text +=
      fmt::format("{:<10}{}{} in {:.1f} s\n", "round", status.round,
                  status.rounds > 0 ? fmt::format(" of {}", status.rounds) : "", status.seconds);
  for (const std::string& alarm : status.alarms) text += fmt::format("{:<10}{}\n", "ALARM", alarm);
  if (status.work.skipped > 0)
    text += fmt::format("{:<10}{} rounds\n", "skipped", status.work.skipped);
  if (std::isnan(status.learning.accuracy))
    text += fmt::format("{:<10}not tested: it has no test samples\n", "accuracy");
  else if (status.learning.evaluated_round > 0)
    text += fmt::format("{:<10}{:.2f}%, loss {:.4f} after round {}\n", "accuracy",
                        100 * status.learning.accuracy, status.learning.loss,
                        status.learning.evaluated_round);
  text += fmt::format("{:<10}{} in {} messages; on the wire {} out, {} in\n", "sent",
                      show_bytes(static_cast<double>(status.sent.bytes)), status.sent.messages,
                      show_bytes(static_cast<double>(totals.bytes_out)),
                      show_bytes(static_cast<double>(totals.bytes_in)));
  text += counts_text("refused", status.refusals);
  text += misconduct_text(status.refused);
  text += counts_text("links", status.links.refusals);
  text += counts_text("noted", status.notes);
  text += fmt::format("\n{:<14}{:<12}{:>9}{:>12}{:>12}{:>12}{:>12}\n", "peer", "is", "heard",
                      "queued", "in flight", "out", "in");
  std::size_t idle = 0;
  for (const PeerState& peer : status.links.peers) {
    if (peer.condition == PeerCondition::kIdle && ++idle > 0) continue;
    const double heard = seconds_since(peer.last_heard, status.links.asked_at);
    text +=
        fmt::format("{:<14}{:<12}{:>9}{:>12}{:>12}{:>12}{:>12}", peer.name,
                    to_string(peer.condition), heard < 0 ? "never" : fmt::format("{:.1f} s", heard),
                    show_bytes(static_cast<double>(peer.out.queued_bytes)),
                    show_bytes(static_cast<double>(peer.out.unconfirmed_bytes)),
                    show_bytes(static_cast<double>(peer.out.bytes)),
                    show_bytes(static_cast<double>(peer.in.bytes)));
    text += peer.reason.empty() ? "\n" : fmt::format("  {}\n", peer.reason);
  }
  if (idle > 0)
    text += fmt::format("{} idle: not linked, as there is nothing to tell them\n", idle);
  return text;
}

}  // namespace tessera
