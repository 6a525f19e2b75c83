#include "live/link/message_queue.h"

#include <utility>

#include "base/check.h"
#include "live/link/frame.h"

namespace tessera {

std::size_t MessageQueue::Entry::charge() const {
  return message->size() + kChunkCharge;
}

bool MessageQueue::push(Entry entry) {
  CHECK(entry.message != nullptr);
  if (policy_ == QueuePolicy::kNewestWins) make_room_for(entry);
  const bool full = policy_ == QueuePolicy::kBackPressure && charged_ >= bytes_max_;
  if (full && entry.what == MessageClass::kOrdinary) return ++turned_away_, false;
  charged_ += entry.charge();
  entries_.push_back(std::move(entry));
  return true;
}

// Drops the oldest ordinary messages, as many as it takes.
void MessageQueue::make_room_for(const Entry& newest) {
  for (auto oldest = entries_.begin();
       oldest != entries_.end() && charged_ + newest.charge() > bytes_max_;) {
    if (oldest->what == MessageClass::kControl) {
      ++oldest;
      continue;
    }
    charged_ -= oldest->charge();
    oldest = entries_.erase(oldest);
    ++superseded_;
  }
}

void MessageQueue::drop_ordinary() {
  superseded_ += std::erase_if(entries_, [this](const Entry& entry) {
    if (entry.what == MessageClass::kControl) return false;
    charged_ -= entry.charge();
    return true;
  });
}

MessageQueue::Entry MessageQueue::pop() {
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  charged_ -= entry.charge();
  return entry;
}

std::size_t MessageQueue::bytes() const {
  return charged_ - entries_.size() * kChunkCharge;
}

}  // namespace tessera
