// The rules of a link, without sockets or threads: frames as bytes, limits on both ends, and two
// links over a wire that breaks at random.
#include "live/link/link.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/random.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

Bytes payload_of(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  Random random(seed);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());
  return bytes;
}

std::shared_ptr<const Bytes> shared(std::size_t size, std::uint64_t seed = 1) {
  return std::make_shared<const Bytes>(payload_of(size, seed));
}

// ---- frames

std::vector<Frame> one_of_each(ByteSpan payload) {
  return {Hello{.run = 7, .dimension = 1000, .session = 9, .oldest = 3, .agreement = "a = b\n"},
          Reject{RejectReason::kAgreement, "a = c\n"},
          Welcome{.session = 9, .next = 4, .window = 1 << 20},
          Reject{RejectReason::kDimension},
          Chunk{.number = 5, .total = 100, .offset = 60, .payload = payload},
          Ack{.session = 9, .received = 5, .released = 2},
          Heartbeat{},
          Goodbye{},
          Rest{}};
}

TEST(Frame, EveryKindComesBackAndEveryTruncationIsRefused) {
  const Bytes payload = payload_of(40, 1);
  for (const Frame& frame : one_of_each(payload)) {
    const Bytes bytes = encode(frame);
    const Result<Frame> decoded = decode_frame(bytes);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->index(), frame.index());
    EXPECT_EQ(encode(*decoded), bytes);
    // A chunk cut within its payload is a shorter chunk, which Inbox sees.
    const bool is_chunk = std::holds_alternative<Chunk>(frame);
    for (std::size_t length = 0; length < (is_chunk ? 25 : bytes.size()); ++length) {
      const Result<Frame> cut = decode_frame(ByteSpan(bytes).first(length));
      ASSERT_FALSE(cut) << frame.index() << " of " << length;
      EXPECT_EQ(cut.error().kind, "truncated");
    }
    Bytes longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_EQ(decode_frame(longer).ok(), is_chunk);
  }
}

TEST(Frame, WhatIsNotOursIsNamed) {
  EXPECT_EQ(decode_frame({}).error().kind, "truncated");
  EXPECT_EQ(decode_frame(Bytes(1, std::byte{77})).error().kind, "kind");
  Bytes hello = encode(Hello{});
  hello[1] ^= std::byte{1};
  EXPECT_EQ(decode_frame(hello).error().kind, "magic");
  Bytes reject = encode(Reject{});
  reject[1] = std::byte{9};
  EXPECT_EQ(decode_frame(reject).error().kind, "reason");
  const std::string text(Agreement::kBytesMax + 1, 'a');
  EXPECT_EQ(decode_frame(encode(Hello{.agreement = text})).error().kind, "oversized");
  EXPECT_EQ(decode_frame(encode(Reject{RejectReason::kAgreement, text})).error().kind, "oversized");
  const Bytes large(kChunkBytesMax + 1);
  EXPECT_EQ(decode_frame(encode(Chunk{1, large.size(), 0, large})).error().kind, "oversized");
}

// An older one is shorter and has no agreement.
TEST(Frame, OfAHelloOfAnotherVersionOnlyThatIsRead) {
  Bytes older = encode(Hello{.run = 7, .session = 9});
  older[5] = std::byte{3};
  older.resize(39);
  const Result<Frame> decoded = decode_frame(older);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<Hello>(*decoded).version, 3);
}

// ---- receiving: messages of 1000 bytes at most, 1500 held at most

Inbox small_inbox() {
  Inbox inbox({.message_bytes_max = 1000, .held_bytes_max = 1500});
  inbox.greet(1, 1);
  return inbox;
}

TEST(Inbox, ChunksAreJoinedAndReleasedWhenTaken) {
  Inbox inbox = small_inbox();
  const Bytes bytes = payload_of(250, 2);
  const ByteSpan all(bytes);
  EXPECT_EQ(inbox.add({1, 250, 0, all.first(100)}), "");
  EXPECT_EQ(inbox.add({2, 250, 100, all.subspan(100, 100)}), "");
  EXPECT_FALSE(inbox.take());
  EXPECT_EQ(inbox.add({3, 250, 200, all.subspan(200)}), "");
  EXPECT_EQ(inbox.add({4, 0, 0, {}}), "");
  EXPECT_EQ(inbox.received(), 4u);
  EXPECT_EQ(inbox.released(), 0u);
  EXPECT_EQ(inbox.held_bytes(), 250 + 4 * kChunkCharge);
  EXPECT_EQ(*inbox.take(), bytes);
  EXPECT_EQ(inbox.released(), 3u);
  EXPECT_EQ(inbox.take()->size(), 0u);
  EXPECT_EQ(inbox.released(), 4u);
  EXPECT_EQ(inbox.held_bytes(), 0u);
}

