// The receiving half of a link, without sockets: chunks must come in order, are joined into
// messages, and wait to be taken. What a peer can make us hold is bounded: one message of the
// agreed length and a window on top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "live/link/frame.h"

namespace tessera {

class Inbox {
 public:
  struct Limits {
    std::size_t message_bytes_max = 0;
    std::size_t held_bytes_max = 0;
  };
  explicit Inbox(Limits limits) : limits_(limits) {}

  // A hello: a known session goes on where it was, a new one begins at its oldest chunk. Then what
  // the last one left untaken is dropped, or a peer that restarts again and again could make us
  // hold any amount; the number of those messages is returned.
  std::size_t greet(std::uint64_t session, std::uint64_t oldest);

  // The word for why the chunk is refused, or nothing when it is taken.
  //   "replayed"     a chunk we have had already; "gap" one after the chunk we expect
  //   "oversized"    a message longer than agreed
  //   "flood"        more than we said we would hold
  //   "chunk"        a piece that does not fit the message it claims to continue
  //   "interleaved"  a new message before the last one was whole
  // A chunk in its place that is refused takes its message with it.
  std::string_view add(const Chunk& chunk);

  std::optional<Bytes> take();
  bool empty() const { return whole_.empty(); }
  std::size_t waiting() const { return whole_.size(); }  // Whole messages.

  std::uint64_t session() const { return session_; }
  std::uint64_t expected() const { return expected_; }
  std::uint64_t received() const { return expected_ - 1; }
  std::uint64_t released() const;
  std::size_t held_bytes() const { return held_; }

 private:
  struct Joined {
    Bytes bytes{};
    std::uint64_t first = 0;  // Number of its first chunk.
    std::uint64_t total = 0;
    std::size_t charge = 0;
  };
  std::string_view join(const Chunk& chunk);
  void drop_part();

  Limits limits_;
  std::uint64_t session_ = 0;
  std::uint64_t expected_ = 1;
  std::deque<Joined> whole_;
  std::optional<Joined> part_;
  bool skipping_ = false;  // The rest of a refused message.
  std::size_t held_ = 0;
};

}  // namespace tessera
