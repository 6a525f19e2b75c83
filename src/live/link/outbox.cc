#include "live/link/outbox.h"

#include <algorithm>
#include <bit>

namespace tessera {
namespace {

constexpr std::size_t kChunkBytesMin = 16 << 10;

}  // namespace

// Four of them fill the window: what comes between two of them waits for a part of the slack only.
std::size_t Outbox::chunk_for(std::size_t window) const {
  const std::size_t max = limits_.chunk_bytes_max;
  return std::clamp(std::bit_floor(window / 4), std::min(kChunkBytesMin, max), max);
}

std::size_t Outbox::index_of(std::uint64_t number) const {
  const auto after =
      std::upper_bound(begun_.begin(), begun_.end(), number,
                       [](std::uint64_t n, const Begun& begun) { return n < begun.first.number; });
  CHECK(after != begun_.begin());
  return static_cast<std::size_t>(after - begun_.begin()) - 1;
}

// All chunks of a message but its last one are full.
Outbox::Mark Outbox::mark(std::uint64_t number) const {
  if (number == end_.number) return end_;
  const Begun& begun = begun_[index_of(number)];
  const std::uint64_t before = number - begun.first.number;
  return {number, begun.first.position + before * (begun.chunk_bytes + kChunkCharge)};
}

bool Outbox::allows(std::uint64_t cost, std::size_t window) const {
  const std::uint64_t in_flight = sent_.position - received_.position;
  const std::uint64_t held = sent_.position - released_.position;
  // Something must be able to move, whatever the limits.
  return (in_flight == 0 ||
          (in_flight < window && in_flight + cost <= limits_.in_flight_bytes_max)) &&
         (held == 0 || held + cost <= peer_holds_max_);
}

void Outbox::begin_next_message(std::size_t chunk_bytes) {
  MessageQueue::Entry next = queue_.pop();
  const std::uint64_t size = next.message->size();
  if (next.what == MessageClass::kOrdinary) {
    ++messages_begun_;
    bytes_begun_ += size;
  }
  const std::uint64_t count = std::max<std::uint64_t>(1, (size + chunk_bytes - 1) / chunk_bytes);
  begun_.push_back({std::move(next.message), end_, count, chunk_bytes});
  end_ = {end_.number + count, end_.position + size + count * kChunkCharge};
}

std::optional<Chunk> Outbox::next(std::size_t window) {
  if (sent_.number == end_.number) {
    if (queue_.empty()) return std::nullopt;
    // Not begun before its first chunk may go: until then it can still be dropped.
    const std::size_t chunk_bytes = chunk_for(window);
    const std::size_t first = std::min(queue_.front().message->size(), chunk_bytes);
    if (!allows(first + kChunkCharge, window)) return std::nullopt;
    begin_next_message(chunk_bytes);
  }
  const Begun& begun = begun_[index_of(sent_.number)];
  const std::size_t offset = (sent_.number - begun.first.number) * begun.chunk_bytes;
  const std::size_t length = std::min(begun.message->size() - offset, begun.chunk_bytes);
  if (!allows(length + kChunkCharge, window)) return std::nullopt;
  sent_.position += length + kChunkCharge;
  return Chunk{sent_.number++, begun.message->size(), offset,
               ByteSpan(*begun.message).subspan(offset, length)};
}

bool Outbox::confirm(std::uint64_t received, std::uint64_t released) {
  if (received >= sent_.number || released > received) return false;
  if (received >= received_.number) {
    received_ = mark(received + 1);
    forget_confirmed();
  }
  if (released >= released_.number) {
    released_ = mark(released + 1);
    while (!begun_.empty() && begun_.front().message == nullptr &&
           begun_.front().end() <= released_.number)
      begun_.pop_front();
  }
  return true;
}

// Lets go of the messages that have arrived whole.
void Outbox::forget_confirmed() {
  while (oldest_ < end_.number) {
    Begun& begun = begun_[index_of(oldest_)];
    if (begun.end() > received_.number) break;
    begun.message.reset();
    oldest_ = begun.end();
    ++messages_confirmed_;
  }
}

bool Outbox::resume(std::uint64_t next, std::uint64_t window) {
  if (next < oldest_ || next > end_.number) return false;
  peer_holds_max_ = std::min(window, limits_.peer_holds_max);
  sent_ = received_ = mark(next);
  if (released_.number > received_.number) released_ = received_;
  forget_confirmed();  // Its confirmation may have been lost with the old connection.
  return true;
}

}  // namespace tessera