TEST(Inbox, EveryFaultHasItsNameAndLeavesNothingBehind) {
  const Bytes bytes(2000);
  const ByteSpan all(bytes);
  Inbox inbox = small_inbox();
  EXPECT_EQ(inbox.add({1, 10, 0, all.first(10)}), "");
  EXPECT_EQ(inbox.add({1, 10, 0, all.first(10)}), "replayed");
  EXPECT_EQ(inbox.add({3, 10, 0, all.first(10)}), "gap");
  EXPECT_EQ(inbox.add({2, 1001, 0, all.first(10)}), "oversized");
  EXPECT_EQ(inbox.add({3, 1001, 10, all.first(10)}), "");  // The rest of it is not counted again.
  EXPECT_EQ(inbox.add({4, 10, 0, all.first(11)}), "chunk");
  EXPECT_EQ(inbox.add({5, 10, 0, {}}), "chunk");
  EXPECT_EQ(inbox.add({6, 100, 0, all.first(50)}), "");
  EXPECT_EQ(inbox.add({7, 100, 40, all.first(60)}), "chunk");  // Where 50 is due.
  EXPECT_EQ(inbox.add({8, 100, 0, all.first(50)}), "");
  EXPECT_EQ(inbox.add({9, 200, 50, all.first(50)}), "chunk");  // Of another length.
  EXPECT_EQ(inbox.add({10, 100, 0, all.first(50)}), "");
  EXPECT_EQ(inbox.add({11, 20, 0, all.first(20)}), "interleaved");
  EXPECT_EQ(inbox.add({12, 100, ~0ull, all.first(50)}), "chunk");
  EXPECT_EQ(inbox.take()->size(), 10u);
  EXPECT_EQ(inbox.take()->size(), 20u);
  EXPECT_FALSE(inbox.take());
  EXPECT_EQ(inbox.held_bytes(), 0u);
}

TEST(Inbox, AFloodIsRefusedAndForgottenOnceThereIsRoom) {
  Inbox inbox = small_inbox();
  const Bytes bytes(600);
  EXPECT_EQ(inbox.add({1, 600, 0, bytes}), "");
  EXPECT_EQ(inbox.add({2, 600, 0, bytes}), "");
  for (std::uint64_t number = 3; number < 1000; ++number) {
    EXPECT_EQ(inbox.add({number, 600, 0, bytes}), "flood");
    EXPECT_LE(inbox.held_bytes(), 1500u);
  }
  EXPECT_TRUE(inbox.take());
  EXPECT_EQ(inbox.add({1000, 600, 0, bytes}), "");
}

TEST(Inbox, ANewSessionBeginsAfreshAndAKnownOneGoesOn) {
  Inbox inbox = small_inbox();
  const Bytes bytes(100);
  inbox.add({1, 100, 0, bytes});
  inbox.add({2, 200, 0, bytes});
  EXPECT_EQ(inbox.greet(1, 2), 0u);
  EXPECT_EQ(inbox.expected(), 3u);
  EXPECT_EQ(inbox.add({3, 200, 100, bytes}), "");
  EXPECT_EQ(inbox.greet(2, 17), 2u);  // Both waited untaken.
  EXPECT_EQ(inbox.expected(), 17u);
  EXPECT_EQ(inbox.held_bytes(), 0u);
}

// ---- sending: chunks of 100 bytes, 500 in flight

Outbox small_outbox(QueuePolicy policy = QueuePolicy::kBackPressure) {
  return Outbox({.queue = {.policy = policy, .bytes_max = 1000},
                 .in_flight_bytes_max = 500,
                 .chunk_bytes_max = 100});
}

TEST(Outbox, StopsAtTheLimitAndGoesOnWhenConfirmed) {
  Outbox outbox = small_outbox();
  outbox.push(shared(950));  // Ten chunks, of 164 each and the last of 114.
  for (std::uint64_t number : {1, 2, 3}) EXPECT_EQ(outbox.next()->number, number);
  EXPECT_FALSE(outbox.next());
  EXPECT_EQ(outbox.unconfirmed_bytes(), 3 * (100 + kChunkCharge));
  EXPECT_TRUE(outbox.confirm(1, 0));
  EXPECT_EQ(outbox.next()->offset, 300u);
  EXPECT_FALSE(outbox.next());
  EXPECT_FALSE(outbox.confirm(5, 0));  // Never sent.
  EXPECT_FALSE(outbox.confirm(2, 3));  // Released before it was received.
  EXPECT_TRUE(outbox.confirm(0, 0));   // Old news.
  EXPECT_EQ(outbox.unconfirmed_bytes(), 3 * (100 + kChunkCharge));
}

