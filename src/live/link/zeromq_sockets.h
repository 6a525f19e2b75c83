// What is about single ZeroMQ sockets: whole messages without waiting, what becomes of connections,
// the socket others connect to, and a connection to a peer.
#pragma once

#include <zmq.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "live/link/conduct.h"
#include "live/link/keys.h"
#include "live/link/member.h"

namespace tessera {

// Acks for a peer that does not read them, and what we tell one that dials out: that is bounded by
// its Outbox in bytes, and taken up again where this is not enough.
inline constexpr int kAnswersWaitingMax = 512;
inline constexpr std::int64_t kAnswerBytesMax = 4096;  // Of a peer, on a connection we made.
inline constexpr int kFramesWaitingMax =
    16;  // Received by ZeroMQ and not yet by us, per connection.
inline constexpr std::int64_t kFrameBytesMax = (1 << 20) + 4096;  // A chunk with its head.
inline constexpr std::chrono::milliseconds kLastWordMax(500);
inline constexpr std::chrono::milliseconds kHandshakeMax(10'000);  // Of ours with a peer.
// Of those who connect to us, who may be anyone: each costs a descriptor meanwhile.
inline constexpr std::chrono::milliseconds kGuestHandshakeMax(2'000);

inline ByteSpan bytes_in(const zmq::message_t& message) {
  return {message.data<std::byte>(), message.size()};
}
inline std::string text_in(const zmq::message_t& message) {
  return message.to_string();
}

// Nothing where the descriptor is no TCP connection.
Conduct::Counts counts_of(int descriptor);

// All parts of the next message; none when there is no message.
std::vector<zmq::message_t> receive_parts(zmq::socket_t& socket);

// Where the socket asks whether a key may connect (ZAP, ZeroMQ RFC 27), once per connection.
inline constexpr const char* kZapEndpoint = "inproc://zeromq.zap.01";

// The socket others connect to, not yet bound. Without someone at kZapEndpoint nobody gets in.
zmq::socket_t make_router(zmq::context_t& context, const KeyPair& keys);

// The events of a socket's life that we ask for, delivered to a PAIR. ZeroMQ's own threads
// block on a PAIR nobody reads, so reporting is stopped before ours is closed.
class Monitor {
 public:
  Monitor(zmq::context_t& context, zmq::socket_t& watched, int events, const std::string& name);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  struct Event {
    std::uint16_t kind = 0;
    std::uint32_t value = 0;  // The connection's descriptor, for the kinds we ask for.
  };
  std::optional<Event> next();
  zmq::socket_t& pair() { return pair_; }

 private:
  zmq::socket_t& watched_;
  zmq::socket_t pair_;
};

// A connection we made. A socket serves one connection only: when that breaks, both are thrown
// away, so that nothing meant for the old one can reach the peer by the new one.
struct Connection {
  struct Options {
    KeyPair keys{};  // Ours.
    std::int64_t answer_bytes_max = kAnswerBytesMax;
    int answers_waiting_max = 256;
    Conduct::Limits conduct{};
  };
  // `address` is the peer's in numbers: ZeroMQ looks names up on the thread that serves all
  // connections.
  Connection(zmq::context_t& context, const Member& peer, const std::string& address,
             const Options& options, const std::string& name);
  // The event by which it ended; told once.
  std::optional<std::uint16_t> take_end();
  // As Conduct's. To be asked when it is time to look.
  std::string_view fault();

  zmq::socket_t dealer;
  Monitor monitor;
  bool answered = false;
  Conduct conduct{};
  Conduct::Limits conduct_limits{};
  std::optional<int> descriptor{};  // While it stands.
};

}  // namespace tessera
