#include "live/acquaintances.h"

#include <algorithm>

namespace tessera {

void Acquaintances::meet(NodeId peer, std::uint64_t birth) {
  met_[peer] = birth;
  const auto before = unmet_.find(peer);
  if (before == unmet_.end()) return;
  born_anew_ += before->second != birth;
  unmet_.erase(before);
}

void Acquaintances::expect(std::span<const NodeId> peers) {
  std::erase_if(unmet_, [&](const auto& known) {
    return std::ranges::find(peers, known.first) == peers.end();
  });
  known_ = unmet_.size();
}

void Acquaintances::fields(Archive& archive) {
  archive(birth_, met_);
  if (!archive.loading()) return;
  unmet_ = met_;
  known_ = met_.size();
  born_anew_ = 0;
}

}  // namespace tessera
