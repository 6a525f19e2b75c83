#include "live/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "live/nonce.h"

namespace tessera {
namespace {

// A second passes between two questions of ours; what others may ask or tell us is half of that
// apart, so that an honest one is not refused for a little haste.
constexpr Duration kAskEvery = std::chrono::seconds(1);
constexpr Duration kApartMin = std::chrono::milliseconds(500);
constexpr Duration kLookAroundEvery = std::chrono::minutes(1);
// For what a member that leaves is told to reach it.
constexpr Duration kTellWithin = std::chrono::seconds(1);

// The same node: another key is another machine.
bool has(const Roster& roster, const Member& member) {
  const Member* const found = roster.find(member.id);
  return found != nullptr && found->name == member.name && found->public_key == member.public_key;
}

std::shared_ptr<const Bytes> told_of(const Roster& roster) {
  return encode_control(RosterTold{roster.to_toml()});
}

}  // namespace

Membership::Membership(Roster roster, Member self, MembershipParts parts)
    : roster_(std::move(roster)),
      self_(std::move(self)),
      parts_(std::move(parts)),
      // Not all in the same moment.
      looked_around_(
          Duration(draw_nonce() % static_cast<std::uint64_t>(kLookAroundEvery.count()))) {}

bool Membership::may(Times& last, NodeId peer) {
  const Instant now = parts_.transport->now();
  const auto [place, first] = last.try_emplace(peer, now);
  if (!first && now - place->second < kApartMin) return false;
  place->second = now;
  return true;
}

Result<void> Membership::follow(Result<Roster> next, std::string_view what) {
  if (!next) return next.error();
  if (next->to_toml() == roster_.to_toml()) {
    // One that an owner has removed holds the roster it is not in, and may be told it again.
    if (!roster_.has_owner() && std::exchange(out_, false))
      parts_.say(LogLevel::kInfo, fmt::format("{} is back in the roster", self_.name));
    return {};
  }
  if (const Result<void> fine = may_follow(roster_, *next); !fine) return fine;
  if (!has(*next, self_)) return leave_out(std::move(*next));
  take_over(std::move(*next), what);
  return {};
}

void Membership::consider(Result<Roster> in_file) {
  const Result<void> fine = follow(std::move(in_file), "the roster has changed");
  if (fine) return;
  parts_.transport->count_refusal(fine.error().kind);
  parts_.say(LogLevel::kWarning,
             fmt::format("the roster has changed and is not used: {}", fine.error().message));
}

void Membership::take_over(Roster next, std::string_view what) {
  out_ = false;
  const bool told = tell_who_leaves(next);
  roster_ = std::move(next);
  links_due_ = parts_.transport->now() + (told ? kTellWithin : Duration(0));
  parts_.say(LogLevel::kInfo,
             fmt::format("{}: {}{} members", what,
                         roster_.has_owner() ? fmt::format("version {}, ", roster_.version())
                                             : std::string(),
                         roster_.members().size()));
  if (const std::string& address = roster_.find(self_.id)->address; address != self_.address)
    parts_.say(LogLevel::kWarning,
               fmt::format("the roster has {} at {} now; it listens there once it is started again",
                           self_.name, address));
  if (!roster_.has_owner()) return;
  if (parts_.keep) parts_.keep(roster_);
  for (const PeerState& peer : parts_.transport->peers())
    if (peer.alive()) meet(peer.id);
}

// By hand it may be a slip, and the node goes on with the roster it had.
Result<void> Membership::leave_out(Roster next) {
  out_ = true;
  if (!roster_.has_owner())
    return Error{"roster-without-us",
                 fmt::format("{} is out: it is not in there, or with another key or id, and others "
                             "that read it refuse this node; stop it, or put it back",
                             self_.name)};
  roster_ = std::move(next);
  parts_.say(
      LogLevel::kError,
      fmt::format("{} is out: in version {} of the roster its owner has removed it, or given "
                  "its place to another",
                  self_.name, roster_.version()));
  if (parts_.keep) parts_.keep(roster_);
  return {};
}

// They cannot be told afterwards. Whether there were any.
bool Membership::tell_who_leaves(const Roster& next) {
  bool any = false;
  if (!roster_.has_owner()) return any;
  for (const PeerState& peer : parts_.transport->peers()) {
    const Member* const before = roster_.find(peer.id);
    if (!peer.alive() || before == nullptr || has(next, *before)) continue;
    any = parts_.transport->send(peer.id, told_of(next), MessageClass::kRoster) || any;
  }
  return any;
}

void Membership::meet(NodeId peer, bool anew) {
  if (!roster_.has_owner()) return;
  if (std::exchange(told_[peer], roster_.version()) == roster_.version() && !anew) return;
  parts_.transport->send(peer, encode_control(RosterHeld{roster_.version()}),
                         MessageClass::kControl);
}

void Membership::hear(NodeId from, const Control& control) {
  // Nothing is taken over where there is no owner to vouch for it.
  if (!roster_.has_owner()) return parts_.transport->count_refusal("roster-owner");
  if (const auto* held = std::get_if<RosterHeld>(&control))
    held_by_[from] = held->version;
  else if (const auto* told = std::get_if<RosterTold>(&control))
    on_told(from, *told);
  else
    on_asked(from);
}

void Membership::on_asked(NodeId from) {
  if (!may(answered_, from)) return parts_.transport->count_refusal("asked-too-often");
  parts_.transport->send(from, told_of(roster_), MessageClass::kRoster);
}

// Said for the first time and then each time there are twice as many: who tells nonsense must not
// fill the log.
void Membership::on_told(NodeId from, const RosterTold& told) {
  if (!may(looked_at_, from)) return parts_.transport->count_refusal("told-too-often");
  const Member* const teller = roster_.find(from);
  const std::string what =
      fmt::format("a roster comes from {}", teller == nullptr ? "a former member" : teller->name);
  const Result<void> fine = follow(parse_signed_roster(told.text, roster_.owner()), what);
  if (fine) return;
  parts_.transport->count_refusal(fine.error().kind);
  if (std::has_single_bit(++refused_))
    parts_.say(LogLevel::kWarning,
               fmt::format("{} and is not used: {}", what, fine.error().message));
}

// One after the other, so that one who claims what it does not have keeps nobody from the others.
void Membership::ask_for_newer() {
  const Instant now = parts_.transport->now();
  if (asked_at_ != Instant{} && now - asked_at_ < kAskEvery) return;
  const auto newer = [&](const auto& held) { return held.second > roster_.version(); };
  auto next = std::find_if(held_by_.upper_bound(last_asked_), held_by_.end(), newer);
  if (next == held_by_.end()) next = std::find_if(held_by_.begin(), held_by_.end(), newer);
  if (next == held_by_.end()) return;
  asked_at_ = now;
  last_asked_ = next->first;
  parts_.transport->send(next->first, encode_control(RosterAsked{}), MessageClass::kControl);
}

// A link that nothing else needs is made for it, and rests soon.
void Membership::look_around() {
  const Instant now = parts_.transport->now();
  if (!roster_.has_owner() || now - looked_around_ < kLookAroundEvery) return;
  looked_around_ = now;
  std::vector<NodeId> idle;
  for (const PeerState& peer : parts_.transport->peers())
    if (peer.condition == PeerCondition::kIdle) idle.push_back(peer.id);
  if (!idle.empty()) meet(idle[draw_nonce() % idle.size()]);
}

void Membership::tick() {
  if (links_due_ && parts_.transport->now() >= *links_due_) {
    links_due_.reset();
    parts_.transport->set_members(roster_.members());
    parts_.transport->set_observers(roster_.observers());
    const auto gone = [&](const auto& entry) { return roster_.find(entry.first) == nullptr; };
    std::erase_if(held_by_, gone);
    std::erase_if(told_, gone);
    std::erase_if(answered_, gone);
    std::erase_if(looked_at_, gone);
  }
  if (out_) return;
  ask_for_newer();
  look_around();
}

}  // namespace tessera
