// Records while the disk is full or descriptors have run out, the roster while it is edited, and
// folders of other runs.
#include "run/live_records.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "live/link/keys.h"
#include "live/link/loopback.h"
#include "live/nonce.h"
#include "live/sign/signing.h"
#include "run/live_identity.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Lowers a limit of this process while it lives.
class Limited {
 public:
  Limited(decltype(RLIMIT_FSIZE) what, rlim_t most) : what_(what) {
    ::getrlimit(what_, &before_);
    rlimit lower = before_;
    lower.rlim_cur = most;
    ::setrlimit(what_, &lower);
  }
  ~Limited() { ::setrlimit(what_, &before_); }

 private:
  decltype(RLIMIT_FSIZE) what_;
  rlimit before_{};
};

class LiveRecordsTest : public testing::Test {
 protected:
  LiveRecordsTest() {
    std::signal(SIGXFSZ, SIG_IGN);
    fs::remove_all(root_), fs::create_directories(root_);
    for (const char* name : {"alice", "bob"})
      EXPECT_TRUE(
          roster_.add(name, fmt::format("10.0.0.1:{}", 5555 + roster_.next_id()), make_key()).ok());
    roster_.set_run(0xabc);
    write(roster_);
    transport_ = network_.attach(0, roster_.members(), {});
    begin();
    folder_.emplace(root_ / "run", "seed = 1\n", ExistingRun::kResume);
    records_.emplace(LiveRecordsParts{
        .folder = &*folder_,
        .roster = &*file_,
        .membership = &*membership_,
        .say = [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }});
  }
  ~LiveRecordsTest() override { fs::remove_all(root_); }

  static std::string make_key() { return make_key_pair().public_key; }
  // As later than any earlier one, whatever the file system's clock is like.
  void write(const Roster& roster) {
    ASSERT_TRUE(roster.write(root_ / "roster.toml").ok());
    fs::last_write_time(root_ / "roster.toml",
                        fs::file_time_type::clock::now() + std::chrono::seconds(++edits_));
  }
  void begin() {
    file_.emplace(root_ / "roster.toml", "alice");
    membership_.emplace(file_->roster(), file_->self(),
                        MembershipParts{.transport = transport_.get(),
                                        .say = [this](LogLevel, std::string_view line) {
                                          lines_.emplace_back(line);
                                        }});
  }
  // What is said of the roster's file as it is now.
  std::string look() {
    const std::size_t before = lines_.size();
    records_->on_tick();
    membership_->tick();
    return lines_.size() > before ? lines_.back() : "";
  }
  std::string rows() const {
    const Result<std::string> text = read_text_file(root_ / "run" / "metrics.jsonl");
    return text.ok() ? *text : "";
  }
  std::size_t said(std::string_view words) const {
    std::size_t times = 0;
    for (const std::string& line : lines_) times += line.find(words) != line.npos;
    return times;
  }

  fs::path root_ =
      fs::path(testing::TempDir()) / fmt::format("tessera_live_records_{}", ::getpid());
  Roster roster_;
  int edits_ = 0;
  std::optional<RosterFile> file_;
  std::optional<Membership> membership_;
  LoopbackNetwork network_;
  std::unique_ptr<Transport> transport_;
  std::optional<RunFolder> folder_;
  std::vector<std::string> lines_;
  std::optional<LiveRecords> records_;
};

TEST_F(LiveRecordsTest, RowsWaitWhileTheDiskIsFullAndAreWrittenInOrderLater) {
  records_->on_row({.round = 1});
  {
    const Limited full(RLIMIT_FSIZE, 0);
    records_->on_row({.round = 2});
    records_->on_row({.round = 3});
    EXPECT_FALSE(records_->on_checkpoint(3, Bytes(10)));
    EXPECT_FALSE(records_->on_checkpoint(3, Bytes(10)));
  }
  EXPECT_EQ(said("cannot write records"), 1u);  // However often it fails.
  EXPECT_EQ(said("File too large"), 1u);        // By name.
  ASSERT_EQ(records_->alarms().size(), 1u);
  EXPECT_EQ(rows().find("\"round\":2"), std::string::npos);
  EXPECT_TRUE(records_->on_checkpoint(3, Bytes(10)));
  EXPECT_EQ(said("records can be written again"), 1u);
  EXPECT_TRUE(records_->alarms().empty());
  std::size_t before = 0;
  for (const char* row : {"\"round\":1,", "\"round\":2,", "\"round\":3,"}) {
    EXPECT_GE(rows().find(row), before) << rows();
    ASSERT_NE(rows().find(row), std::string::npos) << rows();
    before = rows().find(row);
  }
  EXPECT_EQ(records_->rows_lost(), 0u);
}

#if !TESSERA_SANITIZED  // The check of an object's type opens a pipe.
TEST_F(LiveRecordsTest, WithoutDescriptorsRowsGoOnAndCheckpointsWait) {
  records_->on_row({.round = 1});
  {
    const Limited none(RLIMIT_NOFILE, 0);
    records_->on_row({.round = 2});
    EXPECT_FALSE(records_->on_checkpoint(2, Bytes(10)));
  }
  EXPECT_EQ(said("Too many open files"), 1u);
  EXPECT_NE(rows().find("\"round\":2,"), std::string::npos);
  EXPECT_TRUE(records_->on_checkpoint(2, Bytes(10)));
}
#endif

