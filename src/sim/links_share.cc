#include "sim/links_share.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace tessera {
namespace {

// As exact as sums of many rates are.
constexpr double kExact = 1e-9;

}  // namespace

LinkShare::LinkShare(std::vector<double> capacities, double tolerance)
    : tolerance_(tolerance),
      slack_(tolerance),
      links_(capacities.size()),
      levels_(capacities.size(), kUnlimited),
      earliest_(capacities.size()) {
  for (Link link = 0; link < links_.size(); ++link) links_[link].capacity = capacities[link];
}

LinkShare::Slot LinkShare::add(Instant now, SharedFlow flow, double bytes) {
  Slot slot = static_cast<Slot>(flows_.size());
  if (free_.empty()) {
    flows_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Flow& added = flows_[slot];
  added =
      Flow{.left = bytes, .limit = flow.limit, .since = now, .links = flow.links, .in_use = true};
  for (std::uint32_t side = 0; side < 2; ++side) {
    LinkState& link = links_[flow.links[side]];
    added.places[side] = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back({2 * slot + side, flow.links[1 - side], flow.limit});
    link.crowd_changed = true;
    mark_pending(flow.links[side]);
  }
  if (bytes <= 0) {
    added.done = now;
    touch(flow.links[0]);
  }
  return slot;
}

void LinkShare::remove(Slot slot) {
  Flow& flow = flows_[slot];
  CHECK(flow.in_use);
  for (std::uint32_t side = 0; side < 2; ++side) {
    LinkState& link = links_[flow.links[side]];
    const Entry last = link.flows.back();
    link.flows[flow.places[side]] = last;
    flows_[last.slot()].places[last.side()] = flow.places[side];
    link.flows.pop_back();
    // An empty link carries exactly nothing, whatever the sums have come to.
    link.load = link.flows.empty() ? 0 : link.load - flow.rate;
    if (!fits(flow.links[side])) mark_pending(flow.links[side]);
  }
  touch(flow.links[flow.keeper]);
  flow.in_use = false;
  free_.push_back(slot);
}

void LinkShare::set_capacity(Link link, double capacity) {
  links_[link].capacity = capacity;
  if (!fits(link)) mark_pending(link);
}

bool LinkShare::fits(Link which) const {
  const LinkState& link = links_[which];
  if (link.crowd_changed) return false;
  if (link.load > link.capacity * (1 + slack_)) return false;
  return levels_[which] == kUnlimited || link.load >= link.capacity * (1 - slack_);
}

// Levelled exactly, links settle: the tightest of all has nothing to wait for, the next tightest
// only for that one, and so on (random systems need two or three turns per link, and never needed
// eight). With a tolerance nothing forbids two links to push each other over its edge for ever, so
// whoever takes very long is asked to be exact.
void LinkShare::solve(Instant now) {
  constexpr std::size_t kPatience = 64;
  slack_ = tolerance_;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (i == kPatience * links_.size()) slack_ = std::min(slack_, kExact);
    const Link link = pending_[i];
    links_[link].pending = false;
    if (!fits(link)) level(link, now);
  }
  pending_.clear();
  slack_ = tolerance_;
  for (const Link link : touched_) find_earliest(link, now);
  touched_.clear();
}

// Gives the link the level that fills it, and its flows the rates that follow.
void LinkShare::level(Link which, Instant now) {
  ++levels_set_;
  LinkState& link = links_[which];
  limits_.resize(link.flows.size());
  std::transform(link.flows.begin(), link.flows.end(), limits_.begin(), [this](const Entry& entry) {
    return std::min(entry.limit, levels_[entry.other]);
  });
  const double level = fair_level(link.capacity, limits_);
  // Flows held back elsewhere before and after run as they did; those that are new must be seen to.
  const double unmoved = link.crowd_changed ? -1 : std::min(level, levels_[which]);
  levels_[which] = level;
  link.crowd_changed = false;
  link.load = 0;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const double rate = std::min(limits_[i], level);
    link.load += rate;
    if (limits_[i] > unmoved) change_rate(link.flows[i], rate, now);
  }
}

