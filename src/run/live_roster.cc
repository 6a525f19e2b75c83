#include "run/live_roster.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;

fs::file_time_type changed_at(const fs::path& path) {
  std::error_code ignored;
  return fs::last_write_time(path, ignored);
}

Roster newest_of(const fs::path& path, const fs::path& kept) {
  Roster roster = or_throw<std::invalid_argument>(Roster::read(path));
  or_throw<std::invalid_argument>(roster.check_signature(), path.string() + ": ");
  if (kept.empty() || !roster.has_owner()) return roster;
  Result<Roster> later = Roster::read(kept);
  return later.ok() && may_follow(roster, *later).ok() ? std::move(*later) : roster;
}

}  // namespace

RosterFile::RosterFile(fs::path path, const std::string& name, const fs::path& kept)
    : path_(std::move(path)), read_at_(changed_at(path_)), roster_(newest_of(path_, kept)) {
  const Member* const member = roster_.find(name);
  if (member == nullptr && roster_.has_owner())
    throw std::invalid_argument(
        fmt::format("{} is not in the roster, whose newest version here is {}: its owner adds it, "
                    "or has removed it",
                    name, roster_.version()));
  if (member == nullptr)
    throw std::invalid_argument(
        fmt::format("{} is not in {}: tessera roster add", name, path_.string()));
  self_ = *member;
  if (roster_.run() == 0)
    throw std::invalid_argument(
        fmt::format("{0} does not say which run it is of: tessera roster new-run {0}, then copy it "
                    "to every machine",
                    path_.string()));
}

std::optional<Result<Roster>> RosterFile::look() {
  const auto changed = changed_at(path_);
  if (changed == read_at_) return std::nullopt;
  read_at_ = changed;
  return Roster::read(path_);
}

}  // namespace tessera
