#include "live/acquaintances.h"

namespace tessera {

void Acquaintances::meet(NodeId peer, std::uint64_t birth) {
  met_[peer] = birth;
  const auto before = unmet_.find(peer);
  if (before == unmet_.end()) return;
  born_anew_ += before->second != birth;
  unmet_.erase(before);
}

void Acquaintances::fields(Archive& archive) {
  archive(birth_, met_);
  if (!archive.loading()) return;
  unmet_ = met_;
  known_ = met_.size();
  born_anew_ = 0;
}

}  // namespace tessera
