// Which roster a running node holds, and how it comes to a newer one without a coordinator: members
// tell each other which version they hold, when they meet and when they have gone on to another;
// who hears of a higher one asks for it, one member at a time, and hands it on. Links lead to some
// members only, so now and then one of the others is told, too. Nothing is believed
// but the owner's signature, which is checked before anything else of a roster is read. One without
// an owner is kept by hand, and changes by its file alone.
//
// Whom a newer roster has no place for any more is told it before the links end. One that finds
// itself removed by its owner ends its run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "live/link/transport.h"
#include "live/log_level.h"
#include "live/roster.h"
#include "live/runtime_control.h"

namespace tessera {

struct MembershipParts {
  Transport* transport = nullptr;
  Say say{};
  std::function<void(const Roster&)> keep{};  // For the next start. May be empty.
};

class Membership {
 public:
  // The roster has this member.
  Membership(Roster roster, Member self, MembershipParts parts);

  const Roster& roster() const { return roster_; }
  const Member& self() const { return self_; }
  // The newest roster has this member no longer, or with another key: the others refuse it.
  bool is_out() const { return out_; }
  bool is_removed() const { return out_ && roster_.has_owner(); }

  // The roster's file has changed. What cannot be used is said and counted; links change with the
  // next tick().
  void consider(Result<Roster> in_file);

  // What members say of it to each other.
  // `anew`: it does not know what we have told it before.
  void meet(NodeId peer, bool anew = true);
  void hear(NodeId from, const Control& control);
  // A few times a second, on the thread that sends.
  void tick();

 private:
  using Times = std::map<NodeId, Instant>;  // By member, so no longer than the roster.
  bool may(Times& last, NodeId peer);

  void on_told(NodeId from, const RosterTold& told);
  void on_asked(NodeId from);
  // Where a better roster is found; otherwise why not. `what` has happened, for the log.
  Result<void> follow(Result<Roster> next, std::string_view what);
  void take_over(Roster next, std::string_view what);
  Result<void> leave_out(Roster next);
  bool tell_who_leaves(const Roster& next);
  void ask_for_newer();
  void look_around();

  Roster roster_;
  Member self_;
  MembershipParts parts_;
  bool out_ = false;
  std::optional<Instant> links_due_;         // When links are to be those of the roster.
  std::map<NodeId, std::uint64_t> told_;     // The version each was last told that we hold.
  std::map<NodeId, std::uint64_t> held_by_;  // The version each member last said it holds.
  Instant asked_at_{};
  Instant looked_around_{};
  NodeId last_asked_ = 0;
  Times answered_, looked_at_;
  std::uint64_t refused_ = 0;  // Of what members told.
};

}  // namespace tessera
