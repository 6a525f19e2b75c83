// What will happen, in order. Events of one instant come out in the order they went in, so a run
// does not depend on how a heap breaks ties.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/check.h"
#include "base/time.h"

namespace tessera {

template <typename What>
class EventQueue {
 public:
  void push(Instant at, What what) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      slots_.push_back(std::move(what));
    } else {
      slot = free_.back();
      free_.pop_back();
      slots_[slot] = std::move(what);
    }
    heap_.push({at, next_++, slot});
  }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  Instant next_at() const {
    CHECK(!empty());
    return heap_.top().at;
  }

  What pop() {
    CHECK(!empty());
    const std::uint32_t slot = heap_.top().slot;
    heap_.pop();
    free_.push_back(slot);
    return std::move(slots_[slot]);
  }

  // Everything waiting, in the order it would come out.
  std::vector<std::pair<Instant, What>> waiting() const {
    std::vector<std::pair<Instant, What>> all;
    all.reserve(heap_.size());
    for (auto copy = heap_; !copy.empty(); copy.pop())
      all.emplace_back(copy.top().at, slots_[copy.top().slot]);
    return all;
  }

  void fields(Archive& archive) {
    std::vector<std::pair<Instant, What>> all;
    if (!archive.loading()) all = waiting();
    archive(all);
    if (!archive.loading()) return;
    *this = {};
    for (auto& [at, what] : all) push(at, std::move(what));
  }

 private:
  // The heap moves small entries; what they stand for stays where it is.
  struct Entry {
    Instant at{};
    std::uint64_t order = 0;
    std::uint32_t slot = 0;
    bool operator>(const Entry& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
  std::vector<What> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_ = 0;
};

}  // namespace tessera
