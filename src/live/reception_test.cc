// Who is received at a member's door, and what is kept of it. The member is a transport alone, on a
// network in memory; knocks are handed to the reception as the door would.
#include "live/reception.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "live/link/testing.h"
#include "live/log_line.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ReceptionTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_), fs::create_directories(folder_);
    EXPECT_TRUE(roster_.add("alice", "10.0.0.1:5555", alice_.public_key).ok());
    EXPECT_TRUE(roster_.set_places(4).ok());
    roster_.set_run(1);
    EXPECT_TRUE(roster_.sign(owner_).ok());
    transport_ = net_.start(0);
    invite({{"bob", bob_.public_key, soon()}, {"carol", carol_.public_key, soon()}});
    open(0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::chrono::seconds soon() {
    return std::chrono::duration_cast<std::chrono::seconds>(time_of_day()) + 1h;
  }
  void invite(const std::vector<Guest>& guests) {
    const std::string text = to_text(guests);
    ASSERT_TRUE(
        write_private_file(folder_ / kInvitationsFile, {bytes_of(std::string_view(text))}).ok());
    // A file that is written twice within a tick of its clock has not changed for who looks.
    fs::last_write_time(folder_ / kInvitationsFile,
                        fs::file_time_type::clock::now() + std::chrono::seconds(++written_));
  }
  void open(std::size_t begin_with) {
    reception_.reset();
    reception_ = std::make_unique<Reception>(ReceptionParts{
        .folder = folder_,
        .experiment = "nodes = 4\n",
        .begin_with = begin_with,
        .transport = transport_.get(),
        .say = [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }});
    reception_->look(roster_);
  }
  KnockAnswer knock(const KeyPair& invitation, const Knock& said) {
    return reception_->answer(invitation.public_key, encode_knock(said));
  }
  std::vector<Knocker> kept() {
    reception_->look(roster_);
    return *read_knockers(folder_);
  }
  std::uint64_t refused(std::string_view word) const {
    const WordCounts all = transport_->refusals();
    const auto found = all.find(word);
    return found == all.end() ? 0 : found->second;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / fmt::format("tessera_guests_{}", ::getpid());
  KeyPair owner_ = make_signing_pair(), alice_ = make_key_pair();
  KeyPair bob_ = make_key_pair(), carol_ = make_key_pair();  // Of the invitations.
  Roster roster_;
  TestNetwork net_{"loopback", 1, quick()};
  std::unique_ptr<Transport> transport_;
  std::vector<std::string> lines_;
  std::unique_ptr<Reception> reception_;
  int written_ = 0;
};

TEST_F(ReceptionTest, AKnockWaitsForTheOwnerAndIsThenToldTheRoster) {
  const Knock said{make_key_pair().public_key, "10.0.0.2:5555"};
  const KnockAnswer first = knock(bob_, said);
  EXPECT_EQ(first.standing, KnockStanding::kWaiting);
  EXPECT_EQ(first.experiment, "nodes = 4\n");
  EXPECT_TRUE(first.roster.empty()) << "who is not accepted learns nobody's address";
  EXPECT_EQ(kept(), std::vector{(Knocker{"bob", bob_.public_key, said})});

  ASSERT_TRUE(roster_.add("bob", said.address, said.public_key).ok());
  ASSERT_TRUE(roster_.sign(owner_).ok());
  reception_->look(roster_);
  const KnockAnswer second = knock(bob_, said);
  EXPECT_EQ(second.standing, KnockStanding::kAccepted);
  EXPECT_TRUE(parse_signed_roster(second.roster, owner_.public_key).ok());
}

TEST_F(ReceptionTest, OneThatNobodyCanConnectToMaySaySo) {
  const Knock said{make_key_pair().public_key, std::string(kDialsOut)};
  EXPECT_EQ(knock(bob_, said).standing, KnockStanding::kWaiting);
  EXPECT_EQ(kept(), std::vector{(Knocker{"bob", bob_.public_key, said})});
  ASSERT_TRUE(roster_.add("bob", said.address, said.public_key).ok());
  ASSERT_TRUE(roster_.sign(owner_).ok());
  reception_->look(roster_);
  EXPECT_EQ(knock(bob_, said).standing, KnockStanding::kAccepted);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("bob knocks, will dial out, with the key"), std::string::npos);
}

