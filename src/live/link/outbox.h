// The sending half of a link, without sockets: messages wait, are cut into numbered chunks, and are
// kept until the peer confirms them, so that a broken connection can be taken up where it stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "live/link/frame.h"
#include "live/link/transport.h"

namespace tessera {

class Outbox {
 public:
  struct Limits {
    QueuePolicy policy = QueuePolicy::back_pressure;
    std::size_t queue_bytes = 0;
    std::size_t in_flight_bytes = 0;
    std::size_t chunk_bytes = 0;
  };
  explicit Outbox(Limits limits) : limits_(limits) {}

  bool push(std::shared_ptr<const Bytes> message, MessageClass what = MessageClass::ordinary);
  bool has_room() const { return queued_bytes_ < limits_.queue_bytes; }
  void drop_unsent();

  // The next chunk to put on the wire, when the limits allow one now and less than `window` is on
  // the wire. Its payload lives until the chunk is confirmed.
  std::optional<Chunk> next(std::size_t window = ~std::size_t{0});

  // The peer received chunks up to `received` and holds none up to `released` any more. Numbers
  // that cannot be are ignored and answered with false.
  bool confirm(std::uint64_t received, std::uint64_t released);
  // The connection is new: the peer expects chunk `next` and holds `window` bytes at most. False
  // when that chunk is not ours to send.
  bool resume(std::uint64_t next, std::uint64_t window);
  // The first chunk we can still send. It begins a message, whatever of it is confirmed: a peer
  // that restarted needs it whole.
  std::uint64_t oldest() const { return oldest_; }

  bool empty() const { return waiting_.empty() && oldest_ == end_; }
  // Messages not begun.
  std::size_t queued() const { return waiting_.size(); }
  std::size_t queued_bytes() const { return queued_bytes_ - waiting_.size() * kChunkCharge; }
  std::size_t unconfirmed_bytes() const { return sent_position_ - received_position_; }
  std::uint64_t messages_confirmed() const { return messages_confirmed_; }
  std::uint64_t bytes_confirmed() const { return received_position_; }
  std::uint64_t turned_away() const { return turned_away_; }
  std::uint64_t superseded() const { return superseded_; }
  // Ordinary messages that went out, and their bytes.
  std::uint64_t messages_begun() const { return messages_begun_; }
  std::uint64_t bytes_begun() const { return bytes_begun_; }

 private:
  struct Waiting {
    std::shared_ptr<const Bytes> message{};
    MessageClass what = MessageClass::ordinary;
    std::size_t charge() const { return message->size() + kChunkCharge; }
  };
  // A message of which a chunk was sent. Once received it is let go of; what remains until the peer
  // releases it is what it counts for.
  struct Begun {
    std::shared_ptr<const Bytes> message{};
    std::uint64_t first = 0;     // Number of its first chunk,
    std::uint64_t count = 0;     // how many it has,
    std::size_t chunk = 0;       // how long they are, but for the last,
    std::uint64_t position = 0;  // and what all chunks before it count for.
  };
  std::size_t chunk_for(std::size_t window) const;
  std::uint64_t position_of(std::uint64_t number) const;
  std::size_t index_of(std::uint64_t number) const;  // Of the message it belongs to.
  bool allows(std::uint64_t cost, std::size_t window) const;
  void begin_next_message(std::size_t chunk);
  void forget_confirmed();

  Limits limits_;
  std::uint64_t held_at_most_ = ~0ull;  // By the peer.
  std::deque<Waiting> waiting_;
  std::deque<Begun> begun_;
  std::uint64_t end_ = 1;           // One past the last chunk of the messages begun,
  std::uint64_t end_position_ = 0;  // and what all of them count for.
  std::uint64_t next_ = 1;          // The chunk to send next.
  std::uint64_t received_ = 0, released_ = 0;
  // What all chunks up to those three count for: the differences are what is out there.
  std::uint64_t sent_position_ = 0, received_position_ = 0, released_position_ = 0;
  std::uint64_t oldest_ = 1;
  std::size_t queued_bytes_ = 0;  // What the waiting count for.
  std::uint64_t messages_confirmed_ = 0, turned_away_ = 0, superseded_ = 0;
  std::uint64_t messages_begun_ = 0, bytes_begun_ = 0;
};

}  // namespace tessera
