#include "run/live_roster.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tessera {
namespace {

std::filesystem::file_time_type changed_at(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::last_write_time(path, ignored);
}

bool has(const Roster& roster, const Member& member) {
  const Member* const found = roster.find(member.name);
  return found != nullptr && found->public_key == member.public_key;
}

}  // namespace

RosterFile::RosterFile(std::filesystem::path path, const std::string& name)
    : path_(std::move(path)),
      read_at_(changed_at(path_)),
      roster_(or_throw<std::invalid_argument>(Roster::read(path_))) {
  const Member* const member = roster_.find(name);
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

std::string RosterFile::fault_of(const Roster& changed) const {
  if (changed.members().empty()) return "it has no members";
  if (changed.run() != roster_.run())
    return fmt::format("it is of run {}, and this node of run {}: stop the node to begin that one",
                       show_run(changed.run()), show_run(roster_.run()));
  if (!has(changed, self_))
    return fmt::format(
        "{} is out: it is not in there, or with another key, and others that read it refuse this "
        "node; stop it, or put it back",
        self_.name);
  if (changed.find(self_.name)->id != self_.id)
    return fmt::format("{} is node {} in there, and cannot become another node than {}", self_.name,
                       changed.find(self_.name)->id, self_.id);
  return {};
}

std::string RosterFile::look(Transport& transport) {
  const auto changed = changed_at(path_);
  if (changed == read_at_) return {};
  read_at_ = changed;
  Result<Roster> roster = Roster::read(path_);
  const std::string fault = roster.ok() ? fault_of(*roster) : roster.error().message;
  out_ = roster.ok() && !roster->members().empty() && !has(*roster, self_);
  if (!fault.empty()) return fmt::format("the roster has changed and is not used: {}", fault);
  roster_ = std::move(roster).value();
  transport.set_members(roster_.members());
  return fmt::format("the roster has changed: {} members", roster_.members().size());
}

}  // namespace tessera
