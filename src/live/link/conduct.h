// How the other end of a connection behaves beneath its frames, where ZeroMQ would hold for it
// whatever it likes:
//
//   "endless"  It sends a message in parts without an end. ZeroMQ joins them before we see any, and
//              limits only the size of each: bytes come, and no frame.
//   "unread"   It does not read what it is told. One that confirms chunks all the same, or welcomes
//              us again and again, is told more and more: frames go, and do not arrive.
//
// Both are found by what the kernel has counted on the connection, a few times a second, and more
// often where much goes out.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace tessera {

class Conduct {
 public:
  struct Limits {
    std::uint64_t frameless_bytes_max = 64 << 20;  // Received since the last frame.
    std::uint64_t unread_bytes_max = 64 << 20;     // Said, and not arrived in the other's kernel.
    Duration look_every = std::chrono::milliseconds(100);
    std::uint64_t look_every_bytes = 8 << 20;  // That have gone out, on all connections.
  };
  struct Counts {
    std::uint64_t received = 0;
    std::uint64_t arrived = 0;  // Of what was sent.
    bool all_arrived = true;    // Of what ZeroMQ has handed to the kernel.
  };

  void frame_came() { framed_ = true; }
  void frame_went(std::size_t bytes) { said_ += wire_bytes(bytes); }

  // The word for what it does wrong, empty where that is nothing.
  std::string_view fault(const Counts& counts, const Limits& limits);

  // A frame of so many bytes as ZeroMQ sends it, in CURVE's MESSAGE (ZMTP 3.1 and RFC 26): a name
  // of 8, a nonce of 8, a box with 16 of its own and 1 of flags, all that behind a head of 2 or 9.
  static constexpr std::uint64_t wire_bytes(std::size_t bytes) {
    const std::uint64_t body = bytes + 33;
    return body + (body > 255 ? 9 : 2);
  }

 private:
  bool framed_ = false;         // Since it was last looked at.
  std::uint64_t received_ = 0;  // When it was last found to have framed.
  std::uint64_t said_ = 0;      // Since all had last arrived.
  std::uint64_t arrived_ = 0;   // By then.
};

// When it is time to look at the conduct on all connections. By the clock alone, as much as a
// machine can say in between would wait for one that does not read.
class Looks {
 public:
  explicit Looks(const Conduct::Limits& limits) : limits_(limits) {}

  void frame_went(std::size_t bytes) { gone_ += bytes; }
  bool is_time(Instant now) {
    if (now - looked_at_ < limits_.look_every && gone_ < limits_.look_every_bytes) return false;
    looked_at_ = now;
    gone_ = 0;
    return true;
  }

 private:
  Conduct::Limits limits_;
  Instant looked_at_{};
  std::uint64_t gone_ = 0;  // Since then.
};

// What a word says to people.
std::string_view explain_conduct(std::string_view word);

}  // namespace tessera
