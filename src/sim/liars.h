// The hostile nodes of a simulation. Their messages are changed after the nodes of an instant are
// done, in the order of their ids, so that an attacker sees every honest model as it stands then.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "attack/liar.h"
#include "attack/neighbours.h"
#include "base/archive.h"
#include "sim/faults.h"
#include "sim/shard.h"

namespace tessera {

class Liars {
 public:
  // `graph` as Neighbours has it.
  Liars(const Faults& faults, std::uint32_t nodes, std::shared_ptr<const Graph> graph);

  // Puts in the place of what the nodes just touched are about to send what the hostile ones among
  // them send.
  void retell(Shard& shard);
  // A hostile node's model is nobody's loss: where training made it diverge it begins with zeros.
  // Threads may mend different ones at once.
  void mend(NodeId node, Trained& trained) const;

  void fields(Archive& archive);

 private:
  void retell(const Shard& shard, NodeId from, Effects& effects);

  Neighbours neighbours_;
  std::map<NodeId, Liar> liars_;  // By node.
  bool omniscient_ = false;       // They look at the honest nodes' models.
};

}  // namespace tessera
