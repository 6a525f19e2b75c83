// The table of protocols, and how one is made for every node of a run.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/spec.h"
#include "base/table.h"
#include "base/time.h"
#include "node/protocol.h"
#include "topology/topology.h"

namespace tessera {

struct ProtocolContext {
  std::uint32_t nodes = 0;
  std::shared_ptr<const Topology> topology{};
  Random random{0};  // The run's, not a node's: meetings are the same for all.
};

// Makes the protocol of one node; what nodes share (the drawn meetings of a round) lives behind it.
using MakeProtocol = std::function<std::unique_ptr<Protocol>(NodeId node)>;

struct PreparedProtocol {
  MakeProtocol make{};
  // When a node is done, whichever comes first.
  Round rounds = 0;        // Rounds, or trainings of an asynchronous protocol; 0: no limit.
  Instant until = kNever;  // No limit.
  // Whether a node goes on only when every peer it expects has been heard: rounds without patience.
  bool waits_for_ever = false;
  // Whether a node averages with one peer at a time.
  bool one_by_one = false;
  // Whether a node counts by its number of samples.
  bool weighs_samples = false;
  // How long a round waits for a peer at most; zero: without end, or there are no rounds.
  Duration patience{};
  // Whom a node sends to or hears from in a round; empty where it chooses anew for every message.
  std::function<std::vector<NodeId>(NodeId node, Round round)> meets{};
};

// Of an asynchronous protocol whose settings have an `ending` (ending.h); all nodes get them.
template <typename Kind, typename Settings>
PreparedProtocol make_asynchronous(Settings settings) {
  return {.make = [settings](NodeId) { return std::make_unique<Kind>(settings); },
          .rounds = settings.ending.rounds,
          .until = settings.ending.until};
}

struct ProtocolKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  PreparedProtocol (*prepare)(Options& options, const ProtocolContext& context) = nullptr;
  // Whether nodes go through rounds together; if not, results are told by time.
  bool synchronous = false;
  bool fixed_peers =
      false;  // Whether a fixed topology means that a node always meets the same peers.
};

std::span<const ProtocolKind> protocols();
// For a row from outside the tree, before anything is made of the table. Throws if its name is
// taken.
void register_protocol(const ProtocolKind& kind);

// All throw std::invalid_argument for an unknown name, option or value.
Chosen<ProtocolKind> choose_protocol(std::string_view line);
PreparedProtocol prepare_protocol(const Chosen<ProtocolKind>& chosen,
                                  const ProtocolContext& context);
PreparedProtocol prepare_protocol(std::string_view line, const ProtocolContext& context);

}  // namespace tessera
