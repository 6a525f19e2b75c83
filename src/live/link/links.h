// The links of one node, by peer: who they lead to, whose turn it is to be heard, and which peers
// have changed. Most members of a large fleet are no neighbours of ours: their links are asleep,
// and whoever goes through the links goes through the others. Without sockets, threads or locks;
// the transport has those.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/word_counts.h"
#include "live/link/link.h"

namespace tessera {

struct Incoming {
  NodeId from = 0;
  Bytes bytes{};
};

class Links {
 public:
  Links(NodeId self, const TransportOptions& options, std::uint64_t session)
      : self_(self), options_(options), next_session_(session) {
    if (!options.wants_all) wanted_.emplace();
  }
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // Links to new members are made, those to former ones ended. Returns the peers whose connection
  // is to be hung up.
  std::vector<NodeId> set_members(std::span<const Member> members);

  // Links to these peers alone are kept; others are made for what is to be sent.
  void want(std::span<const NodeId> peers);
  // Those to be hung up for want of use.
  std::vector<Link*> unused(Instant now);

  // Something happens to this link: it is awake from here on. Null where there is none.
  Link* wake(NodeId id);
  const Link* find(NodeId id) const;
  // By id. All that is under way is among them.
  const std::map<NodeId, Link*>& awake() const { return awake_; }
  void doze();  // Those to whom nothing happens any more are asleep.

  // The next whole message. Peers take turns, so that one that floods does not keep the others
  // waiting.
  std::optional<Incoming> take_next();
  bool has_next() const;

  // Notices silence of a peer. Whether its condition has changed.
  bool tick(Link& link, Instant now);
  std::vector<PeerState> take_changes();  // Of peers whose condition changed since the last call.
  std::vector<PeerState> states() const;  // By id.
  std::vector<PeerState> states_of_awake() const;
  void say_goodbye();    // To all, also to those who come later.
  bool drained() const;  // No peer that is there has anything left to confirm.

  void refuse(std::string_view word) { ++refusals_[std::string(word)]; }
  const WordCounts& refusals() const { return refusals_; }

 private:
  NodeId self_;
  bool dials_out_ = false;  // Nobody can connect to us.
  const TransportOptions& options_;
  std::uint64_t next_session_;  // A link that is made anew counts its chunks from 1 again.
  std::optional<std::set<NodeId>> wanted_;  // None: all.
  std::map<NodeId, std::unique_ptr<Link>> links_;
  std::map<NodeId, Link*> awake_;
  WordCounts refusals_;
  std::set<NodeId> changed_;
  NodeId last_served_ = 0;
};

}  // namespace tessera
