// What a live node says of itself when asked: for people, for programs (JSON) and for Prometheus.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/word_counts.h"
#include "live/link/peer_state.h"
#include "node/node.h"
#include "node/traffic.h"

namespace tessera {

struct LearningStatus {
  double train_loss = 0;  // Of the last training.
  // Of the last evaluation; none yet while evaluated_round is 0.
  Round evaluated_round = 0;
  double accuracy = 0, loss = 0;
};

// What the transport knows, when it was asked.
struct LinksStatus {
  WordCounts refusals{};  // Of bytes and connections: link.h and zeromq.h list them.
  std::vector<PeerState> peers{};
  Instant asked_at{};  // By the transport's clock, which last_heard is told by.
};

// What of its rounds it has done.
struct WorkStatus {
  std::uint64_t skipped = 0;  // Rounds it has not trained in.
  std::uint64_t alone = 0;    // Trainings without a living peer.
};

// Where it comes from, as those who are elsewhere need to know.
struct StatusOrigin {
  std::string version{};             // Of the program.
  std::chrono::milliseconds time{};  // By its machine's clock, since 1970; 0: not said.
  std::vector<NodeId> neighbours{};  // In the topology, just now.
};

struct NodeStatus {
  std::string name{};
  NodeId id = 0;
  std::string state{};        // gathering, joining, training, waiting, finished, stopping.
  std::string waiting_for{};  // "round 12 from nodes 3, 7"; empty where it waits for none.
  Round round = 0;            // Completed.
  Round rounds = 0;           // To complete; 0: it ends at a moment.
  std::uint64_t age = 0;
  double seconds = 0;                    // Since the run began.
  std::optional<double> seconds_left{};  // By the pace since this process began.
  WorkStatus work{};
  std::vector<std::string> alarms{};  // What is wrong, a sentence each.
  LearningStatus learning{};
  Traffic sent{};                  // What was handed to the transport and not taken back.
  std::uint64_t checkpoints = 0;   // Written by this process.
  std::uint64_t adoptions = 0;     // Models taken over from a peer, as a newcomer.
  WordCounts refusals{};           // Of messages, by the node.
  Node::CountsBySender refused{};  // The same, with whose messages they were.
  WordCounts notes{};              // Other things the protocol counted.
  LinksStatus links{};
  StatusOrigin origin{};
};

std::string to_json(const NodeStatus& status);  // One object, indented.
std::string to_text(const NodeStatus& status);  // A few lines and a table of peers.
// The text exposition format, version 0.0.4.
std::string to_prometheus(std::span<const NodeStatus> nodes);

}  // namespace tessera
