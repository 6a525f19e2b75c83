#include "live/contacts.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

// On each side in the order of ids, which is a ring of all: it stays whole where one is away.
constexpr std::size_t kBeside = 2;
constexpr std::size_t kHelpers = 5;  // As many as are asked (Joining).

// The first `count` of these that follow `self` in a ring.
void add_after(NodeId self, const std::vector<NodeId>& ring, std::size_t count,
               std::vector<NodeId>& out) {
  const auto first = std::ranges::upper_bound(ring, self) - ring.begin();
  for (std::size_t i = 0; i < std::min(count, ring.size()); ++i)
    out.push_back(ring[(static_cast<std::size_t>(first) + i) % ring.size()]);
}

void add_before(NodeId self, const std::vector<NodeId>& ring, std::size_t count,
                std::vector<NodeId>& out) {
  const auto first = std::ranges::lower_bound(ring, self) - ring.begin();
  for (std::size_t i = 1; i <= std::min(count, ring.size()); ++i)
    out.push_back(ring[(static_cast<std::size_t>(first) + ring.size() - i) % ring.size()]);
}

}  // namespace

std::vector<NodeId> Contacts::met_in(Round round) const {
  std::vector<NodeId> met = meets_(round);
  const std::vector<NodeId> next = meets_(round + 1);
  met.insert(met.end(), next.begin(), next.end());
  return met;
}

void Contacts::gather(Round round) {
  if (!chosen()) return;
  std::vector<NodeId> members;
  for (const PeerState& peer : transport_.peers()) members.push_back(peer.id);
  std::vector<NodeId> helpers = helpers_;
  std::ranges::sort(helpers);
  std::vector<NodeId> peers = met_in(round);
  add_after(self_, members, kBeside, peers);
  add_before(self_, members, kBeside, peers);
  add_after(self_, helpers, kHelpers, peers);
  followed_.reset();
  want(std::move(peers));
}

void Contacts::follow(Round round) {
  if (!chosen() || std::exchange(followed_, round) == round) return;
  want(met_in(round));
}

void Contacts::want(std::vector<NodeId> peers) {
  std::ranges::sort(peers);
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  std::erase(peers, self_);
  if (std::exchange(wanted_, std::move(peers)) == wanted_) return;
  transport_.want(wanted_);
}

}  // namespace tessera
