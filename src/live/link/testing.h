// Small worlds for the tests of this folder: a network of either carrier, messages whose bytes
// follow from their length, and waiting for something to become true.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "base/random.h"
#include "live/link/clock.h"
#include "live/link/loopback.h"
#include "live/link/zeromq.h"

namespace tessera {

// Whatever a test waits for comes within this, or the test fails.
inline constexpr Duration kPatience = std::chrono::seconds(20);

inline bool await(const std::function<bool()>& happened) {
  const SteadyClock clock;
  while (!happened()) {
    if (clock.now() - Instant{} > kPatience) return false;
    std::this_thread::yield();
  }
  return true;
}

inline std::optional<Incoming> await_message(Transport& transport) {
  std::optional<Incoming> incoming;
  await([&] { return (incoming = transport.receive(std::chrono::seconds(1))).has_value(); });
  return incoming;
}

inline std::shared_ptr<const Bytes> random_message(std::size_t size) {
  Bytes bytes(size);
  Random random(size);
  for (std::size_t i = 0; i < size; i += 1 + size / 1000) bytes[i] = std::byte(random.bits());
  return std::make_shared<const Bytes>(std::move(bytes));
}

// Options that notice things within fractions of a second.
inline TransportOptions quick() {
  TransportOptions options;
  options.run = 42;
  options.dimension = 1000;
  options.heartbeat.interval = std::chrono::milliseconds(20);
  options.heartbeat.silence_min = std::chrono::milliseconds(500);
  options.heartbeat.silence_max = std::chrono::seconds(2);
  options.retry.pause_min = std::chrono::milliseconds(10);
  options.retry.pause_max = std::chrono::milliseconds(100);
  return options;
}

// A port of the loopback that nobody listens on right now.
inline int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

class TestNetwork {
 public:
  TestNetwork(std::string_view carrier, std::uint32_t nodes, TransportOptions options)
      : zeromq_(carrier == "zeromq"), options_(options) {
    for (NodeId id = 0; id < nodes; ++id) {
      keys_.push_back(make_key_pair());
      members_.push_back({id, "node-" + std::to_string(id),
                          "127.0.0.1:" + std::to_string(free_port()), keys_.back().public_key});
    }
  }

  std::unique_ptr<Transport> start(NodeId id) { return start(id, options_); }
  std::unique_ptr<Transport> start(NodeId id, const TransportOptions& options) {
    if (zeromq_) return make_zeromq_transport(zeromq_options(id, options));
    return loopback_.attach(id, members_, options);
  }
  // A member that can say anything at all.
  std::unique_ptr<Carrier> start_raw(NodeId id) {
    if (zeromq_) return make_zeromq_carrier(zeromq_options(id, options_));
    return loopback_.carrier(id);
  }

  const std::vector<Member>& members() const { return members_; }
  const TransportOptions& options() const { return options_; }
  ZeroMqOptions zeromq_options(NodeId id, const TransportOptions& options) const {
    return {.self = id, .keys = keys_[id], .members = members_, .link = options};
  }

 private:
  bool zeromq_;
  TransportOptions options_;
  std::vector<KeyPair> keys_;
  std::vector<Member> members_;
  LoopbackNetwork loopback_;
};

inline std::unique_ptr<TestNetwork> make_test_network(std::string_view carrier, std::uint32_t nodes,
                                                      const TransportOptions& options) {
  return std::make_unique<TestNetwork>(carrier, nodes, options);
}

}  // namespace tessera
