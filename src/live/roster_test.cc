// Rosters and keys: what a file may say, what it may not, and who may read it.
#include "live/roster.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "base/files.h"
#include "live/link/keys.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::path(testing::TempDir()) / fs::path("tessera-roster-" + unique())) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  static std::string unique() {
    return testing::UnitTest::GetInstance()->current_test_info()->name() +
           std::to_string(::getpid());
  }
  fs::path path_;
};

std::string key(int i) {
  static std::vector<std::string> keys;
  while (static_cast<int>(keys.size()) <= i) keys.push_back(make_key_pair().public_key);
  return keys[static_cast<std::size_t>(i)];
}

Roster three() {
  Roster roster;
  EXPECT_EQ(*roster.add("alice", "10.0.0.1:5555", key(0)), 0u);
  EXPECT_EQ(*roster.add("bob", "bob.example.org:5555", key(1)), 1u);
  EXPECT_EQ(*roster.add("carol", "[fd00::3]:5555", key(2)), 2u);
  return roster;
}

TEST(Roster, ComesBackFromItsFile) {
  const Folder folder;
  const Roster roster = three();
  ASSERT_TRUE(roster.write(folder / "roster.toml"));
  const Result<Roster> read = Roster::read(folder / "roster.toml");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->members().size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read->members()[i], roster.members()[i]);
  EXPECT_EQ(read->find("bob")->id, 1u);
  EXPECT_EQ(read->find(2)->name, "carol");
  EXPECT_EQ(read->find("dave"), nullptr);
}

TEST(Roster, SaysWhichRunItIsOf) {
  Roster roster = three();
  EXPECT_EQ(roster.run(), 0u);
  EXPECT_EQ(roster.to_toml().find("run ="), std::string::npos);
  roster.set_run(0x4f2a91c05b7d3e68);
  const Result<Roster> read = Roster::parse(roster.to_toml());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->run(), 0x4f2a91c05b7d3e68u);
  for (const char* wrong : {"run = 5", "run = \"\"", "run = \"4f2a\"", "run = \"4f2a91c05b7d3e6x\"",
                            "run = \"0000000000000000\""})
    EXPECT_FALSE(Roster::parse(wrong)) << wrong;
}

// A member that leaves makes nobody else another node; its place is the next one's to take.
TEST(Roster, ThePlaceOfOneWhoLeftIsTakenByTheNext) {
  Roster roster = three();
  ASSERT_TRUE(roster.remove("bob"));
  roster = *Roster::parse(roster.to_toml());
  EXPECT_EQ(roster.next_id(), 3u);
  EXPECT_EQ(roster.find(1), nullptr);
  EXPECT_EQ(*roster.add("dave", "10.0.0.4:5555", key(3)), 1u);
  EXPECT_EQ(*roster.add("erin", "10.0.0.5:5555", key(4)), 3u);
  EXPECT_EQ(roster.find("alice")->id, 0u);
  EXPECT_EQ(roster.find("carol")->id, 2u);
}

TEST(Roster, AnotherMachineTakesAMembersPlace) {
  Roster roster = three();
  EXPECT_EQ(*roster.replace("bob", "10.0.0.9:5555", key(3)), 1u);
  EXPECT_EQ(roster.find("bob")->address, "10.0.0.9:5555");
  EXPECT_EQ(roster.find("bob")->public_key, key(3));
  EXPECT_EQ(*roster.replace("bob", "10.0.0.8:5555", ""), 1u);
  EXPECT_EQ(roster.find("bob")->public_key, key(3));
  EXPECT_FALSE(roster.replace("bob", "", key(0))) << "alice's key";
  EXPECT_EQ(roster.find("bob")->public_key, key(3)) << "what is refused changes nothing";
  EXPECT_FALSE(roster.replace("bobby", "10.0.0.7:1", ""));
  EXPECT_EQ(roster.members().size(), 3u);
}

