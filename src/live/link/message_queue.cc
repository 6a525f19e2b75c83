#include "live/link/message_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "live/link/frame.h"

namespace tessera {

std::size_t MessageQueue::Entry::charge() const {
  return message->size() + kChunkCharge;
}

bool MessageQueue::push(Entry entry) {
  CHECK(entry.message != nullptr);
  if (entry.ordinary()) return push_ordinary(std::move(entry));
  push_control(std::move(entry));
  return true;
}

bool MessageQueue::push_ordinary(Entry entry) {
  if (limits_.age_max > Duration::zero()) drop_older_than(entry.since - limits_.age_max);
  if (limits_.policy == QueuePolicy::kNewestWins) make_room_for(entry);
  const bool full = limits_.policy == QueuePolicy::kBackPressure && charged_ >= limits_.bytes_max;
  if (full) return ++turned_away_, false;
  append(std::move(entry));
  return true;
}

// The newer one of two offers or rosters takes the older one's turn, so that asking again and again
// does not put the answer off.
void MessageQueue::push_control(Entry entry) {
  const auto same = [&](const Entry& old) { return old.what == entry.what; };
  const auto oldest = std::find_if(entries_.begin(), entries_.end(), same);
  if (entry.what != MessageClass::kControl && oldest != entries_.end()) {
    bytes_ += entry.message->size();
    bytes_ -= oldest->message->size();
    *oldest = std::move(entry);
    return;
  }
  const auto waiting = std::count_if(entries_.begin(), entries_.end(), same);
  if (static_cast<std::size_t>(waiting) >= kControlsWaitingMax) erase(oldest);
  append(std::move(entry));
}

void MessageQueue::append(Entry entry) {
  bytes_ += entry.message->size();
  if (entry.ordinary()) charged_ += entry.charge();
  entries_.push_back(std::move(entry));
}

MessageQueue::Place MessageQueue::erase(Place place) {
  bytes_ -= place->message->size();
  if (place->ordinary()) {
    charged_ -= place->charge();
    ++superseded_;
  }
  return entries_.erase(place);
}

void MessageQueue::drop_older_than(Instant moment) {
  for (auto place = entries_.begin(); place != entries_.end();)
    place = place->ordinary() && place->since < moment ? erase(place) : place + 1;
}

// Drops the oldest ordinary messages, as many as it takes.
void MessageQueue::make_room_for(const Entry& newest) {
  for (auto place = entries_.begin();
       place != entries_.end() && charged_ + newest.charge() > limits_.bytes_max;)
    place = place->ordinary() ? erase(place) : place + 1;
}

void MessageQueue::drop_ordinary() {
  for (auto place = entries_.begin(); place != entries_.end();)
    place = place->ordinary() ? erase(place) : place + 1;
}

MessageQueue::Entry MessageQueue::pop() {
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  bytes_ -= entry.message->size();
  if (entry.ordinary()) charged_ -= entry.charge();
  return entry;
}

}  // namespace tessera
