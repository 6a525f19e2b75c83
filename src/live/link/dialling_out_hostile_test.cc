// A member that is dialled by node 0 and says on that connection whatever it likes. Node 0 dials
// out, so it takes statements there; it must hold no more for them than for those on a peer's own
// connection, and go on talking to node 2, which keeps the rules.
#include <gtest/gtest.h>

#include "live/link/frame.h"
#include "live/link/testing.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

// Node 1: listens, and answers by hand.
class Host final : CarrierEvents {
 public:
  explicit Host(std::unique_ptr<Carrier> carrier) : carrier_(std::move(carrier)) {}

  bool await_frames(std::size_t count) {
    return await([&] { return turn(), frames.size() >= count; });
  }
  bool say(const Bytes& frame) {
    turn();
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

 private:
  void on_answer(NodeId, ByteSpan) override {}
  void on_frame(NodeId from, std::string_view route, ByteSpan frame) override {
    if (from != 0) return;
    route_ = route;
    frames.emplace_back(frame.begin(), frame.end());
  }
  void on_disconnected(NodeId, std::string_view) override {}
  void on_refused(std::string_view) override {}

  std::unique_ptr<Carrier> carrier_;
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
    host_->say(encode(Welcome{.session = session(), .next = 1, .window = 1 << 20}));
  }
  std::uint64_t session() const {
    const Result<Frame> hello = decode_frame(host_->frames.front());
    return std::get<Hello>(*hello).session;
  }
  std::uint64_t refused(std::string_view word) const {
    const Refusals all = target_->refusals();
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
