// Who else is there, as a node knows it: whom it has links to, who has come and who has finished,
// and in which life it has met each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "live/acquaintances.h"
#include "live/census.h"
#include "live/contacts.h"
#include "live/link/transport.h"

namespace tessera {

class Company {
 public:
  // `birth` is our own, in case we begin without a checkpoint.
  Company(Transport& transport, NodeId self, std::uint64_t birth, Contacts::Meets meets,
          std::vector<NodeId> helpers)
      : acquaintances(birth),
        contacts(transport, self, std::move(meets), std::move(helpers)),
        census(self),
        transport_(transport) {}

  Acquaintances acquaintances;
  Contacts contacts;
  Census census;

  // A peer is there. Whether it may have been started anew since it was last; one that is there
  // again after a rest is who it was.
  bool greet(const PeerState& peer);
  // To those who are there, where it has changed; and seldom enough for many changes to make one
  // message, unless it has to be `now`.
  void tell_census(bool now = false);

 private:
  void tell(NodeId peer, const std::optional<CensusTold>& news);

  using Life = std::pair<std::uint64_t, std::uint64_t>;  // Its number, and connections made.
  Transport& transport_;
  std::map<NodeId, Life> greeted_;
  std::uint64_t told_ = 0;  // Which version of the census all who are there know.
  Instant told_at_{};
};

}  // namespace tessera
