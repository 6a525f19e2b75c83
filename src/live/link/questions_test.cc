// Who may ask a node how it is, and that an observer can do nothing else.
#include "live/link/questions.h"

#include <gtest/gtest.h>

#include <thread>
#include <zmq.hpp>

#include "live/link/fleet_asker.h"
#include "live/link/frame.h"
#include "live/link/testing.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

// Three members of which two run, and someone who only looks.
struct Watched {
  Watched() {
    for (const NodeId id : {0, 1}) {
      ZeroMqOptions options = net.zeromq_options(id, net.options());
      options.observers = {{"desk", desk.public_key}};
      nodes.push_back(make_zeromq_transport(std::move(options)));
      nodes.back()->answer_with([id] { return "I am " + std::to_string(id); });
    }
  }
  std::uint64_t refused(std::string_view word) const {
    const WordCounts refusals = nodes[0]->refusals();
    const auto found = refusals.find(word);
    return found == refusals.end() ? 0 : found->second;
  }
  bool members_talk() {
    const auto message = random_message(1000);
    nodes[1]->send(0, message);
    const std::optional<Incoming> incoming = await_message(*nodes[0]);
    return incoming && incoming->from == 1 && incoming->bytes == *message;
  }

  KeyPair desk = make_key_pair();
  TestNetwork net{"zeromq", 3, quick()};
  std::vector<std::unique_ptr<Transport>> nodes;
};

TEST(Questions, AFrameIsAQuestionOrAnAnswerOrNeither) {
  EXPECT_TRUE(is_question(encode_question()));
  EXPECT_FALSE(is_question(encode(Heartbeat{})));
  EXPECT_FALSE(is_question({}));
  EXPECT_EQ(*decode_report(encode_report("fine")), "fine");
  EXPECT_EQ(decode_report(encode_question()).error().kind, "kind");
  Bytes newer = encode_report("fine");
  newer[4] = std::byte{9};
  EXPECT_EQ(decode_report(newer).error().kind, "version");
  for (std::size_t length = 0; length < 6; ++length)
    EXPECT_FALSE(decode_report(ByteSpan(newer).first(length))) << length;
}

TEST(Questions, AKeyThatAsksTooOftenIsAnsweredLessOften) {
  Questions questions;
  questions.answer_with([] { return "fine"; });
  std::size_t taken = 0;
  for (Instant now(1s); now < Instant(2s); now += 1ms) taken += questions.take(now, 0, "a");
  EXPECT_EQ(taken, 27u);  // 8 at once, and 20 a second.
  EXPECT_TRUE(questions.take(Instant(2s), 1, "b"));
  EXPECT_EQ(questions.answer().size(), taken + 1);
  EXPECT_TRUE(questions.answer().empty());
  EXPECT_TRUE(questions.take(Instant(3s), 0, "a"));
  questions.answer_with({});
  EXPECT_TRUE(questions.answer().empty());
}

TEST(FleetAsker, AnObserverHearsOfAllAtOnceAndOfTheAbsentWhy) {
  Watched watched;
  FleetAsker asker(watched.desk, watched.net.members());
  for (int again = 0; again < 2; ++again) {
    const SteadyClock clock;
    const auto heard = asker.ask(10s);
    ASSERT_EQ(heard.size(), 3u);
    EXPECT_EQ(*heard.at(0).report, "I am 0");
    EXPECT_EQ(*heard.at(1).report, "I am 1");
    ASSERT_FALSE(heard.at(2).report.ok());
    EXPECT_EQ(heard.at(2).report.error().message, "connection refused");
    EXPECT_LT(clock.now() - Instant{}, 5s);
  }
  EXPECT_TRUE(watched.members_talk());
}

// One that is frozen, or takes connections and says nothing, costs one patience for all together.
TEST(FleetAsker, ThoseWhoSayNothingAreWaitedForTogether) {
  Watched watched;
  for (const auto& node : watched.nodes) node->answer_with({});
  FleetAsker asker(watched.desk, watched.net.members());
  const SteadyClock clock;
  const auto heard = asker.ask(300ms);
  EXPECT_LT(clock.now() - Instant{}, 2s);
  EXPECT_EQ(heard.at(0).report.error().kind, "silent");
  EXPECT_EQ(heard.at(1).report.error().message, "no answer within 0.3 s");
  for (const auto& node : watched.nodes) node->answer_with([] { return "awake"; });
  EXPECT_EQ(*asker.ask(10s).at(0).report, "awake");
}

