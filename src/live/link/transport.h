// One node's end of all its links: whole messages out, whole messages in, and what is known of each
// peer. send() never blocks, receive() waits no longer than told, and every buffer is bounded in
// bytes per peer. Two implementations share the rules of a link (link.h): ZeroMQ with CURVE
// (zeromq.h) between machines, and a loopback (loopback.h) for tests.
//
// What a link promises. Messages between two running processes arrive once, whole and in order,
// also across a broken connection: what the peer has not confirmed is sent again when it is back.
// Messages are lost only when a process ends, when a queue is full (the policy says which one
// goes), or when a peer breaks the rules; every loss is counted by name.
//
// Who a peer is comes from its key in the roster and never from what a message says.
//
// Threads: all functions may be called from any thread, receive() from one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "live/link/member.h"

namespace tessera {

// What happens to a message for which its peer's queue has no room.
enum class QueuePolicy {
  back_pressure,  // It is turned away. For protocols that wait.
  newest_wins,    // The oldest messages not yet begun make room. For protocols that do not.
};

// What the node says can be superseded and taken back; what processes agree on among themselves
// cannot, and takes no part in the counts of what the node has sent.
enum class MessageClass { ordinary, control };

struct TransportOptions {
  std::uint64_t run = 0;        // Peers of another run or model size are refused, and say so.
  std::uint64_t dimension = 0;  // Length of the model's vector.
  QueuePolicy policy = QueuePolicy::back_pressure;

  // Per peer. Under back_pressure a message is taken while the queue is below this, whatever its
  // own size, so that a model larger than the queue still goes through.
  std::size_t queue_bytes = 64 << 20;
  // Sent but not yet confirmed, per peer: what drop_unsent() can no longer take back. As much as
  // keeps the path busy is let out, and what waits on it for `slack` (window.h); never more than
  // this.
  std::size_t in_flight_bytes = 4 << 20;
  Duration slack = std::chrono::milliseconds(50);
  // The longest message a peer may send us, and what we hold for it at most beyond one message. A
  // program that knows its model makes them fit it.
  std::size_t message_bytes_max = 256 << 20;
  std::size_t held_bytes_extra = 16 << 20;
  // The most that travels in one piece. On slow paths pieces are smaller, so that heartbeats come
  // through between them.
  std::size_t chunk_bytes = 1 << 20;

  // A peer is silent when nothing came from it for mean + deviations * deviation of the gaps
  // between its heartbeats, but at least the floor and at most the ceiling.
  Duration heartbeat_interval = std::chrono::milliseconds(250);
  double deviations = 6;
  Duration silence_floor = std::chrono::seconds(1);
  Duration silence_ceiling = std::chrono::seconds(10);
  // Attempts to reach a peer that is not there: first at once, then doubling between these.
  Duration retry_first = std::chrono::milliseconds(100);
  Duration retry_ceiling = std::chrono::seconds(5);
  Duration linger = std::chrono::seconds(2);  // close() waits this long for what is queued.
  int io_threads = 1;                         // Of ZeroMQ; encryption happens there.
};

struct Incoming {
  NodeId from = 0;
  Bytes bytes{};
};

enum class PeerCondition {
  connecting,  // Not heard from yet.
  alive,       // Heard from within its deadline.
  silent,      // Not heard from for longer than its deadline.
  lost,        // The connection broke and could not be made again.
  refused,     // It will not talk to us, or we not to it: another version, run or model.
  gone,        // It said goodbye.
};
std::string_view to_string(PeerCondition condition);

// What `tessera status` shows of a peer.
struct PeerState {
  NodeId id = 0;
  std::string name{};
  PeerCondition condition = PeerCondition::connecting;
  std::string reason{};                             // One sentence for people: why it is not alive.
  Instant last_heard{};                             // By Transport::now(); zero when never.
  Duration deadline{};                              // How long it may be silent, as learnt so far.
  std::size_t queued = 0, queued_bytes = 0;         // Accepted by send(), not yet on the wire.
  std::size_t unconfirmed_bytes = 0;                // On the wire,
  std::size_t window_bytes = 0;                     // and how much may be.
  std::uint64_t confirmed_bytes = 0;                // Of all that was ever on the wire.
  std::size_t held_bytes = 0;                       // From it, not yet taken by receive().
  std::uint64_t messages_out = 0, messages_in = 0;  // Whole ones; out when confirmed.
  std::uint64_t bytes_out = 0, bytes_in = 0;        // Of all frames, heartbeats too.
  std::uint64_t turned_away = 0;                    // send() found no room (back_pressure).
  std::uint64_t superseded = 0;  // Dropped before they were sent (newest_wins, drop_unsent).
  std::uint64_t messages_begun = 0, bytes_begun = 0;  // Ordinary ones that have gone out.
  std::uint64_t connections = 0;  // Times the link was made; more than one means it broke.
  bool alive() const { return condition == PeerCondition::alive; }
};

// Refusals by the reason's one word. link.h and zeromq.h list them.
using Refusals = std::map<std::string, std::uint64_t, std::less<>>;

class Transport {
 public:
  virtual ~Transport() = default;

  // Time since this transport was made, from a steady clock.
  virtual Instant now() const = 0;

  // Queues the message for `to`, which is a member and not ourselves. False when the policy turned
  // it away. A peer that is not there keeps its queue until it comes back.
  virtual bool send(NodeId to, std::shared_ptr<const Bytes> message,
                    MessageClass what = MessageClass::ordinary) = 0;
  virtual bool has_room(NodeId to) const = 0;
  // Forgets every ordinary message of which no byte is on the wire yet.
  virtual void drop_unsent() = 0;
  virtual void drop_unsent(NodeId to) = 0;

  // The next whole message. Returns without one after `at_most`, or earlier when wake() was called
  // or some peer's condition changed (see take_changes).
  virtual std::optional<Incoming> receive(Duration at_most) = 0;
  // Makes the current or else the next receive() return at once.
  virtual void wake() = 0;

  // Peers whose condition changed since the last call.
  virtual std::vector<PeerState> take_changes() = 0;
  virtual std::vector<PeerState> peers() const = 0;  // By id.
  virtual PeerState peer(NodeId id) const = 0;
  virtual Refusals refusals() const = 0;

  // The roster has changed: links to new members are made, those to former ones closed.
  virtual void set_members(std::span<const Member> members) = 0;

  // Tells every peer that this is the end, waits at most options.linger for queues to empty, and
  // closes. The destructor closes without waiting and without a word, as a crash would.
  virtual void close() = 0;
};

}  // namespace tessera