// Everything came, and the word of it was lost with the connection: the welcome says as much.
TEST(Outbox, AWelcomeConfirmsToo) {
  Outbox outbox = small_outbox();
  outbox.push(shared(150));
  EXPECT_TRUE(outbox.next() && outbox.next() && !outbox.next());
  EXPECT_TRUE(outbox.resume(3, 1000));
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(outbox.messages_confirmed(), 1u);
  outbox.push(shared(50));
  EXPECT_EQ(outbox.next()->number, 3u);
}

TEST(Outbox, ControlIsNeitherDroppedNorCounted) {
  for (const QueuePolicy policy : {QueuePolicy::kNewestWins, QueuePolicy::kBackPressure}) {
    Outbox outbox = small_outbox(policy);  // Its queue has room for 1,000 bytes.
    outbox.push(shared(80), MessageClass::kControl);
    for (int i = 0; i < 20; ++i) outbox.push(shared(90));
    outbox.push(shared(70), MessageClass::kControl);
    outbox.drop_unsent();
    EXPECT_EQ(outbox.queue().size(), 2u);
    EXPECT_EQ(outbox.queue().bytes(), 150u);
    EXPECT_EQ(outbox.next()->payload.size(), 80u);
    EXPECT_EQ(outbox.next()->payload.size(), 70u);
    EXPECT_EQ(outbox.messages_begun(), 0u);
    outbox.push(shared(60));
    EXPECT_TRUE(outbox.next());
    EXPECT_EQ(outbox.messages_begun(), 1u);
    EXPECT_EQ(outbox.bytes_begun(), 60u);
  }
}

TEST(Outbox, TheReceiversWindowHolds) {
  Outbox outbox = small_outbox();
  EXPECT_TRUE(outbox.resume(1, 400));
  for (int i = 0; i < 5; ++i) outbox.push(shared(100));
  EXPECT_TRUE(outbox.next());
  EXPECT_TRUE(outbox.next());
  EXPECT_TRUE(outbox.confirm(2, 0));
  EXPECT_FALSE(outbox.next());  // Two held take 328 of 400.
  EXPECT_TRUE(outbox.confirm(2, 1));
  EXPECT_TRUE(outbox.next());
}

// A peer that says it will hold anything, and releases nothing, is not given more than agreed: what
// it has not released is remembered here.
TEST(Outbox, ABoundlessWindowIsNotBelieved) {
  Outbox outbox({.queue = {.bytes_max = 1000},
                 .in_flight_bytes_max = 500,
                 .chunk_bytes_max = 100,
                 .peer_holds_max = 400});
  EXPECT_TRUE(outbox.resume(1, ~0ull));
  std::uint64_t sent = 0;
  for (int i = 0; i < 50; ++i) {
    outbox.push(shared(100));
    if (!outbox.next()) continue;
    EXPECT_TRUE(outbox.confirm(++sent, 0));
  }
  EXPECT_EQ(sent, 2u);
}

TEST(Outbox, AMessageOfWhichNothingWasSentCanBeDropped) {
  Outbox outbox = small_outbox();
  outbox.push(shared(300));
  outbox.push(shared(200));
  EXPECT_TRUE(outbox.next());
  outbox.drop_unsent();
  EXPECT_EQ(outbox.queue().superseded(), 1u);
  EXPECT_EQ(outbox.next()->offset, 100u);  // What was begun is finished.
  EXPECT_EQ(outbox.next()->offset, 200u);
  outbox.confirm(3, 3);
  EXPECT_FALSE(outbox.next());
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(outbox.messages_confirmed(), 1u);
}

