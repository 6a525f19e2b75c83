#include "live/status.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

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
          {"connections", peer.connections}};
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

std::string counts_text(std::string_view what, const Refusals& counts) {
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

// Prometheus wants backslashes, quotes and line ends of a label escaped.
std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

class Exposition {
 public:
  explicit Exposition(std::string_view node) : node_(label(node)) {}

  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP tessera_{} {}\n# TYPE tessera_{} {}\n", name, help, name, type);
  }
  using Label = std::pair<std::string_view, std::string_view>;
  void sample(double value, std::initializer_list<Label> labels = {}) {
    text_ += fmt::format("tessera_{}{{node=\"{}\"", name_, node_);
    for (const auto& [key, word] : labels) text_ += fmt::format(",{}=\"{}\"", key, label(word));
    text_ += fmt::format("}} {}\n", value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string node_, name_, text_;
};

// Node and link have words in common, and a series may be told only once: `by` keeps them apart.
void export_counts(Exposition& out, const NodeStatus& status) {
  out.family("refusals_total", "counter", "Messages and connections turned away, by reason.");
  for (const auto& [reason, count] : status.refusals)
    out.sample(static_cast<double>(count), {{"by", "node"}, {"reason", reason}});
  for (const auto& [reason, count] : status.links.refusals)
    out.sample(static_cast<double>(count), {{"by", "link"}, {"reason", reason}});
  out.family("notes_total", "counter", "Other things the protocol counted.");
  for (const auto& [what, count] : status.notes)
    out.sample(static_cast<double>(count), {{"what", what}});
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
               {"peers", Json::array()}};
  for (const PeerState& peer : status.links.peers)
    json["peers"].push_back(json_of(peer, status.links.asked_at));
  return json.dump(2) + "\n";
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
  for (const PeerState& peer : status.links.peers) {
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
  return text;
}

std::string to_prometheus(const NodeStatus& status) {
  Exposition out(status.name);
  const auto one = [&](std::string_view name, std::string_view type, std::string_view help,
                       double value) {
    out.family(name, type, help);
    out.sample(value);
  };
  one("rounds_done", "gauge", "Rounds completed, or trainings.", status.round);
  one("finished", "gauge", "1 when the last round is completed.", status.state == "finished");
  one("run_seconds", "gauge", "Time since the run began.", status.seconds);
  if (status.learning.evaluated_round > 0) {
    one("accuracy", "gauge", "Test accuracy of the last evaluation.", status.learning.accuracy);
    one("loss", "gauge", "Test loss of the last evaluation.", status.learning.loss);
  }
  one("train_loss", "gauge", "Loss of the last training.", status.learning.train_loss);
  one("messages_sent_total", "counter", "Messages the node has sent.",
      static_cast<double>(status.sent.messages));
  one("bytes_sent_total", "counter", "Bytes the node has sent, before links add theirs.",
      static_cast<double>(status.sent.bytes));
  one("checkpoints_total", "counter", "Checkpoints written by this process.",
      static_cast<double>(status.checkpoints));
  one("alarms", "gauge", "How many things are wrong just now.",
      static_cast<double>(status.alarms.size()));
  one("rounds_skipped_total", "counter", "Rounds the node has not trained in.",
      static_cast<double>(status.work.skipped));
  one("trainings_alone_total", "counter", "Trainings without a living peer.",
      static_cast<double>(status.work.alone));
  export_counts(out, status);
  const auto by_peer = [&](std::string_view name, std::string_view type, std::string_view help,
                           auto value) {
    out.family(name, type, help);
    for (const PeerState& peer : status.links.peers)
      out.sample(static_cast<double>(value(peer)), {{"peer", peer.name}});
  };
  by_peer("peer_alive", "gauge", "1 when the peer was heard from within its deadline.",
          [](const PeerState& peer) { return peer.alive(); });
  by_peer("peer_queued_bytes", "gauge", "Bytes waiting to be sent to the peer.",
          [](const PeerState& peer) { return peer.out.queued_bytes; });
  by_peer("peer_bytes_out_total", "counter", "Bytes sent to the peer, heartbeats included.",
          [](const PeerState& peer) { return peer.out.bytes; });
  by_peer("peer_bytes_in_total", "counter", "Bytes received from the peer.",
          [](const PeerState& peer) { return peer.in.bytes; });
  return out.take();
}

}  // namespace tessera
