#include "live/census.h"

#include <algorithm>

namespace tessera {

void Census::begin() {
  if (begun_) return;
  begun_ = true;
  ++version_;
}

void Census::hear(const CensusTold& told, std::span<const PeerState> members) {
  const auto is_told = [](const std::vector<NodeId>& ids, NodeId id) {
    return std::ranges::binary_search(ids, id);
  };
  for (const PeerState& member : members) {
    if (is_told(told.there, member.id)) saw(member.id);
    if (is_told(told.finished, member.id)) finished(member.id);
  }
  if (told.begun) begin();
}

bool Census::complete(std::span<const PeerState> members) const {
  return begun_ || std::ranges::all_of(members, [&](const PeerState& member) {
           return there_.contains(member.id);
         });
}

std::optional<CensusTold> Census::news_for(NodeId peer, bool anew) {
  std::uint64_t& told = told_[peer];
  if (told == version_ && !anew) return std::nullopt;
  told = version_;
  return CensusTold{.begun = begun_,
                    .there = {there_.begin(), there_.end()},
                    .finished = {finished_.begin(), finished_.end()}};
}

}  // namespace tessera
