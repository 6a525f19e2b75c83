// The hostile nodes of a simulation, at the one place their messages pass: a message is decoded,
// changed as the run's attack says, and encoded again by the same codecs. Happens after the nodes
// of an instant are done, in the order of their ids, so that an attacker sees every honest model as
// it stands then.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/random.h"
#include "node/env.h"
#include "sim/attack.h"
#include "sim/faults.h"
#include "sim/neighbours.h"
#include "sim/shard.h"

namespace tessera {

class Liars {
 public:
  // `graph` as Neighbours has it.
  Liars(const Faults& faults, std::uint32_t nodes, std::shared_ptr<const Graph> graph);

  // Puts in the place of what a node is about to send what it sends if it is hostile.
  using Sends = std::vector<std::pair<NodeId, Payload>>;
  void retell(const Shard& shard, NodeId from, Sends& sends);

  void fields(Archive& archive);

 private:
  struct State {
    std::uint64_t told = 0;  // Lies so far: they name the fork each one draws from.
    Payload first{};         // Of one that repeats itself.
    void fields(Archive& archive) { archive(told, first); }
  };
  Payload make_lie(const Shard& shard, const Scene& scene, const Payload& truth,
                   const Random& random) const;

  ChosenAttack chosen_;
  Random random_;
  Neighbours neighbours_;
  std::map<NodeId, State> states_;  // Of the hostile nodes.
};

}  // namespace tessera
