// Cuts off connections to a port of ours that last too long. A server of whole requests waits for
// one that comes a byte a second as long as its sender likes, and so would its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>

namespace tessera {

class ConnectionGuard {
 public:
  // Of TCP over IPv4. A connection lasts as many seconds at most, give or take a half; one whose
  // whole request waits for the server is given more.
  ConnectionGuard(int port, double seconds_max);
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  void set_seconds_max(double seconds) { looks_max_ = looks_in(seconds); }

 private:
  static int looks_in(double seconds);
  void look();

  int port_;
  std::atomic<int> looks_max_;
  // By descriptor and the other side's port: how often we have seen it.
  std::map<std::pair<int, std::uint16_t>, int> seen_{};
  std::jthread thread_{};
};

}  // namespace tessera
