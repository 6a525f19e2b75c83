// One hostile node, at the one place its messages pass: a message is decoded, changed as the attack
// says, and encoded again by the same codecs. The simulator's hostile nodes are these
// (sim/liars.h), and so are live ones.
#pragma once

#include <cstdint>
#include <map>

#include "attack/attack.h"
#include "base/archive.h"
#include "base/random.h"
#include "node/env.h"

namespace tessera {

class Liar {
 public:
  // `faults` is the branch of the seed's tree that a run's faults are drawn from.
  Liar(NodeId self, ChosenAttack chosen, const Random& faults);

  // What the node sends in the place of `truth`, the same to all until forget_told(). `scene` may
  // be null where the attack is not omniscient.
  Payload retell(const Payload& truth, const Scene* scene = nullptr);
  void forget_told() { told_.clear(); }

  void fields(Archive& archive) { archive(lies_, first_); }

 private:
  Payload make_lie(const Payload& truth, const Scene* scene);

  ChosenAttack chosen_;
  Random random_;
  std::uint64_t lies_ = 0;  // So far: they name the fork each one draws from.
  Payload first_{};         // Of one that repeats itself.
  struct Told {
    Payload truth{}, lie{};  // The truth is kept, so that its address stays its own.
  };
  std::map<const Letter*, Told> told_;
};

}  // namespace tessera