TEST_F(ReceptionTest, AnInvitationBelongsToTheFirstKeyThatKnocksWithIt) {
  const Knock said{make_key_pair().public_key, "10.0.0.2:5555"};
  EXPECT_EQ(knock(bob_, said).standing, KnockStanding::kWaiting);
  const Knock other{make_key_pair().public_key, "10.0.0.66:5555"};
  EXPECT_EQ(knock(bob_, other).standing, KnockStanding::kTaken);
  EXPECT_TRUE(knock(bob_, other).experiment.empty());
  EXPECT_EQ(refused("invitation-taken"), 2u);
  EXPECT_EQ(kept(), std::vector{(Knocker{"bob", bob_.public_key, said})});
  // Also after the member was started again, and after the first was accepted.
  open(0);
  EXPECT_EQ(knock(bob_, other).standing, KnockStanding::kTaken);
  ASSERT_TRUE(roster_.add("bob", said.address, said.public_key).ok());
  ASSERT_TRUE(roster_.sign(owner_).ok());
  reception_->look(roster_);
  EXPECT_EQ(knock(bob_, other).standing, KnockStanding::kTaken);
  EXPECT_TRUE(knock(bob_, other).roster.empty());
  const auto second = [](const std::string& line) {
    return line.find("a second machine knocks") != line.npos;
  };
  EXPECT_EQ(std::count_if(lines_.begin(), lines_.end(), second), 2) << "once for each start";
}

TEST_F(ReceptionTest, WhatNoMemberCouldHaveIsRefusedAndNotKept) {
  const std::string key = make_key_pair().public_key;
  for (const Knock& said :
       {Knock{key, ""}, Knock{key, "10.0.0.2"}, Knock{key, "10.0.0.2:0"},
        Knock{key, "10.0.0.2:5555\n[[member]]"}, Knock{key, "a\"b:1"}, Knock{key, "a b:1"},
        Knock{key, "dials-out\n"}, Knock{key, "dials-outs"}, Knock{key, "Dials-Out"},
        Knock{std::string(40, '\"'), "10.0.0.2:5555"}, Knock{std::string(40, ' '), "a:1"}})
    EXPECT_EQ(knock(bob_, said).standing, KnockStanding::kWrong) << said.address;
  EXPECT_EQ(reception_->answer(bob_.public_key, Bytes(46)).standing, KnockStanding::kWrong);
  EXPECT_EQ(refused("knock"), 12u);
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(reception_->answer(alice_.public_key, encode_knock({key, "a:1"})).standing,
            KnockStanding::kWrong)
      << "nobody has invited that key";
}

// One for each invitation, and the newest address counts until the owner has decided.
TEST_F(ReceptionTest, AnnouncementsTakeOnePlaceForEachInvitation) {
  const std::string key = make_key_pair().public_key;
  for (int port = 1; port <= 1000; ++port)
    EXPECT_EQ(knock(bob_, {key, fmt::format("10.0.0.2:{}", port)}).standing,
              KnockStanding::kWaiting);
  ASSERT_EQ(kept().size(), 1u);
  EXPECT_EQ(kept()[0].said.address, "10.0.0.2:1000");
  EXPECT_EQ(lines_.size(), 1u);
}

