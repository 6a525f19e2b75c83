// What a live node says of itself when asked: for people, for programs (JSON) and for Prometheus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "live/link/transport.h"

namespace tessera {

// What a node handed to its transport and did not take back before it left.
struct SentCounts {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t value_bytes = 0;
};

struct NodeStatus {
  std::string name{};
  NodeId id = 0;
  std::string state{};        // training, waiting, finished, stopping.
  std::string waiting_for{};  // "round 12 from nodes 3, 7"; empty where it waits for nobody.
  Round round = 0;            // Completed.
  Round rounds = 0;           // To complete; 0: it ends at a moment.
  std::uint64_t age = 0;
  double seconds = 0;  // Since the run began.
  // Of the last evaluation; none yet while evaluated_round is 0.
  Round evaluated_round = 0;
  double accuracy = 0, loss = 0;
  double train_loss = 0;
  SentCounts sent{};
  std::uint64_t checkpoints = 0;  // Written by this process.
  std::uint64_t adoptions = 0;    // Models taken over from a peer, as a newcomer.
  Refusals refusals{};            // Of messages, by the node.
  Refusals link_refusals{};       // Of bytes and connections, by the transport.
  Refusals notes{};               // Other things the protocol counted.
  std::vector<PeerState> peers{};
  Instant asked_at{};  // By the transport's clock, which last_heard is told by.
};

std::string to_json(const NodeStatus& status);        // One object, indented.
std::string to_text(const NodeStatus& status);        // A few lines and a table of peers.
std::string to_prometheus(const NodeStatus& status);  // The text exposition format, version 0.0.4.

}  // namespace tessera