// A flow gets the rate its levels allow. The link that holds it back keeps it in mind; the sender's
// link also keeps the flows that only their own limits hold back.
void LinkShare::change_rate(const Entry& entry, double rate, Instant now) {
  Flow& flow = flows_[entry.slot()];
  const double change = rate - flow.rate;
  if (change == 0) return;
  links_[entry.other].load += change;
  if (!fits(entry.other)) mark_pending(entry.other);
  touch(flow.links[flow.keeper]);
  const bool second =
      levels_[flow.links[1]] < levels_[flow.links[0]] && levels_[flow.links[1]] <= flow.limit;
  if (const std::uint8_t keeper = second ? 1 : 0; keeper != flow.keeper) {
    flow.keeper = keeper;
    touch(flow.links[keeper]);
  }
  flow.left -= flow.rate * to_seconds(now - flow.since);
  flow.since = now;
  flow.rate = rate;
}

// Rates may have changed several times on the way to a solution; when a flow will be done is asked
// once.
void LinkShare::find_earliest(Link which, Instant now) {
  LinkState& link = links_[which];
  link.touched = false;
  Instant earliest = kNever;
  for (const Entry& entry : link.flows) {
    Flow& flow = flows_[entry.slot()];
    if (flow.keeper != entry.side()) continue;
    if (flow.since == now) flow.done = when_sent(now, flow.left, flow.rate);
    earliest = std::min(earliest, flow.done);
  }
  earliest_.set(which, earliest);
}

void LinkShare::take_done(Instant now, std::vector<Slot>& done) {
  while (earliest_.at() <= now) {
    const auto which = static_cast<Link>(earliest_.first());
    for (const Entry& entry : links_[which].flows) {
      const Flow& flow = flows_[entry.slot()];
      if (flow.keeper == entry.side() && flow.done <= now) done.push_back(entry.slot());
    }
    earliest_.set(which, kNever);
    touch(which);
  }
}

double LinkShare::bytes_left(Slot slot, Instant now) const {
  const Flow& flow = flows_[slot];
  return std::max(0.0, flow.left - flow.rate * to_seconds(now - flow.since));
}

// Everything, in its order: sums must go on as they would have. The earliest end on a link is not
// what its flows say: between two solutions it may be behind, and must stay so.
void LinkShare::fields(Archive& archive) {
  archive(flows_, free_);
  for (Link which = 0; which < links_.size(); ++which) {
    Instant earliest = earliest_.at(which);
    archive(links_[which], levels_[which], earliest);
    earliest_.set(which, earliest);
  }
  archive(pending_, touched_);
  if (archive.loading()) archive.require(restore(), "the shared links do not hold together");
}

// Fills in what follows from the rest, once that is loaded; whether it can be.
bool LinkShare::restore() {
  std::vector<bool> seen(2 * flows_.size(), false);
  for (const Flow& flow : flows_) {
    const bool times = flow.since >= Instant{} && flow.done >= Instant{};
    const bool rates =
        std::isfinite(flow.left) && std::isfinite(flow.rate) && flow.rate >= 0 && flow.limit >= 0;
    if (!times || !rates || flow.keeper > 1) return false;
    if (std::max(flow.links[0], flow.links[1]) >= links_.size()) return false;
  }
  for (Link which = 0; which < links_.size(); ++which)
    if (!restore_link(which, seen)) return false;
  for (const Slot slot : free_) {
    if (slot >= flows_.size() || flows_[slot].in_use || seen[2 * slot]) return false;
    seen[2 * slot] = seen[2 * slot + 1] = true;
  }
  // Each flow is free, or on both of its links.
  if (std::find(seen.begin(), seen.end(), false) != seen.end()) return false;
  for (const Link link : pending_)
    if (link >= links_.size() || std::exchange(links_[link].pending, true)) return false;
  for (const Link link : touched_)
    if (link >= links_.size() || std::exchange(links_[link].touched, true)) return false;
  return true;
}

bool LinkShare::restore_link(Link which, std::vector<bool>& seen) {
  LinkState& link = links_[which];
  double sum = 0;
  for (std::uint32_t i = 0; i < link.flows.size(); ++i) {
    Entry& entry = link.flows[i];
    if (entry.slot() >= flows_.size() || seen[entry.flow]) return false;
    seen[entry.flow] = true;
    Flow& flow = flows_[entry.slot()];
    if (!flow.in_use || flow.links[entry.side()] != which) return false;
    flow.places[entry.side()] = i;
    entry.other = flow.links[1 - entry.side()];
    entry.limit = flow.limit;
    sum += flow.rate;
  }
  if (!(levels_[which] >= 0 && link.capacity >= 0)) return false;
  // Sums that grew in another order differ by rounding only.
  const double scale = std::max(sum, std::isfinite(link.capacity) ? link.capacity : 1.0);
  return std::abs(link.load - sum) <= 1e-6 * scale;
}

}  // namespace tessera