TEST_F(ReceptionTest, ADiskThatIsFullIsSaidOnceAndTriedAgain) {
  fs::create_directories(folder_ / kKnocksFile);  // In the file's place.
  const Knock said{make_key_pair().public_key, "10.0.0.2:5555"};
  EXPECT_EQ(knock(bob_, said).standing, KnockStanding::kWaiting);
  for (int i = 0; i < 100; ++i) reception_->look(roster_);
  ASSERT_EQ(lines_.size(), 2u) << "who knocks, and that it is not written";
  EXPECT_NE(lines_[1].find("is not written"), std::string::npos);
  fs::remove(folder_ / kKnocksFile);
  EXPECT_EQ(kept().size(), 1u);
}

TEST_F(ReceptionTest, AnInvitationThatIsOverOrTakenBackIsNone) {
  const Knock said{make_key_pair().public_key, "10.0.0.2:5555"};
  EXPECT_EQ(knock(bob_, said).standing, KnockStanding::kWaiting);
  EXPECT_EQ(kept().size(), 1u);
  invite({{"bob", bob_.public_key, std::chrono::seconds(1)}, {"carol", carol_.public_key, soon()}});
  reception_->look(roster_);
  EXPECT_EQ(knock(bob_, said).standing, KnockStanding::kWrong);
  EXPECT_EQ(knock(carol_, said).standing, KnockStanding::kWaiting);
  invite({});
  EXPECT_TRUE(kept().empty());
  EXPECT_EQ(knock(carol_, said).standing, KnockStanding::kWrong);
  // One that was written anew is another one.
  const KeyPair again = make_key_pair();
  invite({{"bob", again.public_key, soon()}});
  reception_->look(roster_);
  const Knock other{make_key_pair().public_key, "10.0.0.3:5555"};
  EXPECT_EQ(knock(again, other).standing, KnockStanding::kWaiting);
}

TEST_F(ReceptionTest, AllAreToldTheRosterWhenEnoughAreInIt) {
  open(3);
  const Knock bob{make_key_pair().public_key, "10.0.0.2:5555"};
  const Knock carol{make_key_pair().public_key, "10.0.0.3:5555"};
  knock(bob_, bob), knock(carol_, carol);
  ASSERT_TRUE(roster_.add("bob", bob.address, bob.public_key).ok());
  ASSERT_TRUE(roster_.sign(owner_).ok());
  reception_->look(roster_);
  EXPECT_EQ(knock(bob_, bob).standing, KnockStanding::kEarly);
  EXPECT_TRUE(knock(bob_, bob).roster.empty());
  ASSERT_TRUE(roster_.add("carol", carol.address, carol.public_key).ok());
  ASSERT_TRUE(roster_.sign(owner_).ok());
  reception_->look(roster_);
  EXPECT_EQ(knock(bob_, bob).standing, KnockStanding::kAccepted);
  EXPECT_EQ(knock(carol_, carol).standing, KnockStanding::kAccepted);
  // Once they have begun, nobody waits for one who was removed.
  ASSERT_TRUE(roster_.remove("carol").ok());
  ASSERT_TRUE(roster_.sign(owner_).ok());
  reception_->look(roster_);
  EXPECT_EQ(knock(bob_, bob).standing, KnockStanding::kAccepted);
}

TEST(GuestList, LinesThatAreNotAsTheyAreWrittenAreRefused) {
  const std::string key = make_key_pair().public_key;
  const std::vector<Guest> guests = {{"bob", key, std::chrono::seconds(5)}};
  EXPECT_EQ(*parse_guests(to_text(guests)), guests);
  for (const std::string& text :
       {std::string("bob"), "bob " + key, "bob " + key + " x", "../bob " + key + " 5",
        "bob " + key.substr(1) + " 5", "bob " + key + " 5\nbob " + key + " 5", "bob " + key + " -5",
        "bob " + key + " 5 6"})
    EXPECT_EQ(parse_guests(text).error().kind, "guests") << text;
  EXPECT_EQ(parse_knockers("bob " + key + " " + key + " nowhere").error().kind, "guests");
  EXPECT_TRUE(parse_guests("\n\n")->empty());
}

}  // namespace
}  // namespace tessera
