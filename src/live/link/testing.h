// Small worlds for the tests of this folder: a network of either carrier, messages whose bytes
// follow from their length, and waiting for something to become true.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
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

// Holds a name of the machine until this process ends: no other test can have it.
inline bool reserve(const std::string& name) {
  static std::vector<int> held;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(name.size() + 1 < sizeof address.sun_path);
  name.copy(address.sun_path + 1, name.size());  // A name that begins with a zero is no file.
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return held.push_back(fd), true;
  ::close(fd);
  return false;
}

inline bool is_free(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return free;
}

// A port of the loopback that is this test's alone: below the ports of outgoing connections and of
// `launch`, and reserved, since other tests look for theirs at the same time.
inline int free_port() {
  constexpr int kFirst = 10'000, kPorts = 10'000;
  static int next = static_cast<int>(::getpid()) * 127 % kPorts;
  for (int tried = 0; tried < kPorts; ++tried) {
    const int port = kFirst + next++ % kPorts;
    if (reserve("tessera-test-port-" + std::to_string(port)) && is_free(port)) return port;
  }
  CHECK(false);
  return 0;
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

  // Nobody can connect to it.
  void dial_out(NodeId id) { members_[id].address = kDialsOut; }
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