TEST(Roster, PlacesMayBeLeftFreeButNotTakenAway) {
  Roster roster = three();
  ASSERT_TRUE(roster.set_places(5));
  EXPECT_EQ(*roster.add("dave", "10.0.0.4:5555", key(3)), 3u);
  EXPECT_EQ(roster.next_id(), 5u);
  EXPECT_FALSE(roster.set_places(3));
  ASSERT_TRUE(roster.set_places(4));
}

// What a node that runs makes of rosters that come its way.
class SignedRoster : public testing::Test {
 protected:
  SignedRoster() {
    held_.set_run(7);
    EXPECT_TRUE(held_.sign(owner_));
  }
  // The newer one after a change, signed or not.
  Roster next(const std::function<void(Roster&)>& change, bool is_signed = true) const {
    Roster roster = held_;
    change(roster);
    EXPECT_TRUE(!is_signed || roster.sign(owner_).ok());
    return roster;
  }
  std::string refusal(const Roster& next) const {
    const Result<void> fine = may_follow(held_, next);
    return fine ? "" : std::string(fine.error().kind);
  }
  static void lose_bob(Roster& roster) { EXPECT_TRUE(roster.remove("bob")); }

  KeyPair owner_ = make_signing_pair();
  Roster held_ = three();
};

TEST_F(SignedRoster, ComesBackFromItsText) {
  const Result<Roster> read = Roster::parse(held_.to_toml());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->check_signature());
  EXPECT_EQ(read->owner(), owner_.public_key);
  EXPECT_EQ(read->version(), 1u);
  EXPECT_EQ(read->to_toml(), held_.to_toml());
}

TEST_F(SignedRoster, TheNewerVersionFollows) {
  EXPECT_EQ(refusal(next(lose_bob)), "");
  EXPECT_EQ(next(lose_bob).version(), 2u);
}

TEST_F(SignedRoster, EveryChangeTakesTheSignatureAway) {
  for (const std::function<void(Roster&)>& change : std::vector<std::function<void(Roster&)>>{
           lose_bob, [](Roster& roster) { (void)roster.add("dave", "10.0.0.4:5555", key(3)); },
           [](Roster& roster) { (void)roster.replace("bob", "10.0.0.9:5555", ""); },
           [](Roster& roster) { (void)roster.set_places(9); },
           [](Roster& roster) { (void)roster.add_observer("desk", key(4)); },
           [](Roster& roster) { roster.set_run(8); }})
    EXPECT_EQ(refusal(next(change, false)), "roster-unsigned");
}

TEST_F(SignedRoster, WhatWasChangedBehindTheSignatureIsRefused) {
  const std::string text = next(lose_bob).to_toml();
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    return refusal(*Roster::parse(other));
  };
  EXPECT_EQ(changed("10.0.0.1", "10.0.0.2"), "roster-signature");
  EXPECT_EQ(changed("version = 2", "version = 3"), "roster-signature");
  EXPECT_EQ(changed("next_id = 3", "next_id = 4"), "roster-signature");
  EXPECT_EQ(changed(owner_.public_key, make_signing_pair().public_key), "roster-signature");
}

TEST_F(SignedRoster, AnOlderAnothersOrAnotherRunsIsRefusedByName) {
  EXPECT_EQ(refusal(held_), "roster-old");
  Roster others = three();
  others.set_run(7);
  EXPECT_EQ(refusal(others), "roster-owner") << "one that is kept by hand is nobody's";
  ASSERT_TRUE(others.sign(make_signing_pair()));
  EXPECT_EQ(refusal(others), "roster-owner");
  EXPECT_FALSE(others.sign(owner_)) << "it is another's";
  EXPECT_EQ(refusal(next([](Roster& roster) { roster.set_run(8); })), "roster-run");
  EXPECT_EQ(refusal(next([](Roster& roster) {
              for (const char* name : {"alice", "bob", "carol"}) ASSERT_TRUE(roster.remove(name));
            })),
            "roster-empty");
  EXPECT_EQ(
      refusal(next([](Roster& roster) { (void)roster.add("dave", "10.0.0.4:5555", key(3)); })),
      "roster-places");
}

