// How messages travel in virtual time, and how long it takes. A network knows sizes, links and the
// clock; it sees neither payloads nor nodes' states. The simulation offers it messages and asks it
// when something will come of them:
//
//   network.offer(now, {.id = 7, .from = 0, .to = 3, .bytes = 36'000});
//   network.next()                      // When advance() will next have something to say.
//   network.advance(now, receipts)      // What became of messages by now, in the order of ids.
//
// Time never runs backwards, and advance() is called for every instant next() names before a later
// one. Given the same calls, a network gives the same answers: sums run in the order of ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"
#include "base/table.h"
#include "base/time.h"

namespace tessera {

using MessageId = std::uint64_t;  // Given by the simulation, ascending.

struct Parcel {
  MessageId id = 0;
  NodeId from = 0, to = 0;
  std::uint64_t bytes = 0;

  void fields(Archive& archive) { archive(id, from, to, bytes); }
};

// What became of a message. One that is dropped was withdrawn by its sender; `bytes_sent` of it had
// left by then, in vain.
struct Receipt {
  MessageId id = 0;
  bool delivered = false;
  std::uint64_t bytes_sent = 0;
};

struct CarriedMessage {
  MessageId id = 0;
  std::uint64_t bytes = 0;
};

class Network {
 public:
  virtual ~Network() = default;

  virtual void offer(Instant now, const Parcel& parcel) = 0;
  // Takes back what waits at `from`, and what is half sent unless the network lets it finish
  // (half_sent=); appends a receipt for each. What has left and is still on its way arrives.
  virtual void withdraw(Instant now, NodeId from, std::vector<Receipt>& receipts) = 0;
  // The same for a node that is no more: nothing is left to finish.
  virtual void cut_off(Instant now, NodeId from, std::vector<Receipt>& receipts) = 0;

  virtual Instant next() const = 0;  // kNever when nothing will change by itself.
  virtual void advance(Instant now, std::vector<Receipt>& receipts) = 0;
  // A hint: the message that arrives after `others` more, as things stand. Only good for having its
  // memory at hand by then (prefetching); networks that cannot tell say nothing.
  virtual std::optional<MessageId> upcoming(std::size_t others) const = 0;

  // Messages that have not wholly left a node, and how many of their bytes have not.
  virtual std::size_t queued(NodeId from, Instant now) const = 0;
  virtual std::uint64_t queued_bytes(NodeId from, Instant now) const = 0;
  // What the node's up-link can carry now, in bytes per second; 0 where that means nothing.
  virtual double up_rate(NodeId from) const = 0;
  // Appends every message that was offered and of which no receipt was given.
  virtual void list_carried(std::vector<CarriedMessage>& all) const = 0;

  // The state between two instants; a network that loads was made from the same spec and has been
  // offered nothing.
  virtual void fields(Archive& archive) = 0;
};

struct NetworkContext {
  std::uint32_t nodes = 0;
  Random random{0};  // The run's own fork: stragglers' noise is drawn from it.
};

struct NetworkKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  std::unique_ptr<Network> (*make)(Options& options, const NetworkContext& context) = nullptr;
};

std::span<const NetworkKind> networks();

// Throws std::invalid_argument for an unknown name, option or value, or a file that does not fit.
std::unique_ptr<Network> make_network(const Chosen<NetworkKind>& chosen,
                                      const NetworkContext& context);
std::unique_ptr<Network> make_network(std::string_view line, const NetworkContext& context);

}  // namespace tessera
