#include "live/link/outbox.h"

#include <algorithm>
#include <bit>

namespace tessera {
namespace {

constexpr std::size_t kSmallestChunk = 16 << 10;

}  // namespace

bool Outbox::push(std::shared_ptr<const Bytes> message, MessageClass what) {
  CHECK(message != nullptr);
  Waiting newest{std::move(message), what};
  if (limits_.policy == QueuePolicy::back_pressure) {
    if (what == MessageClass::ordinary && !has_room()) return ++turned_away_, false;
  } else {
    for (auto oldest = waiting_.begin();
         oldest != waiting_.end() && queued_bytes_ + newest.charge() > limits_.queue_bytes;) {
      if (oldest->what == MessageClass::control) {
        ++oldest;
        continue;
      }
      queued_bytes_ -= oldest->charge();
      oldest = waiting_.erase(oldest);
      ++superseded_;
    }
  }
  queued_bytes_ += newest.charge();
  waiting_.push_back(std::move(newest));
  return true;
}

void Outbox::drop_unsent() {
  superseded_ += std::erase_if(waiting_, [this](const Waiting& unsent) {
    if (unsent.what == MessageClass::control) return false;
    queued_bytes_ -= unsent.charge();
    return true;
  });
}

// Four of them fill the window: what comes between two of them waits for a part of the slack only.
std::size_t Outbox::chunk_for(std::size_t window) const {
  const std::size_t most = limits_.chunk_bytes;
  return std::clamp(std::bit_floor(window / 4), std::min(kSmallestChunk, most), most);
}

std::size_t Outbox::index_of(std::uint64_t number) const {
  const auto after =
      std::upper_bound(begun_.begin(), begun_.end(), number,
                       [](std::uint64_t n, const Begun& begun) { return n < begun.first; });
  CHECK(after != begun_.begin());
  return static_cast<std::size_t>(after - begun_.begin()) - 1;
}

// What the chunks before `number` count for. All but a message's last one are full.
std::uint64_t Outbox::position_of(std::uint64_t number) const {
  if (number == end_) return end_position_;
  const Begun& begun = begun_[index_of(number)];
  return begun.position + (number - begun.first) * (begun.chunk + kChunkCharge);
}

bool Outbox::allows(std::uint64_t cost, std::size_t window) const {
  const std::uint64_t in_flight = sent_position_ - received_position_;
  const std::uint64_t held = sent_position_ - released_position_;
  // Something must be able to move, whatever the limits.
  return (in_flight == 0 || (in_flight < window && in_flight + cost <= limits_.in_flight_bytes)) &&
         (held == 0 || held + cost <= held_at_most_);
}

void Outbox::begin_next_message(std::size_t chunk) {
  const Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  queued_bytes_ -= next.charge();
  const std::uint64_t size = next.message->size();
  if (next.what == MessageClass::ordinary) {
    ++messages_begun_;
    bytes_begun_ += size;
  }
  const std::uint64_t count = std::max<std::uint64_t>(1, (size + chunk - 1) / chunk);
  begun_.push_back({next.message, end_, count, chunk, end_position_});
  end_ += count;
  end_position_ += size + count * kChunkCharge;
}

std::optional<Chunk> Outbox::next(std::size_t window) {
  if (next_ == end_) {
    if (waiting_.empty()) return std::nullopt;
    // Not begun before its first chunk may go: until then it can still be dropped.
    const std::size_t chunk = chunk_for(window);
    const std::size_t first = std::min(waiting_.front().message->size(), chunk);
    if (!allows(first + kChunkCharge, window)) return std::nullopt;
    begin_next_message(chunk);
  }
  const Begun& begun = begun_[index_of(next_)];
  const std::size_t offset = (next_ - begun.first) * begun.chunk;
  const std::size_t length = std::min(begun.message->size() - offset, begun.chunk);
  if (!allows(length + kChunkCharge, window)) return std::nullopt;
  sent_position_ += length + kChunkCharge;
  return Chunk{next_++, begun.message->size(), offset,
               ByteSpan(*begun.message).subspan(offset, length)};
}

bool Outbox::confirm(std::uint64_t received, std::uint64_t released) {
  if (received >= next_ || released > received) return false;
  if (received > received_) {
    received_ = received;
    received_position_ = position_of(received + 1);
    forget_confirmed();
  }
  if (released > released_) {
    released_ = released;
    released_position_ = position_of(released + 1);
    while (!begun_.empty() && begun_.front().message == nullptr &&
           begun_.front().first + begun_.front().count <= released + 1)
      begun_.pop_front();
  }
  return true;
}

// Lets go of the messages that have arrived whole.
void Outbox::forget_confirmed() {
  while (oldest_ < end_) {
    Begun& begun = begun_[index_of(oldest_)];
    if (begun.first + begun.count > received_ + 1) break;
    begun.message.reset();
    oldest_ = begun.first + begun.count;
    ++messages_confirmed_;
  }
}

bool Outbox::resume(std::uint64_t next, std::uint64_t window) {
  if (next < oldest_ || next > end_) return false;
  held_at_most_ = window;
  next_ = next;
  sent_position_ = position_of(next);
  received_ = next - 1;
  received_position_ = sent_position_;
  released_ = std::min(released_, received_);
  released_position_ = std::min(released_position_, received_position_);
  forget_confirmed();  // Its confirmation may have been lost with the old connection.
  return true;
}

}  // namespace tessera