TEST(Outbox, APeerThatRestartedGetsTheMessageFromItsBeginning) {
  Outbox outbox = small_outbox();
  outbox.push(shared(50));
  outbox.push(shared(250));
  for (int i = 0; i < 3; ++i) outbox.next();
  outbox.confirm(2, 1);
  EXPECT_EQ(outbox.oldest(), 2u);  // The first chunk of the second message.
  EXPECT_FALSE(outbox.resume(1, 10'000));
  EXPECT_TRUE(outbox.resume(2, 10'000));
  EXPECT_EQ(outbox.next()->offset, 0u);
  EXPECT_EQ(outbox.next()->offset, 100u);
}

// ---- deadlines

TEST(Arrivals, RegularHeartbeatsEarnATightDeadlineAndWildOnesALooseOne) {
  const HeartbeatOptions options{100ms, 4, 150ms, 10s};
  Arrivals regular(options), wild(options);
  Random random(1);
  Instant at{}, wild_at{};
  for (int i = 0; i < 200; ++i) {
    regular.heartbeat(at += 100ms);
    wild.heartbeat(wild_at += std::chrono::milliseconds(random.below(1000)));
  }
  EXPECT_EQ(regular.deadline(), Duration(150ms));  // The floor.
  EXPECT_GT(wild.deadline(), Duration(1s));
  EXPECT_LE(wild.deadline(), Duration(10s));
}

// ---- two links over a wire that breaks

// The connection `speaker` made: what it said and what was answered, in order.
struct Wire {
  Link& speaker;
  Link& listener;
  std::deque<Bytes> said{}, answered{};
  int made = 0;

  void connect_if_wanted(Instant now) {
    if (speaker.wants_hang_up(now)) break_off(now);
    if (!speaker.wants_connection(now)) return;
    speaker.connect(now);
    ++made;
  }
  void break_off(Instant now) {
    if (!speaker.connected()) return;
    said.clear();
    answered.clear();
    speaker.disconnected(now, "broken by the test");
  }
  void speak(Instant now) {
    while (const std::optional<Frame> frame = speaker.next_frame(now))
      said.push_back(encode(*frame));
  }
  void deliver_one(Instant now) {
    if (!said.empty()) {
      listener.on_frame(now, std::to_string(made), said.front());
      said.pop_front();
    }
    // Answers to a connection that broke go nowhere.
    while (const std::optional<Answer> answer = listener.next_answer())
      if (speaker.connected() && answer->route == std::to_string(made))
        answered.push_back(encode(answer->frame));
    if (!answered.empty()) {
      speaker.on_answer(now, answered.front());
      answered.pop_front();
    }
  }
};

// 50 messages of up to 40 chunks each way, connections that break about every 60 frames: each
// message comes once, whole and in order, and nobody is accused of anything.
TEST(Link, EveryMessageArrivesOnceAndInOrderOverAWireThatBreaks) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    TransportOptions options;
    options.chunk_bytes_max = 1024;
    options.in_flight_bytes_max = 8'000;
    options.message_bytes_max = 40'000;
    options.held_bytes_extra = 10'000;
    options.queue_bytes_max = 10'000'000;
    WordCounts refusals;
    Link to_b({1, "b", "b:1", ""}, options, 11, refusals);
    Link to_a({0, "a", "a:1", ""}, options, 22, refusals);
    Wire ab{to_b, to_a}, ba{to_a, to_b};
    Random random(seed);
    std::vector<std::shared_ptr<const Bytes>> sent;
    for (std::size_t i = 0; i < 50; ++i) {
      sent.push_back(shared(random.below(40'000), i));
      ASSERT_TRUE(to_b.outbox().push(sent.back()));
      ASSERT_TRUE(to_a.outbox().push(sent.back()));
    }
    std::vector<Bytes> at_a, at_b;
    Instant now{};
    for (int step = 0; step < 200'000 && (at_a.size() < 50 || at_b.size() < 50); ++step) {
      now += 1ms;
      for (Wire* wire : {&ab, &ba}) {
        wire->connect_if_wanted(now);
        if (random.below(60) == 0) wire->break_off(now);
        wire->speak(now);
        wire->deliver_one(now);
      }
      if (random.below(3) == 0)
        if (std::optional<Bytes> message = to_a.take()) at_a.push_back(std::move(*message));
      if (random.below(3) == 0)
        if (std::optional<Bytes> message = to_b.take()) at_b.push_back(std::move(*message));
    }
    ASSERT_EQ(at_a.size(), 50u) << "seed " << seed;
    ASSERT_EQ(at_b.size(), 50u) << "seed " << seed;
    for (std::size_t i = 0; i < 50; ++i) {
      EXPECT_EQ(at_a[i], *sent[i]);
      EXPECT_EQ(at_b[i], *sent[i]);
    }
    EXPECT_GT(ab.made, 5);
    EXPECT_EQ(refusals, WordCounts{}) << "seed " << seed;
  }
}

// A peer whose heartbeats stop is silent after its deadline, and alive with the next one.
TEST(Link, SilenceIsNoticedAndForgiven) {
  TransportOptions options;
  WordCounts refusals;
  Link link({1, "b", "b:1", ""}, options, 11, refusals);
  Instant now{};
  link.on_frame(now, "r", encode(Hello{.session = 5}));
  EXPECT_TRUE(link.take_change());
  for (int i = 0; i < 100; ++i) {
    link.on_frame(now += 250ms, "r", encode(Heartbeat{}));
    link.tick(now);
  }
  EXPECT_TRUE(link.state().alive());
  EXPECT_FALSE(link.take_change());
  link.tick(now + link.state().deadline);
  EXPECT_TRUE(link.state().alive());
  now += link.state().deadline + 1ms;
  link.tick(now);
  EXPECT_EQ(link.state().condition, PeerCondition::kSilent);
  EXPECT_TRUE(link.take_change());
  link.on_frame(now, "r", encode(Heartbeat{}));
  EXPECT_TRUE(link.state().alive());
}

TEST(Link, AttemptsBackOffUpToTheCeiling) {
  TransportOptions options;
  WordCounts refusals;
  Link link({1, "b", "b:1", ""}, options, 11, refusals);
  Instant now{};
  Duration longest{};
  for (int attempt = 0; attempt < 20; ++attempt) {
    link.connect(now);
    link.disconnected(now, "refused");
    const Instant failed = now;
    while (!link.wants_connection(now)) now += 10ms;
    longest = std::max(longest, now - failed);
    if (attempt == 0) {
      EXPECT_LT(longest, 200ms);
    }
  }
  EXPECT_GT(longest, options.retry.pause_max / 2);
  EXPECT_LT(longest, options.retry.pause_max * 3 / 2);
}

// What a stranger to the rules says, each with the name it is counted by.
TEST(Link, EveryBreachIsCountedByName) {
  TransportOptions options;
  options.run = 1;
  options.dimension = 10;
  const Hello good{.run = 1, .dimension = 10, .session = 5};
  const auto with = [&](auto change) {
    Hello hello = good;
    change(hello);
    return encode(hello);
  };
  const Bytes payload(100);
  const std::vector<std::pair<std::string, Bytes>> breaches = {
      {"version", with([](Hello& h) { h.version = 99; })},
      {"run", with([](Hello& h) { h.run = 2; })},
      {"agreement", with([](Hello& h) { h.agreement = "model = another"; })},
      {"dimension", with([](Hello& h) { h.dimension = 11; })},
      {"magic", with([](Hello& h) { h.session = 0; })},
      {"magic", with([](Hello& h) { h.oldest = 0; })},
      {"direction", encode(Ack{5, 0, 0, 0})},
      {"direction", encode(Welcome{5, 1, 1})},
      {"gap", encode(Chunk{2, 100, 0, payload})},
      {"oversized", encode(Chunk{1, 1ull << 60, 0, payload})},
      {"chunk", encode(Chunk{1, 100, 50, payload})},
      {"truncated", Bytes{}},
      {"kind", Bytes(30, std::byte{0xFF})},
  };
  for (const auto& [word, bytes] : breaches) {
    WordCounts refusals;
    Link link({1, "b", "b:1", ""}, options, 11, refusals);
    link.on_frame(Instant{}, "other", encode(Heartbeat{}));
    EXPECT_EQ(refusals, (WordCounts{{"no-hello", 1}}));
    refusals.clear();
    link.on_frame(Instant{}, "r", encode(good));
    link.on_frame(Instant{}, "r", bytes);
    EXPECT_EQ(refusals, (WordCounts{{word, 1}}));
    EXPECT_EQ(link.state().in.messages, 0u);
    EXPECT_TRUE(link.state().alive());
  }
}

TEST(Link, AnswersThatMakeNoSenseAreRefused) {
  TransportOptions options;
  WordCounts refusals;
  Link link({1, "b", "b:1", ""}, options, 11, refusals);
  link.outbox().push(shared(100));
  link.on_answer(Instant{}, encode(Welcome{11, 1, 1000}));  // Before we said hello.
  link.connect(Instant{});
  link.next_frame(Instant{});
  link.on_answer(Instant{}, encode(Welcome{99, 1, 1000}));   // To another session.
  link.on_answer(Instant{}, encode(Welcome{11, 50, 1000}));  // A chunk that is not ours.
  link.on_answer(Instant{}, encode(Ack{11, 0, 0, 0}));       // Before the welcome.
  EXPECT_EQ(refusals, (WordCounts{{"answer", 4}}));
  link.on_answer(Instant{}, encode(Welcome{11, 1, 1000}));
  EXPECT_TRUE(link.open());
  link.on_answer(Instant{}, encode(Ack{11, 7, 0, 0}));
  link.on_answer(Instant{}, encode(Heartbeat{}));
  EXPECT_EQ(refusals, (WordCounts{{"answer", 5}, {"direction", 1}}));
}

}  // namespace
}  // namespace tessera
