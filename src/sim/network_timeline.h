// The two clocks a network keeps: when each of its senders is done, and when what has left them
// arrives.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <deque>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/time.h"
#include "sim/network.h"

namespace tessera {

// When `bytes` have left at a rate that starts now, rounded up to a whole nanosecond: nothing is
// ever done early. The product comes first: it is exact for every size below 9 MB, so that round
// rates give round instants.
inline Instant when_sent(Instant now, double bytes, double bytes_per_s) {
  if (bytes <= 0) return now;
  const double wait_ns = std::ceil(bytes * 1e9 / bytes_per_s);
  constexpr double kCenturies = 4e18;  // An instant this far away is as good as never.
  if (!(wait_ns < kCenturies)) return kNever;
  return later(now, Duration(static_cast<std::int64_t>(wait_ns)));
}

// One instant for each of a fixed number of things, any of which may move, and the earliest of
// them. A tournament: every inner place holds the earlier of the two below it, so a move replays at
// most log2(n) matches and most end sooner.
class Earliest {
 public:
  explicit Earliest(std::size_t count)
      : leaves_(std::bit_ceil(std::max<std::size_t>(count, 1))), at_(2 * leaves_, kNever) {}

  Instant at() const { return at_[1]; }
  Instant at(std::size_t i) const { return at_[leaves_ + i]; }
  // The lowest index among those whose turn it is.
  std::size_t first() const {
    std::size_t place = 1;
    while (place < leaves_) place = 2 * place + (at_[2 * place] != at_[1] ? 1 : 0);
    return place - leaves_;
  }

  void set(std::size_t i, Instant at) {
    std::size_t place = leaves_ + i;
    at_[place] = at;
    while (place > 1) {
      place /= 2;
      const Instant earlier = std::min(at_[2 * place], at_[2 * place + 1]);
      if (at_[place] == earlier) return;
      at_[place] = earlier;
    }
  }

 private:
  std::size_t leaves_;
  std::vector<Instant> at_;  // From place 1; the children of k are 2k and 2k + 1.
};

// Messages that have left and are on their way. Where all take equally long they queue up in the
// order of arrival by themselves; only those that overtake others go through a heap.
class InFlight {
 public:
  void push(Instant at, MessageId id, std::uint64_t bytes) {
    if (in_order_.empty() || in_order_.back().at <= at)
      in_order_.push_back({at, id, bytes});
    else
      overtaking_.push({at, id, bytes});
  }

  Instant next() const {
    const Instant first = in_order_.empty() ? kNever : in_order_.front().at;
    return overtaking_.empty() ? first : std::min(first, overtaking_.top().at);
  }

  std::optional<MessageId> after(std::size_t others) const {
    if (others >= in_order_.size()) return std::nullopt;
    return in_order_[others].id;
  }

  // Delivers what arrives by `now`; the caller puts an instant's receipts in order.
  void take(Instant now, std::vector<Receipt>& receipts) {
    for (; !in_order_.empty() && in_order_.front().at <= now; in_order_.pop_front())
      receipts.push_back(delivered(in_order_.front()));
    for (; !overtaking_.empty() && overtaking_.top().at <= now; overtaking_.pop())
      receipts.push_back(delivered(overtaking_.top()));
  }

  void list(std::vector<CarriedMessage>& all) const;
  void fields(Archive& archive);

 private:
  struct Arrival {
    Instant at{};
    MessageId id = 0;
    std::uint64_t bytes = 0;
    void fields(Archive& archive) { archive(at, id, bytes); }
    bool operator>(const Arrival& other) const {
      return at != other.at ? at > other.at : id > other.id;
    }
  };
  std::vector<Arrival> all() const;  // In the order of arrival.
  static Receipt delivered(const Arrival& arrival) { return {arrival.id, true, arrival.bytes}; }

  std::deque<Arrival> in_order_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> overtaking_;
};

// Puts the receipts from `begin` on in the order of ids.
inline void sort_receipts(std::vector<Receipt>& receipts, std::size_t begin) {
  std::sort(receipts.begin() + static_cast<std::ptrdiff_t>(begin), receipts.end(),
            [](const Receipt& a, const Receipt& b) { return a.id < b.id; });
}

}  // namespace tessera
