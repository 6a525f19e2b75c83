#include "live/link/answers.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t kFormerMax = 8;

}  // namespace

Welcome Answers::welcome_frame() const {
  return {.session = inbox_.session(), .next = inbox_.expected(), .window = limits_.held_bytes_max};
}

bool Answers::was_replaced(std::uint64_t session) const {
  return std::find(former_.begin(), former_.end(), session) != former_.end();
}

Answers::Greeted Answers::welcome(std::string_view route, const Hello& hello) {
  Greeted greeted;
  greeted.restarted = inbox_.session() != 0 && inbox_.session() != hello.session;
  if (greeted.restarted) former_.push_back(inbox_.session());
  std::erase(former_, hello.session);
  if (former_.size() > kFormerMax) former_.pop_front();
  greeted.messages_lost = inbox_.greet(hello.session, hello.oldest);
  route_ = route;
  greeting_ = Answer{route_, welcome_frame()};
  return greeted;
}

std::string_view Answers::add(Instant now, const Chunk& chunk) {
  const std::size_t waiting = inbox_.waiting();
  const std::uint64_t received = inbox_.received();
  const std::string_view fault = inbox_.add(chunk);
  messages_ += inbox_.waiting() - waiting;
  if (inbox_.received() != received) chunk_at_ = now;
  ack_due_ = true;
  // Should we ever lose a chunk on a whole connection, the peer is told where we stand; once in a
  // while, since the chunks already on their way are refused as well.
  if (fault == "gap" && now - last_resync_ >= resync_interval_) {
    last_resync_ = now;
    greeting_ = Answer{route_, welcome_frame()};
  }
  return fault;
}

std::optional<Answer> Answers::next() {
  if (greeting_) return std::exchange(greeting_, std::nullopt);
  if (!ack_due_ || route_.empty()) return std::nullopt;
  ack_due_ = false;
  taken_bytes_ = 0;
  const auto at = static_cast<std::uint64_t>(chunk_at_.time_since_epoch().count());
  return Answer{route_, Ack{inbox_.session(), inbox_.received(), inbox_.released(), at}};
}

std::optional<Bytes> Answers::take() {
  std::optional<Bytes> message = inbox_.take();
  if (!message) return message;
  taken_bytes_ += message->size() + kChunkCharge;
  // Heartbeats tell the peer what we took; a window that moves faster than they do is told of.
  if (taken_bytes_ >= limits_.held_bytes_max / 8) ack_due_ = true;
  return message;
}

}  // namespace tessera
