// What arrives on an open port: noise, strangers, members that break the rules, connections that
// are opened and dropped. Whatever it is, it is counted by name, memory stays flat, and the members
// that keep the rules do not notice.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "live/link/frame.h"
#include "live/link/testing.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

// Notes what a rule-breaking member is told.
struct Heard final : CarrierEvents {
  std::vector<Bytes> answers{};
  std::size_t disconnections = 0;
  void on_answer(NodeId, ByteSpan frame) override {
    answers.emplace_back(frame.begin(), frame.end());
  }
  void on_frame(NodeId, std::string_view, ByteSpan) override {}
  void on_disconnected(NodeId, std::string_view) override { ++disconnections; }
  void on_refused(std::string_view) override {}
};

// A member with a valid key and no manners: says to node 0 whatever it is given.
class Rascal {
 public:
  explicit Rascal(std::unique_ptr<Carrier> carrier) : carrier_(std::move(carrier)) {
    carrier_->connect(0);
  }
  void say(ByteSpan frame) { carrier_->send(0, frame, {}); }
  void say_hello(const TransportOptions& options) {
    say(encode(Hello{.run = options.run, .dimension = options.dimension, .session = 5}));
  }
  bool await_answers(std::size_t count) {
    return await([&] {
      carrier_->wait(10ms);
      carrier_->collect(heard_);
      return heard_.answers.size() >= count;
    });
  }
  bool await_disconnection() {
    return await([&] {
      carrier_->wait(10ms);
      carrier_->collect(heard_);
      return heard_.disconnections > 0;
    });
  }
  const Heard& heard() const { return heard_; }

 private:
  std::unique_ptr<Carrier> carrier_;
  Heard heard_;
};

