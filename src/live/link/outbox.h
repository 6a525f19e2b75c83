// The sending half of a link, without sockets: messages wait, are cut into numbered chunks, and are
// kept until the peer confirms them, so that a broken connection can be taken up where it stopped.
//
//   push() --> queue_ --first chunk sent--> begun_ --all chunks confirmed--> let go of
//
// Chunks are numbered without gaps from 1, and each counts for its bytes and kChunkCharge more. A
// Mark is a place between two chunks; the differences of their positions are what is out there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "live/link/frame.h"
#include "live/link/message_queue.h"
#include "live/link/options.h"

namespace tessera {

class Outbox {
 public:
  struct Limits {
    MessageQueue::Limits queue{};
    std::size_t in_flight_bytes_max = 0;
    std::size_t chunk_bytes_max = 0;
    // Whatever window a peer speaks of, no more is left with it that it has not released.
    std::uint64_t peer_holds_max = ~0ull;
  };
  explicit Outbox(Limits limits) : limits_(limits), queue_(limits.queue) {}

  bool push(std::shared_ptr<const Bytes> message, MessageClass what = MessageClass::kOrdinary,
            Instant now = {}) {
    return queue_.push({std::move(message), what, now});
  }
  // Forgets every ordinary message of which no chunk was sent.
  void drop_unsent() { queue_.drop_ordinary(); }

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

  bool empty() const { return queue_.empty() && oldest_ == end_.number; }
  const MessageQueue& queue() const { return queue_; }
  std::size_t unconfirmed_bytes() const { return sent_.position - received_.position; }
  std::uint64_t messages_confirmed() const { return messages_confirmed_; }
  std::uint64_t bytes_confirmed() const { return received_.position; }
  // Ordinary messages of which a chunk went out, and their bytes.
  std::uint64_t messages_begun() const { return messages_begun_; }
  std::uint64_t bytes_begun() const { return bytes_begun_; }

 private:
  // The place before chunk `number`. `position` is what all chunks before it count for.
  struct Mark {
    std::uint64_t number = 1;
    std::uint64_t position = 0;
  };
  // A message of which a chunk was sent. Once received it is let go of; its chunks are remembered
  // until the peer releases them.
  struct Begun {
    std::shared_ptr<const Bytes> message{};
    Mark first{};                 // Its first chunk.
    std::uint64_t count = 0;      // Of its chunks.
    std::size_t chunk_bytes = 0;  // Of each but the last, which may be shorter.
    std::uint64_t end() const { return first.number + count; }
  };
  std::size_t chunk_for(std::size_t window) const;
  Mark mark(std::uint64_t number) const;
  std::size_t index_of(std::uint64_t number) const;  // Of the message it belongs to.
  bool allows(std::uint64_t cost, std::size_t window) const;
  void begin_next_message(std::size_t chunk_bytes);
  void forget_confirmed();

  Limits limits_;
  std::uint64_t peer_holds_max_ = limits_.peer_holds_max;
  MessageQueue queue_;
  std::deque<Begun> begun_;
  Mark end_;       // Behind the last chunk of the messages begun.
  Mark sent_;      // Before the chunk to send next.
  Mark received_;  // Before the first chunk that the peer has not confirmed.
  Mark released_;  // Before the first chunk that the peer may still hold.
  std::uint64_t oldest_ = 1;
  std::uint64_t messages_confirmed_ = 0;
  std::uint64_t messages_begun_ = 0;
  std::uint64_t bytes_begun_ = 0;
};

}  // namespace tessera
