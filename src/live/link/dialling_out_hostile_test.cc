// A member that is dialled by node 0 and says on that connection whatever it likes. Node 0 dials
// out, so it takes statements there; it must hold no more for them than for those on a peer's own
// connection, and go on talking to node 2, which keeps the rules.
#include <gtest/gtest.h>

#include <zmq.hpp>

#include "live/link/frame.h"
#include "live/link/testing.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

// Node 1: listens, or dials out, and says everything by hand.
class Host final : CarrierEvents {
 public:
  explicit Host(std::unique_ptr<Carrier> carrier, bool dials = false)
      : carrier_(std::move(carrier)), dials_(dials) {
    if (dials) carrier_->connect(0);
  }

  bool await_frames(std::size_t count) {
    return await([&] { return turn(), frames.size() >= count; });
  }
  bool say(const Bytes& frame) {
    turn();
    return say_without_reading(frame);
  }
  bool say_without_reading(const Bytes& frame) {
    if (dials_) return carrier_->send(0, frame, {}), true;
    return carrier_->answer(route_, frame);
  }
  void say_hello(const TransportOptions& options) {
    say(encode(Hello{.run = options.run, .dimension = options.dimension, .session = 5}));
  }
  void turn() {
    carrier_->wait(Duration(0));
    carrier_->collect(*this);
  }
  std::vector<Bytes> frames{};  // What node 0 has said, answers among it.
  // Of node 0, once it has said hello.
  std::optional<std::uint64_t> session() const {
    for (const Bytes& frame : frames)
      if (const Result<Frame> hello = decode_frame(frame);
          hello.ok() && std::holds_alternative<Hello>(*hello))
        return std::get<Hello>(*hello).session;
    return std::nullopt;
  }

 private:
  void on_answer(NodeId, ByteSpan frame) override {
    frames.emplace_back(frame.begin(), frame.end());
  }
  void on_frame(NodeId from, std::string_view route, ByteSpan frame) override {
    if (from != 0) return;
    route_ = route;
    frames.emplace_back(frame.begin(), frame.end());
  }
  void on_disconnected(NodeId, std::string_view) override {}
  void on_refused(std::string_view) override {}

  std::unique_ptr<Carrier> carrier_;
  bool dials_;
  std::string route_;
};

class HostileHost : public testing::TestWithParam<std::string_view> {
 protected:
  void start(bool dials_out, const TransportOptions& options = quick()) {
    options_ = options;
    network_ = make_test_network(GetParam(), 3, options);
    if (dials_out) network_->dial_out(0);
    host_ = std::make_unique<Host>(network_->start_raw(1));
    friend_ = network_->start(2);
    target_ = network_->start(0);
    ASSERT_TRUE(host_->await_frames(1));  // Its hello.
    host_->say(encode(Welcome{.session = *host_->session(), .next = 1, .window = 1 << 20}));
  }
  std::uint64_t refused(std::string_view word) const {
    const WordCounts all = target_->refusals();
    const auto found = all.find(word);
    return found == all.end() ? 0 : found->second;
  }
  void expect_still_works() {
    const auto message = random_message(100'000);
    ASSERT_TRUE(friend_->send(0, message));
    std::optional<Incoming> incoming;
    while ((incoming = await_message(*target_)) && incoming->from != 2) {
    }
    ASSERT_TRUE(incoming);
    EXPECT_EQ(incoming->bytes, *message);
  }

  TransportOptions options_;
  std::unique_ptr<TestNetwork> network_;
  std::unique_ptr<Host> host_;
  std::unique_ptr<Transport> friend_, target_;
};

TEST_P(HostileHost, WhoCanBeConnectedToTakesNoStatementsOnItsOwnConnection) {
  start(false);
  host_->say_hello(options_);
  host_->say(encode(Chunk{.number = 1, .total = 1, .offset = 0, .payload = Bytes(1)}));
  EXPECT_TRUE(await([&] { return refused("direction") == 2; }));
  EXPECT_EQ(target_->peer(1).in.messages, 0u);
  expect_still_works();
}

TEST_P(HostileHost, StatementsWithoutAHelloAndNoiseAreRefusedByName) {
  start(true);
  const Bytes payload(100);
  const Bytes chunk = encode(Chunk{.number = 1, .total = 100, .offset = 0, .payload = payload});
  host_->say(chunk);
  EXPECT_TRUE(await([&] { return refused("no-hello") == 1; }));
  host_->say_hello(options_);
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    Bytes noise = chunk;
    noise.resize(random.below(noise.size() + 1));
    for (int flips = 0; flips < 3 && !noise.empty(); ++flips)
      noise[random.below(noise.size())] ^= static_cast<std::byte>(random.bits());
    host_->say(noise);
  }
  EXPECT_TRUE(await([&] { return refused("truncated") > 0; }));
  expect_still_works();
}

