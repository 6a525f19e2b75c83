// The roster a live node begins with, and its file, which may change while the node runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "live/roster.h"

namespace tessera {

class RosterFile {
 public:
  // `kept` is where a running node leaves what it took over from others; that is begun with where
  // it may follow what the file says. Throws std::invalid_argument when the file cannot be used,
  // has no run or not this member, or has an owner who did not sign it.
  RosterFile(std::filesystem::path path, const std::string& name,
             const std::filesystem::path& kept = {});

  const Roster& roster() const { return roster_; }
  const Member& self() const { return self_; }
  // What is in the file now, or why it cannot be read; nothing when it has not changed.
  std::optional<Result<Roster>> look();

 private:
  std::filesystem::path path_;
  std::filesystem::file_time_type read_at_;
  Roster roster_;
  Member self_;
};

}  // namespace tessera