TEST(FleetAsker, AMemberMayAskBesideItsOwnNodeAndAStrangerMayNot) {
  Watched watched;
  FleetAsker member(watched.net.zeromq_options(1, quick()).keys, watched.net.members());
  EXPECT_EQ(*member.ask(10s).at(0).report, "I am 0");
  EXPECT_TRUE(watched.members_talk());
  FleetAsker stranger(make_key_pair(), watched.net.members());
  EXPECT_FALSE(stranger.ask(500ms).at(0).report.ok());
  EXPECT_GE(watched.refused("unknown-key"), 1u);
}

TEST(FleetAsker, AnObserverWhoIsTakenOutIsAnsweredNoMore) {
  Watched watched;
  FleetAsker asker(watched.desk, watched.net.members());
  EXPECT_TRUE(asker.ask(10s).at(0).report.ok());
  for (const auto& node : watched.nodes) node->set_observers({});
  EXPECT_TRUE(await([&] { return !asker.ask(300ms).at(0).report.ok(); }));
}

// A member with nothing but ZeroMQ that is asked once, answers, and goes on answering 4 MB each
// while nobody asks. What is not taken here waits there: it can send no more than sockets hold.
TEST(FleetAsker, AnswersThatWereNotAskedForStayWhereTheyAre) {
  TestNetwork net("zeromq", 1, quick());
  zmq::context_t context;
  zmq::socket_t router(context, zmq::socket_type::router);
  router.set(zmq::sockopt::curve_server, true);
  router.set(zmq::sockopt::curve_secretkey, net.zeromq_options(0, quick()).keys.secret_key);
  router.set(zmq::sockopt::linger, 0);
  router.set(zmq::sockopt::sndhwm, 1);
  router.set(zmq::sockopt::router_mandatory, true);
  router.bind("tcp://" + net.members()[0].address);
  const std::string answer(4'000'000, 'x');
  int sent = 0;
  std::thread member([&] {
    zmq::message_t route, question;
    (void)router.recv(route);
    (void)router.recv(question);
    router.set(zmq::sockopt::sndtimeo, 500);
    const auto say = [&](std::string_view text) {
      return router.send(zmq::buffer(route.data(), route.size()), zmq::send_flags::sndmore) &&
             router.send(zmq::buffer(text), zmq::send_flags::none);
    };
    const Bytes fine = encode_report("fine");
    say({reinterpret_cast<const char*>(fine.data()), fine.size()});
    while (sent < 64 && say(answer)) ++sent;
  });
  FleetAsker asker(make_key_pair(), net.members());
  EXPECT_EQ(*asker.ask(10s).at(0).report, "fine");
  member.join();
  EXPECT_LT(sent, 20);
}

// Whatever an observer says besides its question is refused by name, and its connection ended: it
// becomes nobody's peer, and no message of it reaches a node.
struct Overheard final : CarrierEvents {
  std::size_t answers = 0, disconnections = 0;
  void on_answer(NodeId, ByteSpan) override { ++answers; }
  void on_frame(NodeId, std::string_view, ByteSpan) override {}
  void on_disconnected(NodeId, std::string_view) override { ++disconnections; }
  void on_refused(std::string_view) override {}
};

TEST(Observer, CanDoNothingButAsk) {
  Watched watched;
  // It takes node 2's place in its own roster only.
  ZeroMqOptions options = watched.net.zeromq_options(2, quick());
  options.keys = watched.desk;
  options.members[2].public_key = watched.desk.public_key;
  const Bytes payload(100);
  const std::vector<Bytes> words = {
      encode(Hello{.run = 42, .dimension = 1000, .session = 5}),
      encode(Chunk{1, payload.size(), 0, payload}),
      encode(Heartbeat{}),
      encode(Goodbye{}),
      encode_report("fine"),
      Bytes(5000),
  };
  std::uint64_t refused = 0;
  for (const Bytes& word : words) {
    const std::unique_ptr<Carrier> spy = make_zeromq_carrier(options);
    Overheard heard;
    spy->connect(0);
    spy->send(0, word, {});
    EXPECT_TRUE(await([&] {
      spy->wait(10ms);
      spy->collect(heard);
      return heard.disconnections > 0;
    }));
    EXPECT_EQ(heard.answers, 0u);
    EXPECT_EQ(watched.refused("observer"), ++refused);
  }
  EXPECT_EQ(watched.nodes[0]->peers().size(), 2u);
  EXPECT_FALSE(watched.nodes[0]->peer(2).alive());
  EXPECT_EQ(watched.nodes[0]->peer(2).in.bytes, 0u);
  EXPECT_TRUE(watched.members_talk());
}

}  // namespace
}  // namespace tessera
