// What is known of a peer: whether it is there, and what went to it and came from it. `tessera
// status` shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"

namespace tessera {

enum class PeerCondition {
  kConnecting,  // Not heard from yet.
  kAlive,       // Heard from within its deadline.
  kSilent,      // Not heard from for longer than its deadline.
  kLost,        // The connection broke and could not be made again.
  kRefused,     // It will not talk to us, or we not to it: another version, run or model, or it
                // broke the rules.
  kGone,        // It said goodbye.
  kIdle,        // There is no link to it, and none is needed now.
};
std::string_view to_string(PeerCondition condition);

// What we send it. docs/live_buffers.md shows where a message is when.
struct OutgoingState {
  std::size_t queued = 0;             // Messages in Outbox::queue_.
  std::size_t queued_bytes = 0;       // Their bytes.
  std::size_t unconfirmed_bytes = 0;  // Of Outbox::begun_, on the wire.
  std::size_t window_bytes = 0;       // How much may be on the wire.
  std::uint64_t confirmed_bytes = 0;  // Of all that was ever on the wire.
  std::uint64_t messages = 0;         // Whole ones that were confirmed.
  std::uint64_t bytes = 0;            // Of all frames, heartbeats too.
  std::uint64_t messages_begun = 0;   // Ordinary ones of which a chunk has gone out.
  std::uint64_t bytes_begun = 0;      // Their bytes.
  std::uint64_t turned_away = 0;      // send() found no room (kBackPressure).
  std::uint64_t superseded = 0;       // Dropped from the queue (kNewestWins, drop_unsent).
};

// What comes from it.
struct IncomingState {
  std::size_t held_bytes = 0;  // In the Inbox, not yet taken by receive().
  std::uint64_t messages = 0;  // Whole ones.
  std::uint64_t bytes = 0;     // Of all frames, heartbeats too.
};

struct PeerState {
  NodeId id = 0;
  std::string name{};
  PeerCondition condition = PeerCondition::kConnecting;
  std::string reason{};    // One sentence for people: why it is not alive, or a warning.
  bool wanted = true;      // A link to it is kept, used or not.
  bool disagrees = false;  // Refused for what it says that we must agree on.
  Instant last_heard{};    // By Transport::now(); zero when never.
  Duration deadline{};     // How long it may be silent, as learnt so far.
  std::uint64_t life = 0;  // Differs each time it was started anew; 0: it has not said hello.
  std::uint64_t connections = 0;  // Times the link was made; more than one means it broke.
  OutgoingState out{};
  IncomingState in{};
  bool alive() const { return condition == PeerCondition::kAlive; }
};

}  // namespace tessera
