// Rosters that spread among members, and what is not believed of them. The nodes are memberships
// alone, on a network in memory; nobody trains.
#include "live/membership.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "live/link/testing.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

// One member's end of the network, driven by the test.
class Peer {
 public:
  Peer(const Roster& roster, NodeId id, std::unique_ptr<Transport> transport)
      : transport(std::move(transport)),
        membership(roster, *roster.find(id),
                   {.transport = this->transport.get(),
                    .say = [this](LogLevel, std::string_view line) { lines.emplace_back(line); },
                    .keep = [this](const Roster& kept) { kept_version = kept.version(); }}) {}

  void turn() {
    for (const PeerState& peer : transport->take_changes())
      if (peer.alive()) membership.meet(peer.id);
    while (const std::optional<Incoming> incoming = transport->receive(Duration(0))) {
      const Result<Control> control = decode_control(incoming->bytes, 0);
      if (control.ok()) membership.hear(incoming->from, *control);
    }
    membership.tick();
  }
  std::uint64_t version() const { return membership.roster().version(); }
  std::uint64_t refused(std::string_view word) const {
    const WordCounts all = transport->refusals();
    const auto found = all.find(word);
    return found == all.end() ? 0 : found->second;
  }
  bool has_said(std::string_view words) const {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(words) != line.npos; });
  }

  std::unique_ptr<Transport> transport;
  std::vector<std::string> lines{};
  std::uint64_t kept_version = 0;
  Membership membership;
};

class MembershipTest : public testing::Test {
 protected:
  static constexpr NodeId kMembers = 4;
  MembershipTest() {
    for (NodeId id = 0; id < kMembers; ++id)
      EXPECT_TRUE(first_.add(fmt::format("n{}", id), fmt::format("10.0.0.{}:5555", id + 1),
                             make_key_pair().public_key));
    first_.set_run(7);
    EXPECT_TRUE(first_.sign(owner_));
  }
  void start(
      const Roster& roster, const TransportOptions& link = quick(),
      bool (*settled)(const PeerState&) = [](const PeerState& peer) { return peer.alive(); }) {
    for (NodeId id = 0; id < kMembers; ++id) {
      peers_.push_back(
          std::make_unique<Peer>(roster, id, network_.attach(id, roster.members(), link)));
      if (!link.wants_all) peers_[id]->transport->want(std::vector<NodeId>{id - 1, id + 1});
    }
    ASSERT_TRUE(turn_until([&] {
      for (const auto& peer : peers_)
        if (!std::ranges::all_of(peer->transport->peers(), settled)) return false;
      return true;
    }));
  }
  bool turn_until(const std::function<bool()>& happened) {
    return await([&] {
      for (const auto& peer : peers_)
        if (peer) peer->turn();
      return happened();
    });
  }
  bool all_have(std::uint64_t version) const {
    return std::all_of(peers_.begin(), peers_.end(),
                       [&](const auto& peer) { return peer->version() == version; });
  }
  Roster next(const Roster& before, const std::function<void(Roster&)>& change) const {
    Roster roster = before;
    change(roster);
    EXPECT_TRUE(roster.sign(owner_));
    return roster;
  }
  static void replace_two(Roster& roster) {
    EXPECT_TRUE(roster.replace("n2", "10.0.0.9:5555", make_key_pair().public_key));
  }
  void tell(NodeId from, NodeId to, const Control& control) {
    peers_[from]->transport->send(to, encode_control(control), MessageClass::kRoster);
  }

