// Where those who are invited knock, at one running member: who they say they are is kept in a file
// for the owner to look at (guest_list.h), and when the owner has put them into the roster they are
// told it. An invitation belongs to the first key that knocks with it. Nothing here makes anybody a
// member.
//
// Refusals: "knock" for one that is malformed, "invitation-taken" for another key's with the same
// invitation.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "live/guest_list.h"
#include "live/link/transport.h"
#include "live/log_level.h"
#include "live/roster.h"

namespace tessera {

struct ReceptionParts {
  std::filesystem::path folder{};  // Of invitations and knocks; empty: nobody is invited.
  std::string experiment{};        // What guests are told.
  // They are told the roster when it has had so many members: all begin together.
  std::size_t begin_with = 0;
  Transport* transport = nullptr;
  Say say{};
};

class Reception {
 public:
  explicit Reception(ReceptionParts parts);
  ~Reception();
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  // The run has begun before: nobody waits for others.
  void open();
  // A few times a second: who is invited by now, who has knocked since.
  void look(const Roster& roster);

  KnockAnswer answer(std::string_view guest, ByteSpan frame);  // From any thread.

 private:
  void read_invitations();
  void set_guests();
  void write_knocks(std::string_view text);
  Knocker* knocker_of(const Guest& guest);
  KnockStanding take_knock(const Guest& guest, const Knock& knock);

  const ReceptionParts parts_;
  std::filesystem::file_time_type read_at_{};
  std::vector<std::string> keys_at_door_;
  bool write_failed_ = false;

  std::mutex mutex_;  // Of all that follows.
  std::vector<Guest> guests_;
  std::vector<Knocker> knockers_;
  Roster roster_;
  bool open_ = false;               // The roster has had enough members.
  bool unsaved_ = false;            // Somebody has knocked since the file was written.
  std::vector<std::string> lines_;  // For the log.
  std::set<std::string> disputed_;  // Names of which a second key was said.
};

}  // namespace tessera