// Node 0 and node 2 are honest; whatever node 1 does, they must go on talking.
struct World {
  explicit World(std::string_view carrier, TransportOptions options = quick())
      : net(carrier, 3, options), target(net.start(0)), friend_of_target(net.start(2)) {
    target->set_members(net.members());
  }
  ::testing::AssertionResult still_works() {
    const auto message = random_message(100'000);
    if (!friend_of_target->send(0, message)) return ::testing::AssertionFailure() << "no room";
    for (std::optional<Incoming> incoming; (incoming = await_message(*target));)
      if (incoming->from == 2 && incoming->bytes == *message) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "nothing came";
  }
  std::uint64_t refused(std::string_view word) const {
    const WordCounts refusals = target->refusals();
    const auto found = refusals.find(word);
    return found == refusals.end() ? 0 : found->second;
  }
  TestNetwork net;
  std::unique_ptr<Transport> target, friend_of_target;
};

int connect_to(const Member& member) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string port = member.address.substr(member.address.rfind(':') + 1);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Sanitizers keep what was freed for a while, so only plain builds can tell.
#if TESSERA_SANITIZED
constexpr bool kCanMeasureMemory = false;
#else
constexpr bool kCanMeasureMemory = true;
#endif

TEST(Hostile, NoiseOnThePort) {
  World world("zeromq");
  Random random(3);
  for (int i = 0; i < 40; ++i) {
    const int fd = connect_to(world.net.members()[0]);
    ASSERT_GE(fd, 0);
    Bytes noise(random.below(5000));
    for (std::byte& byte : noise) byte = static_cast<std::byte>(random.bits());
    [[maybe_unused]] const auto written = ::send(fd, noise.data(), noise.size(), MSG_NOSIGNAL);
    ::close(fd);
  }
  EXPECT_TRUE(await([&] { return world.refused("handshake") >= 20; }));
  EXPECT_TRUE(world.still_works());
}

TEST(Hostile, AStrangersKeyGetsNoBytePastTheHandshake) {
  World world("zeromq");
  // Its own roster has everyone's true keys, and itself where node 1 should be.
  ZeroMqOptions options = world.net.zeromq_options(1, world.net.options());
  options.keys = make_key_pair();
  options.members[1].public_key = options.keys.public_key;
  Rascal stranger(make_zeromq_carrier(options));
  stranger.say_hello(world.net.options());
  stranger.say(encode(Heartbeat{}));
  EXPECT_TRUE(await([&] { return world.refused("unknown-key") >= 1; }));
  EXPECT_EQ(world.target->peer(1).in.bytes, 0u);
  EXPECT_TRUE(world.still_works());
  EXPECT_EQ(stranger.heard().answers.size(), 0u);
}

// The other way round: someone who took over a peer's address, without its key, is told nothing.
TEST(Hostile, AnImpostorAtAPeersAddressIsNotTalkedTo) {
  TestNetwork net("zeromq", 2, quick());
  ZeroMqOptions options = net.zeromq_options(1, net.options());
  options.keys = make_key_pair();
  options.members[1].public_key = options.keys.public_key;
  const auto impostor = make_zeromq_transport(options);
  const auto target = net.start(0);
  target->send(1, random_message(1000));
  EXPECT_TRUE(await([&] { return target->peer(1).reason.starts_with("cannot reach"); }));
  EXPECT_EQ(target->peer(1).out.messages, 0u);
  EXPECT_EQ(impostor->peer(0).in.bytes, 0u);
}

class HostileMember : public testing::TestWithParam<std::string_view> {};

TEST_P(HostileMember, TruncatedFlippedAndRepeatedFrames) {
  World world(GetParam());
  Rascal rascal(world.net.start_raw(1));
  const TransportOptions& options = world.net.options();
  rascal.say_hello(options);
  const auto message = random_message(300);
  const Bytes chunk = encode(Chunk{1, message->size(), 0, *message});
  rascal.say(chunk);
  rascal.say(chunk);
  EXPECT_TRUE(await([&] { return world.refused("replayed") == 1; }));
  EXPECT_EQ(await_message(*world.target)->bytes, *message);

  Random random(4);
  const std::vector<Bytes> samples = {
      chunk,
      encode(Chunk{2, message->size(), 0, *message}),
      encode(Ack{5, 1, 1, 0}),
      encode(Hello{.run = options.run, .dimension = options.dimension, .session = 5}),
      encode(Welcome{5, 1, 1}),
      encode(Reject{}),
      encode(Heartbeat{})};
  for (int i = 0; i < 1000; ++i) {
    Bytes frame = samples[random.below(samples.size())];
    if (random.below(2) == 0)
      frame.resize(random.below(frame.size() + 1));
    else
      frame[random.below(frame.size())] ^= static_cast<std::byte>(1u << random.below(8));
    rascal.say(frame);
  }
  rascal.say_hello(options);  // Whatever the flips did to the session, this one is due an answer.
  EXPECT_TRUE(await([&] {
    const WordCounts refusals = world.target->refusals();
    return std::accumulate(refusals.begin(), refusals.end(), 0ull,
                           [](auto sum, const auto& row) { return sum + row.second; }) > 300;
  }));
  for (const char* word : {"truncated", "kind", "magic", "replayed", "direction"})
    EXPECT_TRUE(await([&] { return world.refused(word) > 0; })) << word;
  EXPECT_TRUE(world.still_works());
}

TEST_P(HostileMember, AFloodFillsItsShareAndNoMore) {
  TransportOptions options = quick();
  options.message_bytes_max = 2 << 20;
  options.held_bytes_extra = 2 << 20;
  World world(GetParam(), options);
  Rascal rascal(world.net.start_raw(1));
  rascal.say_hello(options);
  ASSERT_TRUE(rascal.await_answers(1));
  const auto message = random_message(500'000);
  std::size_t before = 0;
  std::uint64_t number = 0;
  for (int turn = 0; turn < 40; ++turn) {  // 160 MB in all, which nobody takes.
    for (int i = 0; i < 8; ++i) {
      ++number;
      rascal.say(encode(Chunk{number, message->size(), 0, *message}));
    }
    // Every turn is received before the next, so that nothing piles up on this side.
    ASSERT_TRUE(await([&] {
      rascal.await_answers(1);
      const Result<Frame> last = decode_frame(rascal.heard().answers.back());
      const Ack* ack = last ? std::get_if<Ack>(&*last) : nullptr;
      return ack != nullptr && ack->received == number;
    }));
    EXPECT_LE(world.target->peer(1).in.held_bytes, 4u << 20);
    if (turn == 5) before = resident_bytes();
  }
  EXPECT_GT(world.refused("flood"), 300u);
  if (kCanMeasureMemory) {
    EXPECT_LT(resident_bytes(), before + (24u << 20));
  }
  EXPECT_TRUE(world.still_works());
}

TEST_P(HostileMember, OneThatStandsStillIsNoticed) {
  World world(GetParam());
  Rascal rascal(world.net.start_raw(1));
  rascal.say_hello(world.net.options());
  ASSERT_TRUE(await([&] { return world.target->peer(1).alive(); }));
  EXPECT_TRUE(await([&] { return world.target->peer(1).condition == PeerCondition::kSilent; }));
  EXPECT_TRUE(world.still_works());
}

// What we say to a member that confirms nothing: 5,000 offers of 100 kB, as 5,000 questions of its
// would make, and as many words. One offer waits and one may be under way; shares still find room.
TEST_P(HostileMember, OneThatAsksAgainAndAgainMakesUsHoldOneAnswer) {
  TransportOptions options = quick();
  options.queue_bytes_max = 1 << 20;
  World world(GetParam(), options);
  Rascal rascal(world.net.start_raw(1));
  rascal.say_hello(options);
  ASSERT_TRUE(await([&] { return world.target->peer(1).alive(); }));
  const auto offer = random_message(100'000), word = random_message(5);
  for (int i = 0; i < 5000; ++i) {
    EXPECT_TRUE(world.target->send(1, offer, MessageClass::kOffer));
    EXPECT_TRUE(world.target->send(1, word, MessageClass::kControl));
  }
  EXPECT_LE(world.target->peer(1).out.queued, kControlsWaitingMax + 1);
  EXPECT_LE(world.target->peer(1).out.queued_bytes, offer->size() + 5 * kControlsWaitingMax);
  EXPECT_TRUE(world.target->send(1, random_message(1000)));
  EXPECT_EQ(world.target->peer(1).out.turned_away, 0u);
  EXPECT_TRUE(world.still_works());
}

INSTANTIATE_TEST_SUITE_P(Carriers, HostileMember, testing::Values("loopback", "zeromq"),
                         [](const auto& test) { return std::string(test.param); });

// 500 here; as many as TESSERA_CONNECTIONS says when someone has the time.
TEST(Hostile, ConnectionsOpenedAndDropped) {
  World world("zeromq");
  const char* wanted = std::getenv("TESSERA_CONNECTIONS");
  const int count = wanted != nullptr ? std::atoi(wanted) : 500;
  std::size_t before = 0;
  for (int i = 0; i < count; ++i) {
    const int fd = connect_to(world.net.members()[0]);
    ASSERT_GE(fd, 0) << i;
    if (i % 3 == 0) {  // Some break off in the middle of a greeting.
      [[maybe_unused]] const auto written =
          ::send(fd, "\xff\0\0\0\0\0\0\0\1\x7f", 10, MSG_NOSIGNAL);
    }
    ::close(fd);
    if (i == count / 2) before = resident_bytes();
  }
  EXPECT_TRUE(
      await([&] { return world.refused("handshake") >= static_cast<std::uint64_t>(count) / 2; }));
  if (kCanMeasureMemory) {
    EXPECT_LT(resident_bytes(), before + (8u << 20));
  }
  EXPECT_TRUE(world.still_works());
}

// How many connections to the member's port this process has accepted and not ended.
std::size_t connections_held(const Member& member) {
  const std::string port = member.address.substr(member.address.rfind(':') + 1);
  std::size_t held = 0;
  for (int fd = 0; fd < 20'000; ++fd) {
    sockaddr_in own{}, other{};
    socklen_t size = sizeof own, other_size = sizeof other;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        own.sin_family == AF_INET && ntohs(own.sin_port) == std::stoi(port) &&
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_size) == 0)
      ++held;
  }
  return held;
}

// A stranger holds 1,500 connections and says nothing: those above the bound are ended at once, the
// oldest first, and members still get in.
TEST(Hostile, IdleConnectionsAreBoundedAndLeaveRoomForMembers) {
  World world("zeromq");
  const Member& target = world.net.members()[0];
  std::vector<int> idle;
  for (int i = 0; i < 1500; ++i) {
    idle.push_back(connect_to(target));
    ASSERT_GE(idle.back(), 0) << i;
  }
  const Instant opened = world.target->now();
  EXPECT_TRUE(await([&] { return world.refused("handshake") >= 1500 - 1024; }));
  EXPECT_LT(world.target->now() - opened, 5s);
  EXPECT_LE(connections_held(target), 1024u + 8);
  const auto late = world.net.start(1);
  EXPECT_TRUE(await([&] { return world.target->peer(1).alive() && late->peer(0).alive(); }));
  EXPECT_TRUE(world.still_works());
  // A handshake that goes on for two seconds is none.
  EXPECT_TRUE(await([&] { return connections_held(target) <= 8; }));
  for (const int fd : idle) ::close(fd);
}

// A member needs one connection to us. Twenty, each of which says hello: four are left.
TEST(Hostile, AMembersConnectionsAreBounded) {
  World world("zeromq");
  const ZeroMqOptions base = world.net.zeromq_options(1, world.net.options());
  std::vector<std::unique_ptr<Rascal>> rascals;
  for (int i = 0; i < 20; ++i) {
    ZeroMqOptions options = base;
    options.bind_address = "127.0.0.1:" + std::to_string(free_port());
    rascals.push_back(std::make_unique<Rascal>(make_zeromq_carrier(options)));
    rascals.back()->say_hello(world.net.options());
    ASSERT_TRUE(rascals.back()->await_answers(1)) << i;
  }
  EXPECT_TRUE(await([&] { return connections_held(world.net.members()[0]) <= 4 + 1; }));
  EXPECT_TRUE(rascals.front()->await_disconnection());
  EXPECT_EQ(rascals.back()->heard().disconnections, 0u);
  EXPECT_TRUE(world.still_works());
}

TEST(Hostile, ARemovedMembersConnectionIsClosed) {
  World world("zeromq");
  Rascal rascal(world.net.start_raw(1));
  rascal.say_hello(world.net.options());
  ASSERT_TRUE(rascal.await_answers(1));
  std::vector<Member> left = world.net.members();
  left.erase(left.begin() + 1);
  world.target->set_members(left);
  EXPECT_TRUE(rascal.await_disconnection());
  EXPECT_TRUE(world.still_works());
}

// Forwards connections to a member, and breaks all of them when told.
class BreakingProxy {
 public:
  BreakingProxy(int port, Member target) : target_(std::move(target)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(listener_, 16) == 0);
    thread_ = std::thread([this] { run(); });
  }
  ~BreakingProxy() {
    stop_ = true;
    thread_.join();
    close_all();
    ::close(listener_);
  }
  void break_all() { break_ = true; }
  std::size_t forwarded() const { return forwarded_; }

