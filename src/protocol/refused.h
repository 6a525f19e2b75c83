// Rounds in which a peer's share was turned away for what was in it. The peer has spoken and will
// not speak again in that round, so we do not wait for it there. Nothing else follows: it is no
// voice about the round the others are in, and it is waited for in the next.
#pragma once

#include <set>
#include <utility>

#include "base/archive.h"
#include "base/ids.h"

namespace tessera {

class Refused {
 public:
  void put(NodeId from, Round round) { refused_.emplace(round, from); }
  bool has(NodeId from, Round round) const { return refused_.count({round, from}) > 0; }
  bool empty() const { return refused_.empty(); }
  void forget_before(Round round) {
    refused_.erase(refused_.begin(), refused_.lower_bound({round, 0}));
  }

  void fields(Archive& archive) { archive(refused_); }

 private:
  std::set<std::pair<Round, NodeId>> refused_;
};

}  // namespace tessera
