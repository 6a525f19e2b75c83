// The messages for one peer of which no byte has gone out yet. They can still be taken back, and
// make room for newer ones where that is the policy.
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
  struct Entry {
    std::shared_ptr<const Bytes> message{};
    MessageClass what = MessageClass::kOrdinary;
    std::size_t charge() const;  // What it counts for where bytes are limited.
  };

  MessageQueue(QueuePolicy policy, std::size_t bytes_max)
      : policy_(policy), bytes_max_(bytes_max) {}

  // False when the policy turned it away. Control messages always find room.
  bool push(Entry entry);
  void drop_ordinary();
  const Entry& front() const { return entries_.front(); }
  Entry pop();

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const;  // Of the messages alone, without what each counts for beyond them.
  std::uint64_t turned_away() const { return turned_away_; }
  std::uint64_t superseded() const { return superseded_; }

 private:
  void make_room_for(const Entry& newest);

  QueuePolicy policy_;
  std::size_t bytes_max_;
  std::deque<Entry> entries_;
  std::size_t charged_ = 0;  // The sum of the entries' charges.
  std::uint64_t turned_away_ = 0;
  std::uint64_t superseded_ = 0;
};

}  // namespace tessera