 private:
  void run() {
    while (!stop_) {
      if (break_.exchange(false)) close_all();
      std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
      for (const auto& [from, to] : pairs_) polled.push_back({from, POLLIN, 0});
      ::poll(polled.data(), polled.size(), 5);
      if ((polled[0].revents & POLLIN) != 0) accept_one();
      for (std::size_t i = 1; i < polled.size(); ++i)
        if (polled[i].revents != 0 && !forward(pairs_[i - 1])) return close_all(), run();
    }
  }
  void accept_one() {
    const int client = ::accept(listener_, nullptr, nullptr);
    const int server = connect_to(target_);
    if (server < 0) {
      ::close(client);
      return;
    }
    pairs_.emplace_back(client, server);
    pairs_.emplace_back(server, client);
  }
  bool forward(std::pair<int, int> pair) {
    std::array<char, 4096> buffer{};
    const auto count = ::recv(pair.first, buffer.data(), buffer.size(), 0);
    if (count <= 0) return false;
    forwarded_ += static_cast<std::size_t>(count);
    return ::send(pair.second, buffer.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) ==
           count;
  }
  void close_all() {
    for (const auto& [from, to] : pairs_) ::close(from);
    pairs_.clear();
  }

  Member target_;
  int listener_ = -1;
  std::vector<std::pair<int, int>> pairs_;  // Each connection twice, once per direction.
  std::atomic<bool> stop_ = false, break_ = false;
  std::atomic<std::size_t> forwarded_ = 0;
  std::thread thread_;
};

