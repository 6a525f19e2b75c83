// What travels on a link, one frame per ZeroMQ message. The side that connected speaks (hello,
// chunk, heartbeat, goodbye, rest), the other side answers (welcome, reject, ack):
//
//   hello      who I am to you: protocol version, run, model size, my session, the first chunk I
//              can still send, and what we must agree on
//   welcome    which chunk I expect next, and how many bytes I will hold for you
//   reject     we cannot talk, and why; where we do not agree, what I say to it
//   chunk      a piece of a message; chunks of a session are numbered without gaps from 1
//   ack        chunks received, and chunks no longer held because their message was taken
//   heartbeat  I am here
//   goodbye    I am leaving
//   rest       I hang up, and am still here: I have nothing to tell you now
//
// All numbers are little-endian. docs/live_format.md has the table. decode() is given a stranger's
// bytes: it checks every length and leaves it to link.h whether a frame makes sense at this point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

inline constexpr std::uint32_t kLinkMagic = 0x4C535354;  // "TSSL"
inline constexpr std::uint16_t kLinkVersion = 6;
inline constexpr std::size_t kChunkBytesMax = 1 << 20;  // Of payload.

// Why a hello is turned down; the numbers are on the wire.
enum class RejectReason : std::uint8_t {
  kVersion = 1,
  kRun = 2,
  kDimension = 3,
  kTwin = 4,
  kAgreement = 5,
};
std::string_view to_string(RejectReason reason);

struct Hello {
  std::uint16_t version = kLinkVersion;
  std::uint64_t run = 0;
  std::uint64_t dimension = 0;
  std::uint64_t session = 0;  // Differs each time a process starts.
  std::uint64_t oldest = 1;   // The first chunk that can still be sent; earlier ones are confirmed.
  std::string agreement{};    // Agreement::text().
  bool operator==(const Hello&) const = default;
};
struct Welcome {
  std::uint64_t session = 0;  // Of the hello this answers, as in Ack.
  std::uint64_t next = 1;     // The chunk expected next.
  std::uint64_t window = 0;   // Bytes the receiver holds at most, each chunk with kChunkCharge.
  bool operator==(const Welcome&) const = default;
};
struct Reject {
  RejectReason reason = RejectReason::kVersion;
  std::string agreement{};  // Of who rejects, where that is the reason.
  bool operator==(const Reject&) const = default;
};
struct Chunk {
  std::uint64_t number = 0;
  std::uint64_t total = 0;   // Bytes of the whole message.
  std::uint64_t offset = 0;  // Where this piece belongs.
  ByteSpan payload{};        // Looks into the decoded bytes.
};
struct Ack {
  std::uint64_t session = 0;
  std::uint64_t received = 0;  // The last chunk received.
  std::uint64_t released = 0;  // The last chunk of the messages taken; at most `received`.
  std::uint64_t at = 0;        // When `received` came, in ns of the receiver's own clock.
  bool operator==(const Ack&) const = default;
};
struct Heartbeat {
  bool operator==(const Heartbeat&) const = default;
};
struct Goodbye {
  bool operator==(const Goodbye&) const = default;
};
struct Rest {
  bool operator==(const Rest&) const = default;
};
using Frame = std::variant<Hello, Welcome, Reject, Chunk, Ack, Heartbeat, Goodbye, Rest>;

// What a chunk counts for beyond its payload wherever bytes are limited: its head and what both
// sides remember of it, so that empty messages are not free.
inline constexpr std::size_t kChunkCharge = 64;

// Everything of the frame but a chunk's payload, which the carrier appends without copying twice.
Bytes encode_head(const Frame& frame);
Bytes encode(const Frame& frame);

// Refuses with
//   "truncated" "trailing"  shorter or longer than its kind;
//   "kind" "magic"          not one of ours;
//   "reason"                a rejection without a known reason;
//   "oversized"             a chunk of more than kChunkBytesMax, an agreement of more than its own
//                           maximum.
// Of a hello of another version nothing but that is read.
Result<Frame> decode_frame(ByteSpan bytes);

}  // namespace tessera
