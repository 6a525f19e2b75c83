// Rosters and keys: what a file may say, what it may not, and who may read it.
#include "live/roster.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files.h"
#include "live/link/keys.h"

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

// A member that leaves takes its id along, and no other becomes another node because of it.
TEST(Roster, IdsAreNeverGivenTwice) {
  Roster roster = three();
  ASSERT_TRUE(roster.remove("carol"));
  roster = *Roster::parse(roster.to_toml());
  EXPECT_EQ(*roster.add("dave", "10.0.0.4:5555", key(3)), 3u);
  EXPECT_EQ(roster.find("alice")->id, 0u);
  EXPECT_EQ(roster.find(2), nullptr);
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
