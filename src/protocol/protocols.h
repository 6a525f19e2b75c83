// The table of protocols, and how one is made for every node of a run.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/random.h"
#include "base/spec.h"
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

struct ProtocolKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  MakeProtocol (*prepare)(Options& options, const ProtocolContext& context) = nullptr;
};

std::span<const ProtocolKind> protocols();

// Throws std::invalid_argument for an unknown name, option or value.
MakeProtocol prepare_protocol(std::string_view spec, const ProtocolContext& context);

}  // namespace tessera
