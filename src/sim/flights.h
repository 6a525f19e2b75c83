// The messages on their way, and the books kept of them. A message boards when it is handed to the
// network; it leaves by landing at its receiver or by being dropped. Every byte is counted on both
// occasions, for the node that sent it:
//
//   offered = delivered + dropped + on their way, at every moment.
//
// Flights know neither the clock nor the network: the simulation says what happens and when.
#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "base/check.h"
#include "base/prefetch.h"
#include "node/env.h"
#include "node/traffic.h"
#include "sim/network.h"

namespace tessera {

struct alignas(64) Flight {  // In one line of the cache.
  NodeId from = 0, to = 0;
  Payload payload{};  // Of no length: the place is free.
  Instant sent_at{};
  std::uint64_t sender_age = 0;

  void fields(Archive& archive);
};

// What happened to one node's messages since the beginning.
struct MessageCounts {
  Traffic offered{};                // Handed to the network; a duplicate it makes counts again.
  Traffic taken_back{};             // Of the offered, what was withdrawn before it had left.
  Traffic delivered{};              // Of the offered, what its receivers were given.
  std::uint64_t dropped_bytes = 0;  // Of the offered, what was withdrawn or lost.
  std::uint64_t dropped_messages = 0;
  std::uint64_t heard = 0;      // Messages this node was given.
  std::uint64_t staleness = 0;  // Their sum of trainings the sender had made since it sent.
  Duration delay{};             // Their sum of times from sending to arrival.

  void fields(Archive& archive);
};

// Bytes of all nodes.
struct Ledger {
  std::uint64_t offered = 0, delivered = 0, dropped = 0, on_their_way = 0;
  bool balances() const { return offered == delivered + dropped + on_their_way; }
};

class Flights {
 public:
  explicit Flights(std::size_t nodes) : counts_(nodes) {}

  MessageId board(Flight flight);
  MessageId copy(MessageId id);  // The network made a second one of it.
  Payload land(MessageId id, Instant now, std::uint64_t sender_age_now);
  void drop(MessageId id, std::uint64_t bytes_sent);

  const Flight& find(MessageId id) const {
    const Flight& found = flights_[id % kPlaces];
    CHECK(found.payload.size() > 0);
    return found;
  }
  // Whether there is such a message, for ids that come from outside.
  bool holds(MessageId id) const;
  std::size_t size() const { return flights_.size() - free_.size(); }
  static std::uint64_t serial_of(MessageId id) { return id >> kPlaceBits; }

  const MessageCounts& counts(NodeId node) const { return counts_[node]; }
  // What has left the node, given what of it still waits at its link.
  Traffic sent(NodeId node, const Traffic& waiting) const;
  Ledger ledger() const;

  // Three steps towards a message's bytes, each for when the one before has had time to arrive.
  void prefetch_flight(MessageId id) const { prefetch(flights_[id % kPlaces]); }
  void prefetch_counts(MessageId id) const;
  void prefetch_bytes(MessageId id) const;

  void fields(Archive& archive);

 private:
  void bring_messages(Holders& holders);
  void let_go_of_others(const Holders& holders);

  // An id is the message's serial number and below it its place in `flights_`, so that ids ascend
  // and a message is found without a search.
  static constexpr unsigned kPlaceBits = 24;
  static constexpr std::uint64_t kPlaces = 1ull << kPlaceBits;

  void release(MessageId id);
  const char* fault() const;

  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_;
  std::uint64_t serial_ = 0;
  std::vector<MessageCounts> counts_;
};

}  // namespace tessera