TEST_F(SignedRoster, OwnerVersionAndSignatureBelongTogether) {
  for (const char* line : {"version = 0", "version = -1", "version = 1", "owner = \"00\"",
                           "signature = \"00\"", "version = 1000000000000"})
    EXPECT_FALSE(Roster::parse(line)) << line;
  EXPECT_FALSE(Roster::parse("owner = \"" + owner_.public_key + "\""));
}

// Single quotes let such an address into a file, and double ones would end it on the way back.
TEST(Roster, AnAddressNeedsNoEscaping) {
  for (const char* address : {"a\"b:1", "a\\b:1"}) EXPECT_NE(address_fault(address), "") << address;
}

TEST(Roster, AnyNumberOfMembersMayDialOut) {
  Roster roster;
  ASSERT_TRUE(roster.add("alice", "10.0.0.1:5555", make_key_pair().public_key));
  for (const char* name : {"bob", "carol"})
    ASSERT_TRUE(roster.add(name, std::string(kDialsOut), make_key_pair().public_key));
  const Result<Roster> read = Roster::parse(roster.to_toml());
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->find("alice")->dials_out());
  EXPECT_TRUE(read->find("carol")->dials_out());
}

TEST(Roster, WhatDoesNotHoldIsRefusedInWords) {
  const auto fault_of = [](const std::string& name, const std::string& address,
                           const std::string& shared) {
    Roster roster = three();
    const Result<NodeId> added = roster.add(name, address, shared);
    return added ? std::string() : added.error().message;
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  };
  EXPECT_EQ(fault_of("dave", "10.0.0.4:1", key(3)), "");
  EXPECT_TRUE(has(fault_of("bob", "10.0.0.4:1", key(3)), "two members called bob"));
  EXPECT_TRUE(has(fault_of("dave", "10.0.0.1:5555", key(3)), "same address"));
  EXPECT_TRUE(has(fault_of("dave", "10.0.0.4:1", key(0)), "same public key"));
  EXPECT_TRUE(has(fault_of("da ve", "10.0.0.4:1", key(3)), "letters"));
  EXPECT_TRUE(has(fault_of("../x", "10.0.0.4:1", key(3)), "letters"));
  EXPECT_TRUE(has(fault_of("dave", "10.0.0.4:1", "short"), "40 characters"));
  EXPECT_TRUE(has(fault_of("dave", "10.0.0.4:1", std::string(40, '"')), "40 characters"));
  for (const char* address : {"", "host", ":1", "host:", "host:0", "host:65536", "host:12x",
                              "tcp://host:1", "fd00::3:5555", "ho st:1", "*:5555"})
    EXPECT_NE(fault_of("dave", address, key(3)), "") << address;
}

TEST(Roster, FilesThatAreNoRosterAreRefused) {
  const std::string good = three().to_toml();
  EXPECT_TRUE(Roster::parse(good));
  EXPECT_TRUE(Roster::parse(""));
  EXPECT_EQ(Roster::parse("member = [").error().kind, "toml");
  const auto refused = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos);
    text.replace(at, from.size(), to);
    const Result<Roster> roster = Roster::parse(text);
    return !roster && roster.error().kind == "roster";
  };
  EXPECT_TRUE(refused("next_id = 3", "next_id = 2"));
  EXPECT_TRUE(refused("next_id = 3", "next_id = -1"));
  EXPECT_TRUE(refused("next_id = 3", "nextid = 3"));
  EXPECT_TRUE(refused("id = 1", "id = 0"));
  EXPECT_TRUE(refused("id = 1", "id = \"1\""));
  EXPECT_TRUE(refused("id = 1", "id = 4294967295"));
  EXPECT_TRUE(refused("name = \"bob\"", "name = \"alice\""));
  EXPECT_TRUE(refused("name = \"bob\"", "nam = \"bob\""));
  EXPECT_TRUE(refused("name = \"bob\"", "name = 7"));
  EXPECT_EQ(Roster::parse("member = 3").error().kind, "roster");
  EXPECT_EQ(Roster::parse("member = [3]").error().kind, "roster");
}