// Node 0 reaches node 1 by way of a proxy that breaks the connection every 300 kB: twenty messages
// of 200 kB still come once, whole and in order.
TEST(Hostile, AConnectionThatBreaksAgainAndAgainLosesNothing) {
  TransportOptions options = quick();
  options.chunk_bytes_max = 16'384;
  options.in_flight_bytes_max = 100'000;
  TestNetwork net("zeromq", 2, options);
  const int port = free_port();
  BreakingProxy proxy(port, net.members()[1]);
  ZeroMqOptions detour = net.zeromq_options(0, options);
  detour.members[1].address = "127.0.0.1:" + std::to_string(port);
  const auto sender = make_zeromq_transport(detour);
  const auto receiver = net.start(1);
  for (std::size_t i = 0; i < 20; ++i) ASSERT_TRUE(sender->send(1, random_message(200'000 + i)));
  std::size_t broken_at = 0;
  for (std::size_t i = 0; i < 20;) {
    if (proxy.forwarded() > broken_at + 300'000) {
      broken_at = proxy.forwarded();
      proxy.break_all();
    }
    const std::optional<Incoming> incoming = receiver->receive(10ms);
    if (!incoming) {
      ASSERT_LT(receiver->now() - Instant{}, kPatience) << i << " arrived";
      continue;
    }
    ASSERT_EQ(incoming->bytes, *random_message(200'000 + i)) << i;
    ++i;
  }
  EXPECT_GE(sender->peer(1).connections, 3u);
}

}  // namespace
}  // namespace tessera
