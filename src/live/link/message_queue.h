// The messages for one peer of which no byte has gone out yet. They can still be taken back, and
// make room for newer ones where that is the policy. What a peer that reads nothing makes us keep
// here is bounded, for each class of messages on its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/bytes.h"
#include "live/link/options.h"

namespace tessera {

class MessageQueue {
 public:
  struct Limits {
    QueuePolicy policy = QueuePolicy::kBackPressure;
    std::size_t bytes_max = 0;  // Of ordinary messages.
    Duration age_max{};         // Of ordinary messages when a newer one comes; zero: any.
  };
  struct Entry {
    std::shared_ptr<const Bytes> message{};
    MessageClass what = MessageClass::kOrdinary;
    Instant since{};
    bool ordinary() const { return what == MessageClass::kOrdinary; }
    std::size_t charge() const;  // What it counts for where bytes are limited.
  };

  explicit MessageQueue(Limits limits) : limits_(limits) {}

  // False when the policy turned it away. Control messages always find room.
  bool push(Entry entry);
  void drop_ordinary();
  const Entry& front() const { return entries_.front(); }
  Entry pop();

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return bytes_; }  // Of all messages.
  std::uint64_t turned_away() const { return turned_away_; }
  std::uint64_t superseded() const { return superseded_; }

 private:
  using Place = std::deque<Entry>::iterator;
  bool push_ordinary(Entry entry);
  void push_control(Entry entry);
  void drop_older_than(Instant moment);
  void make_room_for(const Entry& newest);
  void append(Entry entry);
  Place erase(Place place);

  Limits limits_;
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;
  std::size_t charged_ = 0;  // The sum of the ordinary entries' charges.
  std::uint64_t turned_away_ = 0;
  std::uint64_t superseded_ = 0;
};

}  // namespace tessera
