// Node 0 with links to 1, 2 and 3; the peers are frames handed over by hand.
#include "live/link/links.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace tessera {
namespace {

std::vector<Member> members(std::initializer_list<NodeId> ids) {
  std::vector<Member> members;
  for (const NodeId id : ids) members.push_back({id, "n", "n:1", "key"});
  return members;
}

class LinksTest : public testing::Test {
 protected:
  LinksTest() { links_.set_members(members({0, 1, 2, 3})); }

  void say_hello(NodeId from) {
    links_.wake(from)->on_frame(Instant{}, "r", encode(Hello{.session = 5}));
  }
  void say(NodeId from, std::uint64_t chunk) {
    const Bytes bytes(1);
    links_.wake(from)->on_frame(Instant{}, "r", encode(Chunk{chunk, 1, 0, bytes}));
  }

  TransportOptions options_;
  Links links_{0, options_, 7};
};

TEST_F(LinksTest, PeersTakeTurns) {
  for (const NodeId from : {1u, 2u, 3u}) say_hello(from);
  for (const std::uint64_t chunk : {1, 2, 3}) say(2, chunk);
  say(1, 1);
  say(3, 1);
  std::vector<NodeId> heard;
  while (const std::optional<Incoming> incoming = links_.take_next())
    heard.push_back(incoming->from);
  EXPECT_EQ(heard, (std::vector<NodeId>{1, 2, 3, 2, 2}));
}

TEST_F(LinksTest, AMemberUnderAnotherKeyIsAnotherLink) {
  say_hello(1);
  std::vector<Member> changed = members({0, 1, 2});
  changed[1].public_key = "another";
  links_.wake(2)->connect(Instant{});
  EXPECT_TRUE(links_.set_members(changed).empty());
  EXPECT_EQ(links_.find(1)->state().in.bytes, 0u);
  EXPECT_EQ(links_.find(3), nullptr);
  EXPECT_EQ(links_.find(0), nullptr);
  EXPECT_EQ(links_.states().size(), 2u);
  EXPECT_EQ(links_.set_members(members({0})), std::vector<NodeId>{2});
}

TEST_F(LinksTest, ChangesAreToldOnce) {
  say_hello(2);
  EXPECT_TRUE(links_.tick(*links_.wake(2), Instant{}));
  EXPECT_FALSE(links_.tick(*links_.wake(3), Instant{}));
  const std::vector<PeerState> changes = links_.take_changes();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].id, 2u);
  EXPECT_TRUE(links_.take_changes().empty());
}

// Of a large fleet, those with a link are gone through twenty times a second and the others never.
TEST(Links, OnlyThoseToWhomSomethingHappensAreAwake) {
  TransportOptions options;
  options.wants_all = false;
  Links links(0, options, 7);
  links.set_members(members({0, 1, 2, 3, 4}));
  const auto turn = [&] {
    for (const auto& [id, link] : links.awake()) links.tick(*link, Instant{});
    links.doze();
    std::vector<NodeId> awake;
    for (const auto& [id, link] : links.awake()) awake.push_back(id);
    return awake;
  };
  EXPECT_EQ(turn(), std::vector<NodeId>{});
  EXPECT_EQ(links.take_changes().size(), 4u) << "that they are idle was told";
  links.want(std::vector<NodeId>{2});
  EXPECT_EQ(turn(), std::vector<NodeId>{2});
  links.wake(3)->outbox().push(std::make_shared<const Bytes>(1));
  links.wake(4)->on_frame(Instant{}, "r", encode(Hello{.session = 5}));
  EXPECT_EQ(turn(), (std::vector<NodeId>{2, 3, 4}));
  while (links.wake(4)->next_answer()) continue;
  EXPECT_EQ(turn(), (std::vector<NodeId>{2, 3, 4})) << "one that is alive may fall silent";
  links.wake(4)->on_frame(Instant{}, "r", encode(Rest{}));
  links.wake(3)->outbox().drop_unsent();
  links.want({});
  EXPECT_EQ(turn(), std::vector<NodeId>{});
  EXPECT_EQ(links.states().size(), 4u);
  for (const PeerState& peer : links.states()) EXPECT_EQ(peer.condition, PeerCondition::kIdle);
}

}  // namespace
}  // namespace tessera
