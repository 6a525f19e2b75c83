// Flows that share links max-min fairly while time passes: the engine of the networks `links` and
// `matrix`. Each flow crosses two links and has a limit of its own; math/max_min.h says what fair
// means and what a link's level is.
//
// Flows come and go; solve() then finds the new rates, once per instant however many came. It works
// outwards from the links concerned: a link whose load no longer fits takes the level that makes it
// fit, given its neighbours' levels; that changes the loads of its neighbours, and so on, until
// every load is right. Where the change has become too small to matter the ripple ends:
//
//   * no link carries more than its capacity x (1 + tolerance), and
//   * every flow runs at its own limit, or crosses a link that is filled to at least
//     capacity x (1 - tolerance) and on which nobody is faster.
//
// With tolerance 0.002 and sixty flows on every link, the end of one of them moves the levels of
// its two links by 1/60 and its neighbours' by 1/3600, which is where it ends: sixty thousand flows
// cost no more to change than a few hundred.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "math/max_min.h"
#include "sim/network_timeline.h"

namespace tessera {

class LinkShare {
 public:
  using Link = std::uint32_t;
  using Slot = std::uint32_t;  // Names a flow while it lasts.

  LinkShare(std::vector<double> capacities, double tolerance);

  Slot add(Instant now, SharedFlow flow, double bytes);
  void remove(Slot slot);
  void set_capacity(Link link, double capacity);

  // Whether something changed since solve(): rates are then those of before.
  bool unsolved() const { return !pending_.empty() || !touched_.empty(); }
  void solve(Instant now);

  Instant next() const { return earliest_.at(); }  // When a flow is done, as solved.
  // Appends the flows that are done by now; the caller removes them.
  void take_done(Instant now, std::vector<Slot>& done);

  bool has(Slot slot) const { return slot < flows_.size() && flows_[slot].in_use; }
  std::size_t size() const { return flows_.size() - free_.size(); }  // Flows under way.
  SharedFlow flow(Slot slot) const { return {flows_[slot].links, flows_[slot].limit}; }
  double rate(Slot slot) const { return flows_[slot].rate; }
  double bytes_left(Slot slot, Instant now) const;
  double load(Link link) const { return links_[link].load; }
  double capacity(Link link) const { return links_[link].capacity; }
  std::uint64_t levels_set() const { return levels_set_; }  // How much work there was.

  void fields(Archive& archive);

 private:
  struct alignas(64) Flow {  // In one line of the cache, as is a link.
    double left = 0;         // Bytes, at `since`.
    double rate = 0;         // From `since` on.
    double limit = 0;
    Instant since{};
    Instant done = kNever;
    std::array<Link, 2> links{};
    std::array<std::uint32_t, 2> places{};  // In the links' lists.
    std::uint8_t keeper = 0;  // Which of its links keeps `done` in mind: the one that limits it.
    bool in_use = false;

    void fields(Archive& archive) {
      archive(left, rate, limit, since, done, links, keeper, in_use);
    }
  };
  // What a link must know of a flow to find its level, without looking the flow up.
  struct Entry {
    std::uint32_t flow = 0;  // Slot x 2 + which of the flow's links this is.
    Link other = 0;          // The flow's other link.
    double limit = 0;
    Slot slot() const { return flow / 2; }
    std::uint32_t side() const { return flow % 2; }

    void fields(Archive& archive) { archive(flow); }  // The rest is the flow's.
  };
  struct alignas(64) LinkState {
    double capacity = 0;
    double load = 0;
    std::vector<Entry> flows{};
    bool pending = false;
    bool crowd_changed = false;  // A flow without a rate is here.
    bool touched = false;

    void fields(Archive& archive) { archive(capacity, load, flows, crowd_changed); }
  };

  bool fits(Link which) const;
  void mark_pending(Link link) {
    if (!std::exchange(links_[link].pending, true)) pending_.push_back(link);
  }
  void touch(Link link) {
    if (!std::exchange(links_[link].touched, true)) touched_.push_back(link);
  }
  void level(Link link, Instant now);
  void change_rate(const Entry& entry, double rate, Instant now);
  void find_earliest(Link link, Instant now);
  bool restore();
  bool restore_link(Link which, std::vector<bool>& seen);

  double tolerance_;
  double slack_;  // The tolerance in use.
  std::vector<Flow> flows_;
  std::vector<Slot> free_;
  std::vector<LinkState> links_;
  std::vector<double> levels_;  // By link, close together: every change reads many.
  std::vector<Link> pending_;   // Links to level, in the order they came up.
  std::vector<Link> touched_;   // Links whose earliest flow may be another one now.
  Earliest earliest_;           // By link, over the flows it keeps.
  std::vector<double> limits_;  // Scratch of level().
  std::uint64_t levels_set_ = 0;
};

}  // namespace tessera
