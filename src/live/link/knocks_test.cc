// Who may knock, and that a guest can do nothing else.
#include "live/link/knocks.h"

#include <gtest/gtest.h>

#include <atomic>

#include "live/link/fleet_asker.h"
#include "live/link/frame.h"
#include "live/link/testing.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

Knock a_knock() {
  return {make_key_pair().public_key, "10.0.0.2:5555"};
}

TEST(Knocks, AFrameIsAKnockOrAnAnswerOrNeither) {
  const Knock knock = a_knock();
  const Bytes frame = encode_knock(knock);
  EXPECT_TRUE(is_knock(frame));
  EXPECT_EQ(*decode_knock(frame), knock);
  for (std::size_t length = 0; length < 46; ++length)
    EXPECT_FALSE(decode_knock(ByteSpan(frame).first(length)).ok()) << length;
  Bytes longest = encode_knock({knock.public_key, std::string(255, 'a')});
  EXPECT_TRUE(is_knock(longest));
  longest.push_back(std::byte{'a'});
  EXPECT_FALSE(is_knock(longest));
  Bytes newer = frame;
  newer[4] = std::byte{9};
  EXPECT_EQ(decode_knock(newer).error().kind, "knock");
  EXPECT_FALSE(is_knock(encode_question()));
  EXPECT_FALSE(is_question(frame));

  const KnockAnswer answer{KnockStanding::kAccepted, "nodes = 3\n", "next_id = 3\n"};
  const Bytes told = encode_knock_answer(answer);
  EXPECT_EQ(*decode_knock_answer(told), answer);
  for (std::size_t length = 0; length < 11 + answer.experiment.size(); ++length)
    EXPECT_FALSE(decode_knock_answer(ByteSpan(told).first(length)).ok()) << length;
  EXPECT_EQ(decode_knock_answer(frame).error().kind, "kind");
  EXPECT_FALSE(
      decode_knock_answer(encode_knock_answer({.roster = std::string(kRosterTextMax + 1, 'a')})));
  EXPECT_FALSE(decode_knock_answer(
      encode_knock_answer({.experiment = std::string(kExperimentTextMax + 1, 'a')})));
}

TEST(Knocks, AGuestWhoKnocksTooOftenIsAnsweredLessOften) {
  Knocks knocks;
  knocks.answer_with([](std::string_view, ByteSpan) { return KnockAnswer(); });
  const Bytes frame = encode_knock(a_knock());
  std::size_t taken = 0;
  for (Instant now(1s); now < Instant(2s); now += 1ms) taken += knocks.take(now, "a", "r", frame);
  EXPECT_EQ(taken, 12u);  // 8 at once, and 5 a second.
  EXPECT_TRUE(knocks.take(Instant(2s), "b", "s", frame));
  EXPECT_EQ(knocks.answer().size(), taken + 1);
  EXPECT_TRUE(knocks.answer().empty());
  knocks.answer_with({});
  EXPECT_TRUE(knocks.take(Instant(9s), "a", "r", frame));
  EXPECT_TRUE(knocks.answer().empty());
}

// A member at whose door somebody is invited.
struct Inviting {
  Inviting() {
    nodes.push_back(net.start(0)), nodes.push_back(net.start(1));
    nodes[0]->set_guests(std::vector<std::string>{guest.public_key});
    nodes[0]->answer_knocks_with([this](std::string_view key, ByteSpan frame) {
      EXPECT_EQ(key, guest.public_key);
      EXPECT_TRUE(decode_knock(frame).ok());
      ++knocks;
      return KnockAnswer{.experiment = "nodes = 3\n"};
    });
    nodes[0]->answer_with([] { return "fine"; });
  }
  std::uint64_t refused(std::string_view word) const {
    const WordCounts refusals = nodes[0]->refusals();
    const auto found = refusals.find(word);
    return found == refusals.end() ? 0 : found->second;
  }
  Result<Bytes> ask(const KeyPair& keys, ByteSpan question, Duration patience) const {
    FleetAsker asker(keys, std::vector<Member>{net.members()[0]});
    return asker.ask(question, patience).at(0).frame;
  }

