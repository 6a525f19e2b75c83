// What goes wrong, drawn from the seed: messages lost, doubled or held back, the network cut in
// two, nodes that crash and come back, hostile ones. A Faults decides; the Simulation carries out.
// Every decision is a function of the seed and of what it concerns, so a run with faults repeats
// like any other.
//
//   faults = "loss=0.01,duplicate=0.01,reorder=0.1@50ms,spike=0.001@5s,
//             partition=20s/40s,crash=60s/5s,memory=checkpoint,snapshot=10s,heal=100s,
//             hostile=4,attack=alie"
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attack/attack.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"

namespace tessera {

struct FaultOptions {
  // Chances per message.
  double loss = 0, duplicate = 0;
  double reorder = 0, spike = 0;
  Duration reorder_max{};   // Held back by up to this much, so that later ones overtake it.
  Duration spike_length{};  // Held back by this much.
  // From `cut` until `mended` messages between the two halves of the nodes are lost.
  Instant cut = kNever, mended = kNever;
  // Means of the times a node stays up and down; zero: no crashes.
  Duration up_mean{}, down_mean{};
  bool remembers = true;  // Comes back from its last snapshot, or from nothing.
  Duration snapshot_every = std::chrono::seconds(10);
  Instant heal = kNever;  // From here on nothing goes wrong any more; who is hostile remains so.
  std::vector<NodeId> hostile{};  // Ascending.
  ChosenAttack attack{};          // What they do.
};

class Faults {
 public:
  Faults() = default;
  Faults(FaultOptions options, std::uint32_t nodes, Random random);

  const FaultOptions& options() const { return options_; }
  bool any() const { return any_; }  // But for hostile nodes, which touch their own messages only.
  std::span<const NodeId> hostile() const { return options_.hostile; }
  const ChosenAttack& attack() const { return options_.attack; }
  const Random& random() const { return random_; }

  // Of a message that reaches its receiver now.
  struct Fate {
    bool lost = false, doubled = false;
    Duration held_back{};
  };
  Fate of_message(std::uint64_t serial, NodeId from, NodeId to, Instant now) const;
  bool cut_off(NodeId a, NodeId b, Instant now) const;
  // Whether the network is cut now and will never be mended.
  bool cut_for_ever(Instant now) const;

  // When the node's life number `life`, begun at `start`, ends; none when it does not.
  std::optional<Instant> crash_after(NodeId node, std::uint32_t life, Instant start) const;
  Duration down_time(NodeId node, std::uint32_t life) const;

 private:
  bool crashes() const { return options_.up_mean > Duration::zero(); }

  FaultOptions options_{};
  bool any_ = false;
  Random random_{0};
  std::vector<bool> side_;  // Of the cut, by node.
};

// What may be asked for, for help texts.
struct FaultKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
};
std::span<const FaultKind> fault_kinds();

// Reads "loss=0.01,..." or "none"; throws std::invalid_argument in plain words.
Faults make_faults(std::string_view text, std::uint32_t nodes, const Random& random);

}  // namespace tessera
