#include "cli/live_home.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "base/files.h"
#include "base/table.h"
#include "live/log_line.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// The member whose settings and key lie beside the roster.
fs::path settings_beside(const std::string& folder, const Roster& roster) {
  std::vector<fs::path> found;
  for (const Member& member : roster.members())
    if (const fs::path file = in_folder(folder, member.name + ".toml");
        fs::exists(file) && fs::exists(in_folder(folder, member.name + ".key")))
      found.push_back(file);
  if (found.size() == 1) return found.front();
  throw std::invalid_argument(
      fmt::format("{} of {} lives here: --node=FILE names the settings of the one to knock at",
                  found.empty() ? "no member" : "more than one member",
                  in_folder(folder, kHomeRoster).string()));
}

}  // namespace

void add_home_options(CLI::App& parser, HomeArguments& arguments) {
  parser.add_option("--dir", arguments.folder, "The fleet's folder (default: here)");
  parser.add_option("--node", arguments.node,
                    "Settings of the member to knock at (default: the one that is here)");
  parser.add_option("--sign", arguments.owner_key,
                    "The owner's key (default: fleet.key in the folder)");
}

fs::path in_folder(const std::string& folder, const std::string& file) {
  return (fs::path(folder) / file).lexically_normal();
}

fs::path owner_key_of(const HomeArguments& arguments) {
  return arguments.owner_key.empty() ? in_folder(arguments.folder, "fleet.key")
                                     : fs::path(arguments.owner_key);
}

LiveHome open_home(const HomeArguments& arguments) {
  const std::string& folder = arguments.folder;
  fs::path file = arguments.node;
  if (file.empty())
    file = settings_beside(
        folder, or_throw<std::invalid_argument>(Roster::read(in_folder(folder, kHomeRoster))));
  LiveHome home{.settings = read_live_settings(file, {})};
  home.roster = or_throw<std::invalid_argument>(Roster::read(home.settings.roster));
  if (!home.roster.has_owner())
    throw std::invalid_argument(
        fmt::format("{0} has no owner, whose word lets newcomers in: tessera keygen fleet --owner, "
                    "then tessera roster sign {0} fleet.key",
                    home.settings.roster));
  or_throw<std::invalid_argument>(home.roster.check_signature(), home.settings.roster + ": ");
  if (home.roster.find(home.settings.name) == nullptr)
    throw std::invalid_argument(
        fmt::format("{} is not in {}", home.settings.name, home.settings.roster));
  if (home.settings.guests.empty())
    throw std::invalid_argument(
        fmt::format("nobody can knock at {}: add guests = \"guests\" to {} and start it again",
                    home.settings.name, file.string()));
  home.owner = or_throw<std::invalid_argument>(read_signing_key(owner_key_of(arguments)));
  if (home.owner.public_key != home.roster.owner())
    throw std::invalid_argument(fmt::format("{} is not the key of the owner of {}",
                                            owner_key_of(arguments).string(),
                                            home.settings.roster));
  return home;
}

void write_settings(const fs::path& file, const std::map<std::string, std::string>& lines) {
  const fs::path from = fs::absolute(file).lexically_normal().parent_path();
  toml::table table;
  for (const LiveKey& key : live_keys()) {
    const auto line = lines.find(std::string(key.name));
    if (line == lines.end() || line->second.empty()) continue;
    table.insert(
        key.name,
        key.is_path
            ? fs::absolute(line->second).lexically_normal().lexically_relative(from).string()
            : line->second);
  }
  std::ostringstream text;
  text << table << "\n";
  or_throw(write_file(file, bytes_of(text.str())));
}

void add_setting_flags(CLI::App& parser, std::map<std::string, std::string>& flags,
                       const std::vector<std::string>& known) {
  for (const LiveKey& key : live_keys())
    if (std::find(known.begin(), known.end(), key.name) == known.end())
      parser.add_option("--" + std::string(key.name), flags[std::string(key.name)],
                        std::string(key.summary));
}

void make_private_folder(const fs::path& folder) {
  std::error_code error;
  const mode_t usual = ::umask(077);
  fs::create_directories(folder, error);
  ::umask(usual);
  if (error)
    throw std::invalid_argument(
        fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
}

std::vector<Guest> valid_guests(const LiveHome& home) {
  std::vector<Guest> guests = or_throw<std::invalid_argument>(read_guests(home.guests()));
  std::erase_if(guests, [](const Guest& guest) { return guest.until <= time_of_day(); });
  return guests;
}

void write_guests(const LiveHome& home, const std::vector<Guest>& guests) {
  make_private_folder(home.guests());
  const std::string text = to_text(guests);
  or_throw(
      write_private_file(home.guests() / kInvitationsFile, {bytes_of(std::string_view(text))}));
}

}  // namespace tessera
