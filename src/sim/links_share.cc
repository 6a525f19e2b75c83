#include "sim/links_share.h"

#include <algorithm>
#include <cmath>

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

void LinkShare::mark_pending(Link link) {
  if (std::exchange(links_[link].pending, true)) return;
  pending_.push_back(link);
}

void LinkShare::touch(Link link) {
  if (std::exchange(links_[link].touched, true)) return;
  touched_.push_back(link);
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
  limits_.clear();
  for (const Entry& entry : link.flows)
    limits_.push_back(std::min(entry.limit, levels_[entry.other]));
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
  flow.keeper = second ? 1 : 0;
  touch(flow.links[flow.keeper]);
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

// Everything, in its order: sums must go on as they would have.
void LinkShare::save(Bytes& out) const {
  ByteWriter writer(out);
  writer.put<std::uint64_t>(flows_.size());
  for (const Flow& flow : flows_) {
    writer.put(flow.left);
    writer.put(flow.rate);
    writer.put(flow.limit);
    writer.put<std::int64_t>(flow.since.time_since_epoch().count());
    writer.put<std::int64_t>(flow.done.time_since_epoch().count());
    for (const Link link : flow.links) writer.put(link);
    writer.put(flow.keeper);
    writer.put<std::uint8_t>(flow.in_use);
  }
  writer.put<std::uint64_t>(free_.size());
  for (const Slot slot : free_) writer.put(slot);
  for (Link which = 0; which < links_.size(); ++which) {
    const LinkState& link = links_[which];
    // Not what its flows say: between two solutions it may be behind, and must stay so.
    writer.put<std::int64_t>(earliest_.at(which).time_since_epoch().count());
    writer.put(link.capacity);
    writer.put(levels_[which]);
    writer.put(link.load);
    writer.put<std::uint8_t>(link.crowd_changed);
    writer.put<std::uint64_t>(link.flows.size());
    for (const Entry& entry : link.flows) writer.put(entry.flow);
  }
  for (const std::vector<Link>* list : {&pending_, &touched_}) {
    writer.put<std::uint64_t>(list->size());
    for (const Link link : *list) writer.put(link);
  }
}

Result<void> LinkShare::load(ByteReader& in) {
  const Error broken{"checkpoint", "the shared links do not hold together"};
  const auto count = in.get<std::uint64_t>();
  if (count > in.left()) return broken;
  flows_.assign(count, {});
  for (Flow& flow : flows_) {
    flow.left = in.get<double>();
    flow.rate = in.get<double>();
    flow.limit = in.get<double>();
    flow.since = Instant(Duration(in.get<std::int64_t>()));
    flow.done = Instant(Duration(in.get<std::int64_t>()));
    for (Link& link : flow.links)
      if ((link = in.get<Link>()) >= links_.size()) return broken;
    if ((flow.keeper = in.get<std::uint8_t>()) > 1) return broken;
    flow.in_use = in.get<std::uint8_t>() != 0;
  }
  if (!load_list(in, count, free_)) return broken;
  for (Link which = 0; which < links_.size(); ++which)
    if (!load_link(in, which)) return broken;
  if (!load_list(in, links_.size(), pending_) || !load_list(in, links_.size(), touched_))
    return broken;
  for (const Link link : pending_) links_[link].pending = true;
  for (const Link link : touched_) links_[link].touched = true;
  if (in.ran_short()) return broken;
  return {};
}

// Numbers below `end`, no more of them than that.
bool LinkShare::load_list(ByteReader& in, std::uint64_t end, std::vector<std::uint32_t>& list) {
  const auto count = in.get<std::uint64_t>();
  if (count > end) return false;
  list.assign(count, 0);
  for (std::uint32_t& number : list)
    if ((number = in.get<std::uint32_t>()) >= end) return false;
  return true;
}

bool LinkShare::load_link(ByteReader& in, Link which) {
  LinkState link;
  earliest_.set(which, Instant(Duration(in.get<std::int64_t>())));
  link.capacity = in.get<double>();
  levels_[which] = in.get<double>();
  link.load = in.get<double>();
  link.crowd_changed = in.get<std::uint8_t>() != 0;
  std::vector<std::uint32_t> entries;
  if (!load_list(in, 2 * flows_.size(), entries)) return false;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    Flow& flow = flows_[entries[i] / 2];
    const std::uint32_t side = entries[i] % 2;
    if (!flow.in_use || flow.links[side] != which) return false;
    flow.places[side] = i;
    link.flows.push_back({entries[i], flow.links[1 - side], flow.limit});
  }
  links_[which] = std::move(link);
  return true;
}

}  // namespace tessera
