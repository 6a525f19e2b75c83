// The connection the peer made to us: what came in on it, and the answers we owe there. A peer may
// make several; the one that said hello last counts, and is told from others by its `route`.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "live/link/frame.h"
#include "live/link/inbox.h"

namespace tessera {

struct Answer {
  std::string route{};
  Frame frame{};
};

class Answers {
 public:
  // Where a peer is found to have lost its place it is told so, once in `resync_interval`.
  Answers(Inbox::Limits limits, Duration resync_interval)
      : limits_(limits), resync_interval_(resync_interval), inbox_(limits) {}

  // Whether `route` is the connection that counts.
  bool counts(std::string_view route) const { return route == route_; }
  bool linked() const { return !route_.empty(); }
  const std::string& route() const { return route_; }
  // The peer has hung up.
  void hung_up() { route_.clear(); }
  // When a frame last came on it.
  void heard(Instant now) { heard_at_ = now; }
  Instant heard_at() const { return heard_at_; }

  // A process that another one has taken the place of: sessions differ, so one that comes back has
  // lived on beside its successor.
  bool was_replaced(std::uint64_t session) const;

  struct Greeted {
    bool restarted = false;         // The peer is in another life than when it last said hello.
    std::size_t messages_lost = 0;  // Of its former life, not taken by anyone.
  };
  Greeted welcome(std::string_view route, const Hello& hello);
  void reject(std::string_view route, Reject reject) {
    greeting_ = Answer{std::string(route), std::move(reject)};
  }

  // The word for why it is refused (Inbox::add), empty when it is taken.
  std::string_view add(Instant now, const Chunk& chunk);
  void owe_ack() { ack_due_ = true; }
  bool owed() const { return greeting_.has_value() || ack_due_; }
  std::optional<Answer> next();

  // The next whole message.
  std::optional<Bytes> take();
  const Inbox& inbox() const { return inbox_; }
  std::uint64_t messages() const { return messages_; }  // Whole ones that came.

 private:
  Welcome welcome_frame() const;

  Inbox::Limits limits_;
  Duration resync_interval_;
  Inbox inbox_;
  std::deque<std::uint64_t> former_;  // The last few sessions before this one.
  std::string route_;
  Instant heard_at_{};
  std::optional<Answer> greeting_;  // A welcome or rejection that is due.
  bool ack_due_ = false;
  std::size_t taken_bytes_ = 0;  // Since the last ack.
  Instant chunk_at_{};           // When the last chunk came.
  Instant last_resync_{};
  std::uint64_t messages_ = 0;
};

}  // namespace tessera