  KeyPair owner_ = make_signing_pair();
  Roster first_;
  LoopbackNetwork network_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

TEST_F(MembershipTest, ANewerRosterReachesEveryMemberFromOne) {
  start(first_);
  const Roster second =
      next(first_, [](Roster& roster) { EXPECT_TRUE(roster.replace("n3", "10.0.0.9:5555", "")); });
  peers_[0]->membership.consider(second);
  EXPECT_TRUE(turn_until([&] { return all_have(2); }));
  for (const auto& peer : peers_) {
    EXPECT_EQ(peer->kept_version, 2u);
    EXPECT_EQ(peer->membership.roster().to_toml(), second.to_toml());
  }
  EXPECT_TRUE(peers_[0]->has_said("the roster has changed: version 2, 4 members"));
}

// Links lead along a line, 0 - 1 - 2 - 3, and to nobody else.
TEST_F(MembershipTest, ANewerRosterReachesThoseThatItsFirstHolderHasNoLinkTo) {
  TransportOptions link = quick();
  link.wants_all = false;
  start(first_, link, [](const PeerState& peer) { return !peer.wanted || peer.alive(); });
  const Roster second =
      next(first_, [](Roster& roster) { EXPECT_TRUE(roster.replace("n1", "10.0.0.9:5555", "")); });
  peers_[0]->membership.consider(second);
  EXPECT_TRUE(turn_until([&] { return all_have(2); }));
  EXPECT_EQ(peers_[0]->transport->peer(3).condition, PeerCondition::kIdle);
}

// Two of them in a row, faster than anybody asks.
TEST_F(MembershipTest, TheNewestCountsHoweverOftenItChanges) {
  start(first_);
  Roster newest = first_;
  for (int i = 0; i < 5; ++i) {
    newest = next(newest, [&](Roster& roster) {
      EXPECT_TRUE(roster.replace("n3", fmt::format("10.0.1.{}:5555", i), ""));
    });
    peers_[static_cast<std::size_t>(i) % 2]->membership.consider(newest);
    for (const auto& peer : peers_) peer->turn();
  }
  EXPECT_TRUE(turn_until([&] { return all_have(6); }));
}

TEST_F(MembershipTest, OneThatWasAwayIsToldWhenItComesBack) {
  start(first_);
  peers_[3].reset();
  const Roster second =
      next(first_, [](Roster& roster) { EXPECT_TRUE(roster.replace("n1", "10.0.0.9:5555", "")); });
  peers_[0]->membership.consider(second);
  ASSERT_TRUE(turn_until([&] { return peers_[1]->version() == 2 && peers_[2]->version() == 2; }));
  peers_[3] = std::make_unique<Peer>(first_, 3, network_.attach(3, first_.members(), quick()));
  EXPECT_TRUE(turn_until([&] { return all_have(2); }));
}

TEST_F(MembershipTest, WhoIsRemovedOrReplacedIsToldAndTheOthersLetGo) {
  start(first_);
  const Roster second = next(first_, [](Roster& roster) {
    EXPECT_TRUE(roster.remove("n1"));
    replace_two(roster);
  });
  peers_[0]->membership.consider(second);
  ASSERT_TRUE(turn_until(
      [&] { return peers_[1]->membership.is_removed() && peers_[2]->membership.is_removed(); }));
  EXPECT_TRUE(peers_[1]->has_said("n1 is out: in version 2"));
  peers_[1]->membership.consider(second);
  EXPECT_TRUE(peers_[1]->membership.is_removed()) << "whoever says it again";
  EXPECT_EQ(peers_[1]->kept_version, 2u) << "a start after that says so too";
  EXPECT_FALSE(peers_[3]->membership.is_out());
  EXPECT_TRUE(turn_until([&] { return peers_[0]->transport->peers().size() == 2; }));
  EXPECT_TRUE(turn_until([&] { return peers_[3]->transport->peers().size() == 2; }));
}

TEST_F(MembershipTest, WhatTheOwnerDidNotSignIsRefusedAndCounted) {
  start(first_);
  const Roster second = next(first_, replace_two);
  peers_[0]->membership.consider(second);
  ASSERT_TRUE(turn_until([&] { return peers_[3]->version() == 2; }));

  Roster unsigned_one = second;
  ASSERT_TRUE(unsigned_one.remove("n3"));
  Roster others = unsigned_one;
  std::string forged = second.to_toml();
  forged.replace(forged.find("version = 2"), 11, "version = 9");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {unsigned_one.to_toml(), "roster-unsigned"},
      {forged, "roster-signature"},
      {first_.to_toml(), "roster-old"},
      {"", "roster-unsigned"},
      {std::string(1000, '['), "roster-unsigned"},
      {next(second, [](Roster& roster) { roster.set_run(8); }).to_toml(), "roster-run"}};
  for (const auto& [text, why] : wrong) {
    const auto& word = why;  // Clang 14 captures no structured binding.
    const std::uint64_t before = peers_[3]->refused(word);
    const SteadyClock clock;  // Two within half a second are one too many.
    ASSERT_TRUE(
        turn_until([&] { return clock.now() - Instant{} > std::chrono::milliseconds(600); }));
    tell(0, 3, RosterTold{text});
    EXPECT_TRUE(turn_until([&] { return peers_[3]->refused(word) == before + 1; })) << word;
  }
  EXPECT_EQ(peers_[3]->version(), 2u);
  EXPECT_FALSE(peers_[3]->membership.is_out());
  EXPECT_TRUE(peers_[3]->has_said("a roster comes from n0 and is not used"));
}

TEST_F(MembershipTest, AStormOfRostersIsLookedAtTwiceASecondAndMakesFewLines) {
  start(first_);
  const std::size_t lines = peers_[3]->lines.size();
  for (int i = 0; i < 50; ++i) {
    tell(0, 3, RosterTold{first_.to_toml().substr(1)});
    ASSERT_TRUE(turn_until([&] { return peers_[0]->transport->peer(3).out.queued == 0; }));
  }
  ASSERT_TRUE(turn_until([&] { return peers_[3]->refused("told-too-often") > 10; }));
  EXPECT_LE(peers_[3]->lines.size(), lines + 6);
}

TEST_F(MembershipTest, WhoAsksAgainAndAgainIsAnsweredTwiceASecond) {
  start(first_);
  for (int i = 0; i < 20; ++i)
    peers_[0]->transport->send(3, encode_control(RosterAsked{}), MessageClass::kControl);
  EXPECT_TRUE(turn_until([&] { return peers_[3]->refused("asked-too-often") >= 15; }));
}

// It claims a version that nobody has and answers with nothing new.
TEST_F(MembershipTest, OneThatClaimsTooMuchKeepsNobodyFromTheOthers) {
  start(first_);
  peers_[0]->transport->send(3, encode_control(RosterHeld{1'000'000}), MessageClass::kControl);
  for (int i = 0; i < 10; ++i) peers_[3]->turn();
  peers_[1]->membership.consider(
      next(first_, [](Roster& roster) { EXPECT_TRUE(roster.replace("n2", "10.0.0.9:5555", "")); }));
  EXPECT_TRUE(turn_until([&] { return all_have(2); }));
}

TEST_F(MembershipTest, ARosterWithoutAnOwnerIsTakenFromNobody) {
  Roster by_hand;
  for (const Member& member : first_.members())
    ASSERT_TRUE(by_hand.add(member.name, member.address, member.public_key));
  by_hand.set_run(7);
  start(by_hand);
  tell(0, 3, RosterTold{next(first_, replace_two).to_toml()});
  EXPECT_TRUE(turn_until([&] { return peers_[3]->refused("roster-owner") == 1; }));
  EXPECT_EQ(peers_[3]->membership.roster().to_toml(), by_hand.to_toml());
  EXPECT_EQ(peers_[3]->kept_version, 0u);
}

}  // namespace
}  // namespace tessera