TEST(Roster, ObserversStandBesideTheMembersAndAreNoNodes) {
  Roster roster = three();
  ASSERT_TRUE(roster.add_observer("desk", key(4)));
  const Result<Roster> read = Roster::parse(roster.to_toml());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->observers().size(), 1u);
  EXPECT_EQ(read->observers()[0], (RosterObserver{"desk", key(4)}));
  EXPECT_EQ(read->members().size(), 3u);
  EXPECT_EQ(read->find("desk"), nullptr);
  EXPECT_EQ(read->next_id(), 3u);
  ASSERT_TRUE(roster.remove("desk"));
  EXPECT_TRUE(roster.observers().empty());
}

TEST(Roster, AnObserverHasANameAndAKeyOfItsOwn) {
  Roster roster = three();
  ASSERT_TRUE(roster.add_observer("desk", key(4)));
  EXPECT_FALSE(roster.add_observer("desk", key(5)));
  EXPECT_FALSE(roster.add_observer("tower", key(4)));
  EXPECT_FALSE(roster.add_observer("alice", key(5)));
  EXPECT_FALSE(roster.add_observer("tower", key(0)));
  EXPECT_FALSE(roster.add_observer("to wer", key(5)));
  EXPECT_FALSE(roster.add_observer("tower", "short"));
  EXPECT_FALSE(roster.add("desk", "10.0.0.4:5555", key(5)));
  EXPECT_FALSE(roster.add("dave", "10.0.0.4:5555", key(4)));
  EXPECT_EQ(Roster::parse("observer = 3").error().kind, "roster");
  EXPECT_EQ(Roster::parse("[[observer]]\nname = \"desk\"").error().kind, "roster");
  EXPECT_EQ(Roster::parse("[[observer]]\nid = 1").error().kind, "roster");
}

TEST(Keys, ThePrivateFileIsForItsOwnerAndIsNeverOverwritten) {
  const Folder folder;
  const KeyFiles files = {folder / "alice.key", folder / "alice.pub"};
  const Result<KeyPair> made = make_key_files(files);
  ASSERT_TRUE(made) << made.error().message;
  struct ::stat status {};
  ASSERT_EQ(::stat(files.secret.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_TRUE(is_public_key(made->public_key));

  const Result<KeyPair> again = make_key_files(files);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, "exists");
  fs::remove(files.shared);
  EXPECT_EQ(make_key_files(files).error().kind, "exists");  // The private one alone is enough.

  const Result<KeyPair> read = read_key_file(files.secret);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->public_key, made->public_key);
  EXPECT_EQ(read->secret_key, made->secret_key);

  fs::permissions(files.secret, fs::perms::group_read, fs::perm_options::add);
  EXPECT_EQ(read_key_file(files.secret).error().kind, "mode");
  EXPECT_EQ(read_key_file(folder / "nobody.key").error().kind, "file");
}

TEST(Keys, AFileWithoutAKeyIsRefused) {
  const Folder folder;
  const fs::path file = folder / "odd.key";
  ASSERT_TRUE(write_file(file, bytes_of(std::string_view("not a key\n"))));
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(read_key_file(file).error().kind, "key");
}

// These four bytes made the parser of TOML run into undefined behaviour.
TEST(Roster, IsWrittenInAsciiOnly) {
  const Result<Roster> roster = Roster::parse("\n\n\xc5\xba");
  ASSERT_FALSE(roster.ok());
  EXPECT_EQ(roster.error().message, "line 3: a roster is written in ASCII letters only");
}

}  // namespace
}  // namespace tessera
