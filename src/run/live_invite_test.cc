// What a newcomer believes: the experiment and the owner of its token, whatever the member at whose
// door it knocks says.
#include "run/live_invite.h"

#include <gtest/gtest.h>

#include "live/link/testing.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

// A member that answers as the test wants it to.
class LiveInviteTest : public testing::Test {
 protected:
  LiveInviteTest() : member_(net_.start(0)) {
    member_->set_guests(std::vector<std::string>{invitation_.public_key});
    invite_ = {.secret_key = invitation_.secret_key,
               .member_key = net_.members()[0].public_key,
               .owner = owner_.public_key,
               .experiment = fingerprint(kExperiment),
               .name = "bob",
               .address = net_.members()[0].address};
    EXPECT_TRUE(roster_.add("alice", invite_.address, invite_.member_key).ok());
    EXPECT_TRUE(roster_.add("bob", "127.0.0.1:1", bob_.public_key).ok());
    EXPECT_TRUE(roster_.sign(owner_).ok());
  }
  Result<LetIn> join(const KnockAnswer& told) {
    member_->answer_knocks_with([told](std::string_view, ByteSpan) { return told; });
    return knock_until_let_in({.invitation = invite_,
                               .keys = bob_,
                               .address = "127.0.0.1:1",
                               .say = [](std::string_view) {},
                               .on_experiment = [this](const std::string&) { ++experiments_; },
                               .stop = [] { return false; }});
  }

  static constexpr const char* kExperiment = "nodes = 2\n";
  KeyPair owner_ = make_signing_pair(), invitation_ = make_key_pair(), bob_ = make_key_pair();
  TestNetwork net_{"zeromq", 1, quick()};
  std::unique_ptr<Transport> member_;
  Invitation invite_;
  Roster roster_;
  int experiments_ = 0;
};

TEST_F(LiveInviteTest, ARosterOfTheOwnersLetsItIn) {
  const Result<LetIn> joined = join({KnockStanding::kAccepted, kExperiment, roster_.to_toml()});
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  EXPECT_EQ(joined->roster.to_toml(), roster_.to_toml());
  EXPECT_EQ(joined->experiment, kExperiment);
  EXPECT_EQ(experiments_, 1);
}

TEST_F(LiveInviteTest, AForgedExperimentIsRefusedBeforeItIsRead) {
  EXPECT_EQ(join({KnockStanding::kAccepted, "nodes = 3\n", roster_.to_toml()}).error().kind,
            "experiment");
  EXPECT_EQ(join({KnockStanding::kWaiting, "data = \"csv:file=/etc/passwd\"\n", ""}).error().kind,
            "experiment");
  EXPECT_EQ(experiments_, 0);
}

TEST_F(LiveInviteTest, AForgedRosterIsRefusedBeforeItIsRead) {
  Roster forged = roster_;
  ASSERT_TRUE(forged.replace("alice", "10.0.0.66:5555", "").ok());
  EXPECT_EQ(join({KnockStanding::kAccepted, kExperiment, forged.to_toml()}).error().kind,
            "roster-unsigned");
  Roster others;
  ASSERT_TRUE(others.add("bob", "127.0.0.1:1", bob_.public_key).ok());
  ASSERT_TRUE(others.sign(make_signing_pair()).ok());
  EXPECT_EQ(join({KnockStanding::kAccepted, kExperiment, others.to_toml()}).error().kind,
            "roster-signature");
  // The owner's, of before or of another machine in bob's place.
  ASSERT_TRUE(roster_.replace("bob", "", make_key_pair().public_key).ok());
  ASSERT_TRUE(roster_.sign(owner_).ok());
  EXPECT_EQ(join({KnockStanding::kAccepted, kExperiment, roster_.to_toml()}).error().kind,
            "roster");
}

TEST_F(LiveInviteTest, ARefusalEndsItInOneLine) {
  EXPECT_EQ(join({.standing = KnockStanding::kTaken}).error().kind, "taken");
  EXPECT_EQ(join({.standing = KnockStanding::kWrong}).error().kind, "wrong");
}

// Whoever has that address now, and not the member's key, hears nothing but a handshake.
TEST_F(LiveInviteTest, AnotherAtTheMembersAddressIsNotTalkedTo) {
  invite_.member_key = make_key_pair().public_key;
  int answered = 0;
  member_->answer_knocks_with(
      [&](std::string_view, ByteSpan) { return ++answered, KnockAnswer(); });
  int asked = 0;
  const Result<LetIn> joined = knock_until_let_in({.invitation = invite_,
                                                   .keys = bob_,
                                                   .address = "127.0.0.1:1",
                                                   .say = [](std::string_view) {},
                                                   .on_experiment = [](const std::string&) {},
                                                   .stop = [&] { return ++asked == 2; }});
  EXPECT_EQ(joined.error().kind, "stopped");
  EXPECT_EQ(answered, 0);
}

TEST(ToldExperiment, IsWholeAndDoesNotSayWhereDataLies) {
  LiveSettings settings;
  settings.lines.partition = "local";
  settings.lines.data = "csv:file=/srv/patients.csv,classes=a/b";
  Roster roster;
  EXPECT_TRUE(roster.set_places(5).ok());
  EXPECT_TRUE(roster.sign(make_signing_pair()).ok());
  const std::string text = told_experiment(settings, roster);
  EXPECT_EQ(text.find("patients"), text.npos);
  EXPECT_NE(text.find("nodes     = 5\n"), text.npos) << text;
  EXPECT_EQ(to_toml(parse_experiment(text, "told")), text) << "read back and written, the same";
}

}  // namespace
}  // namespace tessera