  KeyPair guest = make_key_pair();
  TestNetwork net{"zeromq", 2, quick()};
  std::vector<std::unique_ptr<Transport>> nodes;
  std::atomic<int> knocks = 0;
};

TEST(Guest, IsAnsweredAndAStrangerIsNot) {
  Inviting inviting;
  const Bytes knock = encode_knock(a_knock());
  Result<Bytes> answer = Error{};
  ASSERT_TRUE(await([&] { return (answer = inviting.ask(inviting.guest, knock, 2s)).ok(); }));
  EXPECT_EQ(decode_knock_answer(*answer)->experiment, "nodes = 3\n");
  EXPECT_FALSE(inviting.ask(make_key_pair(), knock, 500ms).ok());
  EXPECT_GE(inviting.refused("unknown-key"), 1u);
  // Nor may one who was taken off the list.
  inviting.nodes[0]->set_guests({});
  EXPECT_TRUE(await([&] { return !inviting.ask(inviting.guest, knock, 300ms).ok(); }));
}

// Frames of links, a question, a knock that is too long: each is refused by name, its connection
// ended, and nothing of it reaches a node.
TEST(Guest, CanDoNothingButKnock) {
  Inviting inviting;
  ASSERT_TRUE(
      await([&] { return inviting.ask(inviting.guest, encode_knock(a_knock()), 2s).ok(); }));
  const int knocks = inviting.knocks;
  Bytes too_long = encode_knock({a_knock().public_key, std::string(255, 'a')});
  too_long.resize(100'000);
  const Bytes payload(100);
  std::uint64_t refused = inviting.refused("guest");
  for (const Bytes& word : {encode(Hello{.run = 42, .dimension = 1000, .session = 5}),
                            encode(Chunk{1, payload.size(), 0, payload}), encode(Heartbeat{}),
                            encode_question(), too_long, Bytes(5), Bytes(300)}) {
    EXPECT_EQ(inviting.ask(inviting.guest, word, 5s).error().kind, "unreachable");
    EXPECT_EQ(inviting.refused("guest"), ++refused);
  }
  EXPECT_EQ(inviting.knocks, knocks);
  EXPECT_EQ(inviting.nodes[0]->peers().size(), 1u);
  const auto message = random_message(1000);
  inviting.nodes[1]->send(0, message);
  const std::optional<Incoming> incoming = await_message(*inviting.nodes[0]);
  EXPECT_TRUE(incoming && incoming->bytes == *message) << "members talk as before";
}

TEST(Guest, AFloodOfKnocksIsBoundedAndCounted) {
  Inviting inviting;
  const Bytes knock = encode_knock(a_knock());
  ZeroMqOptions options = inviting.net.zeromq_options(1, quick());
  options.keys = inviting.guest;  // In its own roster only.
  options.members[1].public_key = inviting.guest.public_key;
  options.bind_address = "127.0.0.1:" + std::to_string(free_port());
  const std::unique_ptr<Carrier> flood = make_zeromq_carrier(options);
  struct : CarrierEvents {
    void on_answer(NodeId, ByteSpan) override {}
    void on_frame(NodeId, std::string_view, ByteSpan) override {}
    void on_disconnected(NodeId, std::string_view) override {}
    void on_refused(std::string_view) override {}
  } deaf;
  flood->connect(0);
  const SteadyClock clock;
  EXPECT_TRUE(await([&] {
    for (int i = 0; i < 100; ++i) flood->send(0, knock, {});
    flood->wait(1ms), flood->collect(deaf);
    return inviting.refused("asked-too-often") > 1000;
  }));
  const double seconds = to_seconds(clock.now() - Instant{});
  EXPECT_LE(inviting.knocks, 8 + 5 * (seconds + 1));
}

}  // namespace
}  // namespace tessera
