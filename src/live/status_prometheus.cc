// A node's status, or a fleet's, in Prometheus's text exposition format. A family of metrics is
// told once, with a sample for every node.
#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <optional>
#include <utility>

#include "live/status.h"

namespace tessera {
namespace {

// Prometheus wants backslashes, quotes and line ends of a label escaped.
std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

struct Family {
  std::string_view name{};
  std::string_view type{};
  std::string_view help{};
};

class Exposition {
 public:
  explicit Exposition(std::span<const NodeStatus> nodes) : nodes_(nodes) {}

  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;
  using Sample = std::function<void(double value, Labels labels)>;

  // `tell` is given every node, and tells its samples.
  void family(const Family& family, const std::function<void(const NodeStatus&, Sample)>& tell) {
    text_ += fmt::format("# HELP tessera_{0} {2}\n# TYPE tessera_{0} {1}\n", family.name,
                         family.type, family.help);
    for (const NodeStatus& node : nodes_)
      tell(node, [&](double value, Labels labels) {
        text_ += fmt::format("tessera_{}{{node=\"{}\"", family.name, label(node.name));
        for (const auto& [key, word] : labels) text_ += fmt::format(",{}=\"{}\"", key, label(word));
        text_ += fmt::format("}} {}\n", value);
      });
  }
  // One sample of every node, or none where there is nothing to tell.
  void one(const Family& what, const std::function<std::optional<double>(const NodeStatus&)>& of) {
    family(what, [&](const NodeStatus& node, const Sample& sample) {
      if (const std::optional<double> value = of(node)) sample(*value, {});
    });
  }
  void by_peer(const Family& what, const std::function<double(const PeerState&)>& of) {
    family(what, [&](const NodeStatus& node, const Sample& sample) {
      for (const PeerState& peer : node.links.peers)
        if (peer.condition != PeerCondition::kIdle || peer.out.bytes + peer.in.bytes > 0)
          sample(of(peer), {{"peer", peer.name}});
    });
  }
  std::string take() { return std::move(text_); }

 private:
  std::span<const NodeStatus> nodes_;
  std::string text_;
};

double number(std::uint64_t count) {
  return static_cast<double>(count);
}

void export_work(Exposition& out) {
  out.one({"rounds_done", "gauge", "Rounds completed, or trainings."},
          [](const NodeStatus& node) { return node.round; });
  out.one({"finished", "gauge", "1 when the last round is completed."},
          [](const NodeStatus& node) { return node.state == "finished"; });
  out.one({"run_seconds", "gauge", "Time since the run began."},
          [](const NodeStatus& node) { return node.seconds; });
  out.one({"seconds_left", "gauge", "Time to the end of the run, by the pace so far."},
          [](const NodeStatus& node) { return node.seconds_left; });
  const auto tested = [](double LearningStatus::*value) {
    return [value](const NodeStatus& node) -> std::optional<double> {
      if (node.learning.evaluated_round == 0) return std::nullopt;
      return node.learning.*value;
    };
  };
  out.one({"accuracy", "gauge", "Test accuracy of the last evaluation."},
          tested(&LearningStatus::accuracy));
  out.one({"loss", "gauge", "Test loss of the last evaluation."}, tested(&LearningStatus::loss));
  out.one({"train_loss", "gauge", "Loss of the last training."},
          [](const NodeStatus& node) { return node.learning.train_loss; });
  out.one({"checkpoints_total", "counter", "Checkpoints written by this process."},
          [](const NodeStatus& node) { return number(node.checkpoints); });
  out.one({"alarms", "gauge", "How many things are wrong just now."},
          [](const NodeStatus& node) { return number(node.alarms.size()); });
  out.one({"rounds_skipped_total", "counter", "Rounds the node has not trained in."},
          [](const NodeStatus& node) { return number(node.work.skipped); });
  out.one({"trainings_alone_total", "counter", "Trainings without a living peer."},
          [](const NodeStatus& node) { return number(node.work.alone); });
  out.family({"version_info", "gauge", "1, with the version of the node's program."},
             [](const NodeStatus& node, const Exposition::Sample& sample) {
               if (!node.origin.version.empty()) sample(1, {{"version", node.origin.version}});
             });
}

// Node and link have words in common, and a series may be told only once: `by` keeps them apart.
void export_counts(Exposition& out) {
  out.one({"messages_sent_total", "counter", "Messages the node has sent."},
          [](const NodeStatus& node) { return number(node.sent.messages); });
  out.one({"bytes_sent_total", "counter", "Bytes the node has sent, before links add theirs."},
          [](const NodeStatus& node) { return number(node.sent.bytes); });
  out.family({"refusals_total", "counter", "Messages and connections turned away, by reason."},
             [](const NodeStatus& node, const Exposition::Sample& sample) {
               for (const auto& [reason, count] : node.refusals)
                 sample(number(count), {{"by", "node"}, {"reason", reason}});
               for (const auto& [reason, count] : node.links.refusals)
                 sample(number(count), {{"by", "link"}, {"reason", reason}});
             });
  out.family({"notes_total", "counter", "Other things the protocol counted."},
             [](const NodeStatus& node, const Exposition::Sample& sample) {
               for (const auto& [what, count] : node.notes) sample(number(count), {{"what", what}});
             });
}

void export_links(Exposition& out) {
  out.by_peer({"peer_alive", "gauge", "1 when the peer was heard from within its deadline."},
              [](const PeerState& peer) { return peer.alive(); });
  out.by_peer({"peer_queued_bytes", "gauge", "Bytes waiting to be sent to the peer."},
              [](const PeerState& peer) { return number(peer.out.queued_bytes); });
  out.by_peer({"peer_bytes_out_total", "counter", "Bytes sent to the peer, heartbeats included."},
              [](const PeerState& peer) { return number(peer.out.bytes); });
  out.by_peer({"peer_bytes_in_total", "counter", "Bytes received from the peer."},
              [](const PeerState& peer) { return number(peer.in.bytes); });
}

}  // namespace

std::string to_prometheus(std::span<const NodeStatus> nodes) {
  Exposition out(nodes);
  export_work(out);
  export_counts(out);
  export_links(out);
  return out.take();
}

}  // namespace tessera
