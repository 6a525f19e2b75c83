// What a link may hold, how fast it notices things, and what happens when a queue is full.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "live/link/agreement.h"

namespace tessera {

// What happens to a message for which its peer's queue has no room.
enum class QueuePolicy {
  kBackPressure,  // It is turned away. For protocols that wait.
  kNewestWins,    // The oldest messages not yet begun make room. For protocols that do not.
};

// What the node says can be superseded and taken back. What processes agree on among themselves
// is not taken back, has bounds of its own, takes no room from what the node says and no part in
// the counts of what it has sent.
enum class MessageClass {
  kOrdinary,
  kControl,  // A few bytes. The newest kControlsWaitingMax wait.
  kOffer,    // A whole model. One waits; a newer one takes its place.
  kRoster,   // Who belongs to the run. One waits, likewise.
};
inline constexpr std::size_t kControlsWaitingMax = 64;

// A peer is silent when nothing came from it for mean + deviations * deviation of the gaps between
// its heartbeats (arrivals.h), but at least silence_min and at most silence_max: a timeout that is
// learnt.
struct HeartbeatOptions {
  Duration interval = std::chrono::milliseconds(250);
  double deviations = 6;
  Duration silence_min = std::chrono::seconds(1);
  Duration silence_max = std::chrono::seconds(10);
};

// Attempts to reach a peer that is not there: the first at once, then pauses that double between
// these bounds (exponential backoff).
struct RetryOptions {
  Duration pause_min = std::chrono::milliseconds(100);
  Duration pause_max = std::chrono::seconds(5);
};

struct TransportOptions {
  std::uint64_t run = 0;        // Peers of another run or model size are refused, and say so.
  Agreement agreement{};        // Peers that say something else are refused, and told what we say.
  std::uint64_t dimension = 0;  // Length of the model's vector.
  QueuePolicy policy = QueuePolicy::kBackPressure;

  // Per peer. Under kBackPressure a message is taken while the queue is below this, whatever its
  // own size, so that a model larger than the queue still goes through.
  std::size_t queue_bytes_max = 64 << 20;
  // An ordinary message that has waited longer than this makes room for a newer one; zero: it waits
  // as long as it takes. For protocols that do not wait for a peer beyond this either.
  Duration unsent_age_max{};
  // Sent but not yet confirmed, per peer: what drop_unsent() can no longer take back. As much as
  // keeps the path busy is let out, and what waits on it for `slack` (window.h); never more than
  // this.
  std::size_t in_flight_bytes_max = 4 << 20;
  Duration slack = std::chrono::milliseconds(50);
  // The longest message a peer may send us, and what we hold for it at most beyond one message. A
  // program that knows its model makes them fit it.
  std::size_t message_bytes_max = 256 << 20;
  std::size_t held_bytes_extra = 16 << 20;
  // The most that travels in one piece. On slow paths pieces are smaller, so that heartbeats come
  // through between them.
  std::size_t chunk_bytes_max = 1 << 20;

  HeartbeatOptions heartbeat{};
  RetryOptions retry{};
  // Links to all members are kept, or to those that Transport::want() names. Others are made for
  // what is to be sent, and hung up when all of it is confirmed and nothing was sent for
  // `unused_max`; so is the one that was used longest ago, where there are more than
  // `unwanted_links_max` of them.
  bool wants_all = true;
  Duration unused_max = std::chrono::seconds(10);
  std::size_t unwanted_links_max = 32;
  Duration linger = std::chrono::seconds(2);  // close() waits this long for what is queued.
  int io_threads = 1;                         // Of ZeroMQ; encryption happens there.

  // How much of one peer's messages we hold at most.
  std::size_t held_bytes_max() const { return message_bytes_max + held_bytes_extra; }
};

// Throws std::invalid_argument for options that cannot be.
void refuse_impossible(const TransportOptions& options);

}  // namespace tessera