TEST_P(HostileHost, AFloodFillsItsShareAndNoMore) {
  TransportOptions options = quick();
  options.message_bytes_max = 100'000;
  options.held_bytes_extra = 100'000;
  start(true, options);
  host_->say_hello(options_);
  const Bytes payload(10'000);
  std::uint64_t number = 0;
  EXPECT_TRUE(await([&] {
    ++number;
    host_->say(encode(Chunk{number, payload.size(), 0, payload}));
    return refused("flood") > 0;
  }));
  EXPECT_LE(target_->peer(1).in.held_bytes, options.held_bytes_max());
  expect_still_works();
}

TEST_P(HostileHost, OneThatStopsAnsweringIsHungUpOn) {
  start(true);
  host_->say_hello(options_);
  EXPECT_TRUE(await([&] { return target_->peer(1).condition == PeerCondition::kSilent; }));
  expect_still_works();
}

INSTANTIATE_TEST_SUITE_P(Carriers, HostileHost, testing::Values("loopback", "zeromq"),
                         [](const auto& test) { return std::string(test.param); });

// Node 1 once more, with nothing but ZeroMQ: it answers the first hello with one message of many
// parts, each as long as `target` takes.
void answer_in_parts(const ZeroMqOptions& options, std::size_t bytes, std::size_t part_bytes) {
  zmq::context_t context;
  zmq::socket_t router(context, zmq::socket_type::router);
  router.set(zmq::sockopt::curve_server, true);
  router.set(zmq::sockopt::curve_secretkey, options.keys.secret_key);
  router.set(zmq::sockopt::linger, 20'000);
  router.set(zmq::sockopt::rcvtimeo, 20'000);
  router.bind("tcp://" + options.members[options.self].address);
  zmq::message_t route, hello, part(std::string(part_bytes, 'x'));
  ASSERT_TRUE(router.recv(route));
  ASSERT_TRUE(router.recv(hello));
  router.send(route, zmq::send_flags::sndmore);
  for (std::size_t sent = 0; sent < bytes; sent += part_bytes) {
    zmq::message_t copy;
    copy.copy(part);  // The same bytes.
    router.send(copy, zmq::send_flags::sndmore);
  }
  router.send(part, zmq::send_flags::none);
}

// 512 MiB in one message, by a member we have dialled: it is hung up on before the message is
// whole, by name, and node 2 is heard. Once where answers alone are taken, and once where
// all is.
TEST(HostileHostOverZeroMq, AMessageOfTooManyPartsIsNotWaitedFor) {
  TransportOptions options = quick();
  options.heartbeat.silence_max = kPatience;  // However long it takes to send so much.
  for (const bool dials_out : {false, true}) {
    const auto network = make_test_network("zeromq", 3, options);
    if (dials_out) network->dial_out(0);
    const auto target = network->start(0);
    answer_in_parts(network->zeromq_options(1, quick()), 512 << 20, dials_out ? 1 << 20 : 4000);
    EXPECT_TRUE(await([&] { return target->refusals().contains("endless"); })) << dials_out;
    EXPECT_EQ(target->peer(1).condition, PeerCondition::kRefused);
    EXPECT_EQ(target->peer(1).reason, "we refuse it: it sent a message without an end");
    EXPECT_FALSE(target->refusals().contains("multipart"));
    const auto other = network->start(2);
    ASSERT_TRUE(other->send(0, random_message(100'000)));
    EXPECT_EQ(await_message(*target)->from, 2u);
  }
}

// Node 1 confirms what it is told without reading it, on the connection that node 0 has made and on
// one of its own. It is told more than 64 MiB, and no more than 256.
TEST(HostileHostOverZeroMq, OneThatConfirmsWhatItDoesNotReadIsHungUpOn) {
  for (const bool dials : {false, true}) {
    const auto network = make_test_network("zeromq", 3, quick());
    if (dials) network->dial_out(1);
    const auto target = network->start(0), other = network->start(2);
    Host host(network->start_raw(1), dials);
    if (dials) host.say_hello(quick());
    ASSERT_TRUE(await([&] { return host.turn(), host.session().has_value(); })) << dials;
    host.say(encode(Welcome{.session = *host.session(), .next = 1, .window = ~0ull}));
    std::uint64_t chunk = 1, confirmed = 0;
    const auto message = random_message(1 << 20);
    EXPECT_TRUE(await([&] {
      const OutgoingState out = target->peer(1).out;
      if (out.queued < 8) target->send(1, message);
      if (out.confirmed_bytes > confirmed) ++chunk;
      confirmed = out.confirmed_bytes;
      host.say_without_reading(encode(Ack{*host.session(), chunk, chunk, 0}));
      return target->refusals().contains("unread") || confirmed > (256 << 20);
    }));
    EXPECT_TRUE(target->refusals().contains("unread")) << dials;
    EXPECT_EQ(target->peer(1).reason, "we refuse it: it does not read what it is told");
    ASSERT_TRUE(other->send(0, random_message(100'000)));
    EXPECT_EQ(await_message(*target)->from, 2u);
  }
}

// ZeroMQ itself ends a connection on which more comes than a chunk.
TEST(HostileHostOverZeroMq, AFrameLongerThanAChunkEndsTheConnection) {
  const auto network = make_test_network("zeromq", 2, quick());
  network->dial_out(0);
  Host host(network->start_raw(1));
  const auto target = network->start(0);
  ASSERT_TRUE(host.await_frames(1));
  const std::size_t before = host.frames.size();
  host.say(Bytes(kChunkBytesMax + 5000));
  ASSERT_TRUE(host.await_frames(before + 1));  // The hello of its next connection.
  EXPECT_EQ(target->peer(1).in.bytes, 0u);
}

}  // namespace
}  // namespace tessera
