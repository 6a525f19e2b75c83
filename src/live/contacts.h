// To whom a node keeps links: those that its protocol meets in the round under way and in the next
// one, and while it begins a few more, so that all members hang together whatever the topology says
// of those who are there. To all others a link is made when there is something to tell.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "live/link/transport.h"

namespace tessera {

class Contacts {
 public:
  // Whom the node sends to or hears from in a round; nothing where it chooses anew for every
  // message.
  using Meets = std::function<std::vector<NodeId>(Round round)>;
  // Without `meets` the transport keeps its links as it likes. `helpers` may be asked for a model.
  Contacts(Transport& transport, NodeId self, Meets meets, std::vector<NodeId> helpers)
      : transport_(transport),
        self_(self),
        meets_(std::move(meets)),
        helpers_(std::move(helpers)) {}

  bool chosen() const { return meets_ != nullptr; }
  // While it begins: also the members next to it in the roster, and a few helpers.
  void gather(Round round);
  // While it runs.
  void follow(Round round);
  const std::vector<NodeId>& wanted() const { return wanted_; }  // Ascending.

 private:
  void want(std::vector<NodeId> peers);
  std::vector<NodeId> met_in(Round round) const;

  Transport& transport_;
  NodeId self_;
  Meets meets_;
  std::vector<NodeId> helpers_;
  std::vector<NodeId> wanted_;
  std::optional<Round> followed_;
};

}  // namespace tessera
