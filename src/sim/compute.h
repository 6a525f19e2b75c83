// How long training takes in virtual time: it does not depend on the machine that simulates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"
#include "base/time.h"

namespace tessera {

class Compute {
 public:
  virtual ~Compute() = default;
  // From `start` on, the node's training number `nth` (from zero). A function of its arguments: it
  // keeps no state, so nothing need be saved.
  virtual Duration training_time(NodeId node, std::uint64_t nth, Instant start) const = 0;
};

struct ComputeContext {
  std::uint32_t nodes = 0;
  int steps = 1;     // Local steps of one training.
  Random random{0};  // The run's own fork.
};

struct ComputeKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  std::unique_ptr<Compute> (*make)(Options& options, const ComputeContext& context) = nullptr;
};

std::span<const ComputeKind> computes();

// Throws std::invalid_argument for an unknown name, option or value.
std::unique_ptr<Compute> make_compute(std::string_view spec, const ComputeContext& context);

}  // namespace tessera
