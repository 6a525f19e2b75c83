// What is particular to ZeroMQ: who gets in when nobody asks for keys, names, and IPv6.
#include "live/link/zeromq.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <future>

#include "live/link/descriptors.h"
#include "live/link/testing.h"
#include "live/link/zeromq_dials.h"
#include "live/link/zeromq_door.h"
#include "live/link/zeromq_sockets.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

// Should our ZAP handler ever be gone, a stranger with a key of its own must not get in.
TEST(ZeroMq, WithoutAHandlerForKeysNobodyGetsIn) {
  zmq::context_t context;
  const KeyPair keys = make_key_pair();
  zmq::socket_t router = make_router(context, keys);
  const std::string address = "127.0.0.1:" + std::to_string(free_port());
  router.bind("tcp://" + address);
  const Member target{.address = address, .public_key = keys.public_key};
  Connection stranger(context, target, address, {.keys = make_key_pair()}, "stranger");
  stranger.dealer.send(zmq::str_buffer("let me in"), zmq::send_flags::dontwait);
  EXPECT_TRUE(await([&] { return stranger.take_end().has_value(); }));
  EXPECT_TRUE(receive_parts(router).empty());
}

TEST(ZeroMq, TheLimitOfDescriptorsIsRaised) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = std::min<rlim_t>(before.rlim_max, 512);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  TestNetwork net("zeromq", 1, quick());
  const auto carrier = net.start_raw(0);
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

