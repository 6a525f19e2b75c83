// The roster of a live node: a file that may change while the node runs.
#pragma once

#include <filesystem>
#include <string>

#include "live/link/transport.h"
#include "live/roster.h"

namespace tessera {

// What has changed on disk takes effect at once: new members are let in. A file that cannot be this
// node's roster is not used; the node goes on with the one it had.
class RosterFile {
 public:
  // Throws std::invalid_argument when the file cannot be used, has no run, or not this member.
  RosterFile(std::filesystem::path path, const std::string& name);

  const Roster& roster() const { return roster_; }
  const Member& self() const { return self_; }
  // What happened, for the log; empty when nothing did.
  std::string look(Transport& transport);
  // The newest file has this member no longer, or with another key: the others refuse it.
  bool is_out() const { return out_; }

 private:
  std::string fault_of(const Roster& changed) const;

  std::filesystem::path path_;
  std::filesystem::file_time_type read_at_;
  Roster roster_;
  Member self_;
  bool out_ = false;
};

}  // namespace tessera
