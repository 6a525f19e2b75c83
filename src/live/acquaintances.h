// Which life of each peer a node has met. A node that begins without a checkpoint is born with a
// number of its own, which its checkpoints keep and which it tells whom it meets. One that comes
// back from a checkpoint and finds most of the peers it knew born anew is of an earlier run: its
// folder was not cleared when theirs were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "base/archive.h"
#include "base/ids.h"

namespace tessera {

class Acquaintances {
 public:
  explicit Acquaintances(std::uint64_t birth) : birth_(birth) {}

  std::uint64_t birth() const { return birth_; }
  void meet(NodeId peer, std::uint64_t birth);

  // Links are made to these alone: of the others that the checkpoint knew nothing is expected.
  void expect(std::span<const NodeId> peers);

  // Of the peers that the checkpoint knew; what becomes of one after the first meeting does not
  // count.
  std::size_t known() const { return known_; }
  std::size_t born_anew() const { return born_anew_; }
  bool outlived() const { return 2 * born_anew_ > known_; }
  // Enough of them are who they were, so that the others can no longer make it outlived.
  bool confirmed() const { return 2 * (known_ - unmet_.size() - born_anew_) >= known_; }

  void fields(Archive& archive);

 private:
  std::uint64_t birth_;
  std::map<NodeId, std::uint64_t> met_;
  std::map<NodeId, std::uint64_t> unmet_;  // Those of the checkpoint, until they are met again.
  std::size_t known_ = 0, born_anew_ = 0;
};

}  // namespace tessera