// 4,096 parts of a MiB in one message, by a member: it is shut out before the message is whole. The
// parts are the same bytes, so that only what is sent costs anything.
TEST(ZeroMq, AMessageOfTooManyPartsIsNotWaitedFor) {
  TestNetwork net("zeromq", 2, quick());
  const auto target = net.start(0);
  const ZeroMqOptions member = net.zeromq_options(1, net.options());
  zmq::context_t context;
  Connection rascal(context, net.members()[0], net.members()[0].address, {.keys = member.keys},
                    "rascal");
  const std::string mebibyte(1 << 20, 'x');
  zmq::message_t part(mebibyte);
  constexpr int kParts = 4096;
  for (int i = 1; i <= kParts; ++i) {
    zmq::message_t copy;
    copy.copy(part);
    rascal.dealer.send(copy, i < kParts ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
  EXPECT_TRUE(await([&] { return rascal.take_end().has_value(); }));
  EXPECT_EQ(target->refusals().count("endless"), 1u);
  EXPECT_FALSE(target->refusals().contains("multipart"));
}

struct Heard final : CarrierEvents {
  void on_answer(NodeId, ByteSpan) override {}
  void on_frame(NodeId, std::string_view from, ByteSpan) override { route = from; }
  void on_disconnected(NodeId, std::string_view) override {}
  void on_misconduct(NodeId, std::string_view word) override { misconduct = word; }
  void on_refused(std::string_view) override {}
  std::string route{}, misconduct{};
};

// Conduct is not looked at by the clock, so only what goes out can bring a look.
constexpr Conduct::Limits kLookedAtByBytes{
    .unread_bytes_max = 1 << 18, .look_every = std::chrono::hours(1), .look_every_bytes = 1 << 16};
// More than buffers hold on the way to one that does not read.
constexpr std::size_t kMuch = 256 << 20;

TEST(ZeroMq, OneThatWeDialAndThatDoesNotReadIsFoundByWhatGoesOut) {
  TestNetwork net("zeromq", 2, quick());
  const auto host = net.start_raw(1);
  zmq::context_t context;
  Dials dials(context,
              {.keys = net.zeromq_options(0, net.options()).keys, .conduct = kLookedAtByBytes},
              look_up_host, [] {});
  dials.set_members(net.members());
  dials.connect(1);
  const Bytes frame(1 << 14);
  dials.send(1, frame, {});
  Heard host_heard, heard;
  ASSERT_TRUE(await([&] { return host->collect(host_heard), !host_heard.route.empty(); }));
  std::size_t said = 0;
  EXPECT_TRUE(await([&] {
    if (said < kMuch) dials.send(1, frame, {}), said += frame.size();
    dials.collect(heard);
    return !heard.misconduct.empty();
  }));
  EXPECT_EQ(heard.misconduct, "unread");
}

TEST(ZeroMq, AVisitorThatDoesNotReadIsFoundByWhatGoesOut) {
  TestNetwork net("zeromq", 2, quick());
  const Member& self = net.members()[0];
  zmq::context_t context, theirs;
  Door door(context, net.zeromq_options(0, net.options()).keys, self.address,
            {.conduct = kLookedAtByBytes});
  door.set_members(net.members());
  const Bytes frame(1 << 14);
  Connection visitor(theirs, self, self.address,
                     {.keys = net.zeromq_options(1, net.options()).keys,
                      .answer_bytes_max = kFrameBytesMax,
                      .answers_waiting_max = 16},
                     "visitor");
  visitor.dealer.send(zmq::str_buffer("hello"), zmq::send_flags::dontwait);
  Heard heard;
  ASSERT_TRUE(await([&] { return door.collect(heard), !heard.route.empty(); }));
  std::size_t said = 0;
  EXPECT_TRUE(await([&] {
    if (said < kMuch && door.answer(heard.route, frame)) said += frame.size();
    door.collect(heard);
    return !heard.misconduct.empty();
  }));
  EXPECT_EQ(heard.misconduct, "unread");
}

// What is counted as said is what arrives, to the byte.
TEST(ZeroMq, AFrameTakesTheBytesOnTheWireThatConductCounts) {
  TestNetwork net("zeromq", 2, quick());
  const auto target = net.start(0);
  const KeyPair keys = net.zeromq_options(1, net.options()).keys;
  zmq::context_t context;
  Connection member(context, net.members()[0], net.members()[0].address, {.keys = keys}, "member");
  const auto say = [&](std::size_t bytes) {
    member.dealer.send(zmq::message_t(bytes), zmq::send_flags::dontwait);
    return Conduct::wire_bytes(bytes);
  };
  say(1);
  ASSERT_TRUE(await([&] { return target->peer(1).in.bytes == 1; }));
  (void)member.take_end();
  ASSERT_TRUE(member.descriptor);
  const auto all_arrived = [&] { return counts_of(*member.descriptor).all_arrived; };
  ASSERT_TRUE(await(all_arrived));
  const std::uint64_t before = counts_of(*member.descriptor).arrived;
  std::uint64_t expected = 0;
  for (const std::size_t bytes : {0u, 1u, 33u, 222u, 223u, 5000u, 1'000'000u})
    expected += say(bytes);
  EXPECT_TRUE(await([&] { return target->peer(1).in.bytes == 1'005'480; }));
  EXPECT_TRUE(await(all_arrived));
  EXPECT_EQ(counts_of(*member.descriptor).arrived - before, expected);
}

// A network whose members go by names that `look_up` knows.
struct NamedWorld {
  explicit NamedWorld(std::uint32_t nodes) : net("zeromq", nodes, quick()) {}
  ZeroMqOptions options(NodeId id, const std::vector<std::string>& names, const LookUp& look_up) {
    ZeroMqOptions options = net.zeromq_options(id, net.options());
    options.bind_address = options.members[id].address;
    for (std::size_t i = 0; i < names.size(); ++i)
      options.members[i].address =
          names[i] + options.members[i].address.substr(options.members[i].address.rfind(':'));
    options.look_up = look_up;
    return options;
  }
  TestNetwork net;
};

// Node 2's name is never answered. Node 1 goes by a name too, and is there within a second.
TEST(ZeroMq, ANameServerThatDoesNotAnswerCostsOnlyThatPeer) {
  NamedWorld world(3);
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  const LookUp look_up = [ended](const std::string& host) -> Result<NumericHosts> {
    if (host == "dead.example") ended.wait();
    return NumericHosts{"127.0.0.1"};
  };
  const std::vector<std::string> names = {"zero.example", "one.example", "dead.example"};
  {
    const auto zero = make_zeromq_transport(world.options(0, names, look_up));
    const auto one = make_zeromq_transport(world.options(1, names, look_up));
    const Instant begun = zero->now();
    EXPECT_TRUE(await([&] { return zero->peer(1).alive() && one->peer(0).alive(); }));
    EXPECT_LT(zero->now() - begun, 1s);
    zero->send(1, random_message(1000));
    EXPECT_EQ(await_message(*one)->bytes, *random_message(1000));
    EXPECT_FALSE(zero->peer(2).alive());
  }
  end.set_value();
}

TEST(ZeroMq, ANameThatIsNotKnownIsSaid) {
  NamedWorld world(2);
  const auto zero = make_zeromq_transport(
      world.options(0, {"a", "b.example"}, [](const std::string&) -> Result<NumericHosts> {
        return Error{"name", "no address is known for b.example"};
      }));
  EXPECT_TRUE(await([&] {
    return zero->peer(1).reason.find("no address is known for b.example") != std::string::npos;
  }));
}

// First the name stands for an address where nobody is, then for two: where nobody is, and where
// the peer is. It is found without a word from anyone.
TEST(ZeroMq, AChangedAddressIsNoticedAndEveryAddressTried) {
  NamedWorld world(2);
  const auto asked = std::make_shared<std::atomic<int>>(0);
  const LookUp look_up = [asked](const std::string&) -> Result<NumericHosts> {
    if (++*asked < 3) return NumericHosts{"127.0.0.9"};
    return NumericHosts{"127.0.0.9", "127.0.0.1"};
  };
  ZeroMqOptions silent = world.options(1, {"nowhere.example", "b"}, look_up);
  silent.look_up = [](const std::string&) -> Result<NumericHosts> {
    return Error{"name", "it never finds the other"};
  };
  const auto one = make_zeromq_transport(silent);
  const auto zero = make_zeromq_transport(world.options(0, {"a", "b.example"}, look_up));
  EXPECT_TRUE(await([&] { return zero->peer(1).alive(); }));
  EXPECT_GE(*asked, 3);
}

// A name with an IPv6 address only, and a node that listens there.
TEST(ZeroMq, ANameWithAnIPv6AddressOnlyIsReached) {
  NamedWorld world(2);
  const LookUp look_up = [](const std::string&) -> Result<NumericHosts> {
    return NumericHosts{"[::1]"};
  };
  std::vector<std::unique_ptr<Transport>> nodes;
  for (NodeId id : {0u, 1u}) {
    ZeroMqOptions options = world.options(id, {"ip6-localhost", "ip6-localhost"}, look_up);
    options.bind_address.clear();
    nodes.push_back(make_zeromq_transport(options));
  }
  EXPECT_TRUE(await([&] { return nodes[0]->peer(1).alive() && nodes[1]->peer(0).alive(); }));
}

// Who listens on every interface is reached over IPv4 and IPv6.
TEST(ZeroMq, EveryInterfaceMeansBothFamilies) {
  for (const char* host : {"127.0.0.1", "[::1]"}) {
    NamedWorld world(2);
    const LookUp look_up = [host](const std::string&) -> Result<NumericHosts> {
      return NumericHosts{host};
    };
    std::vector<std::unique_ptr<Transport>> nodes;
    for (NodeId id : {0u, 1u}) {
      ZeroMqOptions options = world.options(id, {"a.example", "b.example"}, look_up);
      options.bind_address.clear();
      nodes.push_back(make_zeromq_transport(options));
    }
    EXPECT_TRUE(await([&] { return nodes[0]->peer(1).alive(); })) << host;
  }
}

}  // namespace
}  // namespace tessera
