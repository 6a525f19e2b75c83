#include "live/census.h"

#include <fmt/format.h>

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

// A few who connect to us need not be most of those who are there.
Census::Dissent Census::dissent(std::span<const PeerState> members) const {
  Dissent dissent;
  for (const PeerState& member : members) {
    if (!member.wanted && !member.disagrees && !was_there(member.id)) continue;
    ++dissent.others;
    if (!member.disagrees) continue;
    if (dissent.differing++ == 0) dissent.first = fmt::format("{}: {}", member.name, member.reason);
  }
  return dissent;
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