TEST_F(LiveRecordsTest, AFolderOfCheckpointsThatWasRemovedIsMadeAgain) {
  fs::remove_all(root_ / "run" / "checkpoint");
  EXPECT_TRUE(records_->on_checkpoint(4, Bytes(10)));
  EXPECT_EQ(records_->last_checkpoint(), Bytes(10));
}

TEST_F(LiveRecordsTest, ARecordingThatCannotGrowEndsAndTheNodeDoesNot) {
  records_->record(root_ / "events", {.config = "none"});
  {
    const Limited full(RLIMIT_FSIZE, 0);
    records_->on_event(Instant{}, Woke{});
    records_->on_event(Instant{}, Woke{});
  }
  EXPECT_EQ(said("the recording ends here"), 1u);
}

TEST_F(LiveRecordsTest, ANewMemberIsLetInAndARosterThatCannotBeOursIsNot) {
  EXPECT_EQ(look(), "");
  ASSERT_TRUE(roster_.add("carol", "10.0.0.3:5555", make_key()).ok());
  write(roster_);
  EXPECT_EQ(look(), "the roster has changed: 3 members");
  EXPECT_EQ(transport_->peers().size(), 2u);

  Roster empty;
  empty.set_run(roster_.run());
  Roster next = roster_;
  next.set_run(0xdef);
  for (const auto& [wrong, why] :
       {std::pair{empty, "no members"}, std::pair{next, "of run 0000"}}) {
    write(wrong);
    EXPECT_NE(look().find(why), std::string::npos);
    EXPECT_FALSE(membership_->is_out());
    EXPECT_EQ(transport_->peers().size(), 2u);
  }
  std::ofstream(root_ / "roster.toml") << "";
  fs::last_write_time(root_ / "roster.toml",
                      fs::file_time_type::clock::now() + std::chrono::seconds(++edits_));
  EXPECT_NE(look().find("is not used"), std::string::npos);
  EXPECT_EQ(transport_->peers().size(), 2u);
}

TEST_F(LiveRecordsTest, AMemberThatWasRemovedSaysThatItIsOut) {
  ASSERT_TRUE(roster_.remove("alice").ok());
  write(roster_);
  EXPECT_NE(look().find("alice is out"), std::string::npos);
  EXPECT_TRUE(membership_->is_out());
  EXPECT_EQ(transport_->peers().size(), 1u);  // The old one is kept.
  ASSERT_EQ(records_->alarms().size(), 1u);
  EXPECT_NE(records_->alarms().front().find("alice is no longer in the roster"), std::string::npos);
}

TEST_F(LiveRecordsTest, OfAnOwnersRosterOnlyANewerSignedOneIsUsed) {
  const KeyPair owner = make_signing_pair();
  write(roster_);
  EXPECT_EQ(look(), "") << "nothing but its date has changed";
  ASSERT_TRUE(roster_.sign(owner).ok());
  const Roster first = roster_;
  write(first);
  EXPECT_NE(look().find("another owner"), std::string::npos);
  begin();

  ASSERT_TRUE(roster_.replace("bob", "10.0.0.9:5555", "").ok());
  const Roster changed = roster_;
  ASSERT_TRUE(roster_.sign(owner).ok());
  write(roster_);
  EXPECT_EQ(look(), "the roster has changed: version 2, 2 members");
  write(changed);
  EXPECT_NE(look().find("without being signed"), std::string::npos);
  write(first);
  EXPECT_NE(look().find("it is version 1, and this node has 2"), std::string::npos);
  EXPECT_EQ(membership_->roster().find("bob")->address, "10.0.0.9:5555");
  const WordCounts refusals = transport_->refusals();
  EXPECT_EQ(refusals.at("roster-owner"), 1u);
  EXPECT_EQ(refusals.at("roster-unsigned"), 1u);
  EXPECT_EQ(refusals.at("roster-old"), 1u);

  write(changed);
  EXPECT_THROW(RosterFile(root_ / "roster.toml", "alice"), std::invalid_argument);
}

TEST_F(LiveRecordsTest, ARosterWithoutARunOrWithoutUsIsRefusedAtTheBeginning) {
  roster_.set_run(0);
  write(roster_);
  try {
    RosterFile(root_ / "roster.toml", "alice");
    ADD_FAILURE() << "it says no run";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("tessera roster new-run"), std::string::npos);
  }
  EXPECT_THROW(RosterFile(root_ / "roster.toml", "dave"), std::invalid_argument);
}

TEST_F(LiveRecordsTest, AFolderIsOneNodesOfOneRun) {
  const LiveIdentity alice{.run = 0xabc, .id = 0, .name = "alice"};
  refuse_others_folder(root_ / "run", alice);  // It says nothing yet.
  mark_folder(root_ / "run", alice);
  refuse_others_folder(root_ / "run", alice);
  EXPECT_EQ(run_of_nodes(root_), 0xabcu);
  EXPECT_FALSE(run_of_nodes(root_ / "run"));
  const auto refusal = [&](const LiveIdentity& other) -> std::string {
    try {
      refuse_others_folder(root_ / "run", other);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal({.run = 0xdef, .id = 0, .name = "alice"}).find("of an earlier run"),
            std::string::npos);
  EXPECT_NE(refusal({.run = 0xabc, .id = 1, .name = "bob"}).find("is of alice (node 0)"),
            std::string::npos);
  std::ofstream(root_ / "run" / "node.toml") << "run = ";
  EXPECT_NE(refusal(alice), "");
}

TEST(Nonce, IsNeverTheSame) {
  EXPECT_NE(draw_nonce(), draw_nonce());
}

}  // namespace
}  // namespace tessera
