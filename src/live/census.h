// Who has come to the run, and who has finished: what a node tells those it has links to, and they
// hand on to theirs. So a node that talks to its neighbours alone still knows when all are there,
// and that one it cannot reach has come to its end and left.
//
// Nothing is held for who is not in the roster, whatever is told. A member that lies can make the
// others begin, or leave, earlier than they would; the waiting has an end of its own anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/ids.h"
#include "live/link/peer_state.h"
#include "live/runtime_control.h"

namespace tessera {

class Census {
 public:
  explicit Census(NodeId self) : there_{self} {}

  void saw(NodeId peer) { version_ += there_.insert(peer).second; }
  void finished(NodeId node) { version_ += finished_.insert(node).second; }
  void begin();  // Our own first round.
  // From one of them, `members` being all others.
  void hear(const CensusTold& told, std::span<const PeerState> members);

  bool was_there(NodeId peer) const { return there_.contains(peer); }
  bool has_finished(NodeId peer) const { return finished_.contains(peer); }
  // How many of the others, `members`, learn something else, and of how many: those to whom links
  // are kept, and whoever else has come.
  struct Dissent {
    std::size_t differing = 0, others = 0;
    std::string first{};  // Of them, with what it differs in.
    bool of_most() const { return 2 * differing > others; }
  };
  Dissent dissent(std::span<const PeerState> members) const;

  // All have come, or somebody who knew it has begun.
  bool complete(std::span<const PeerState> members) const;

  std::uint64_t version() const { return version_; }  // Of all that is known.
  // What this peer has not been told by us. `anew`: it has forgotten.
  std::optional<CensusTold> news_for(NodeId peer, bool anew);

 private:
  std::set<NodeId> there_, finished_;
  bool begun_ = false;
  std::uint64_t version_ = 1;
  std::map<NodeId, std::uint64_t> told_;  // Which version each peer knows.
};

}  // namespace tessera
