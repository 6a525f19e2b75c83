// The folder on the machine of a fleet's owner: its roster, the owner's key, and the settings of
// the member that lives here, at which newcomers knock.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "live/guest_list.h"
#include "live/roster.h"
#include "run/live_settings.h"

namespace CLI {
class App;
}

namespace tessera {

struct HomeArguments {
  std::string folder = ".";
  std::string node{};       // The member's settings; empty: they are found.
  std::string owner_key{};  // Empty: fleet.key in the folder.
};
void add_home_options(CLI::App& parser, HomeArguments& arguments);

struct LiveHome {
  LiveSettings settings{};
  Roster roster{};
  KeyPair owner{};
  std::filesystem::path guests() const { return settings.guests; }
};

inline constexpr const char* kHomeRoster = "roster.toml";
// A file in that folder, as people would write it.
std::filesystem::path in_folder(const std::string& folder, const std::string& file);
std::filesystem::path owner_key_of(const HomeArguments& arguments);

// Throws std::invalid_argument that says what is missing, and how it is made.
LiveHome open_home(const HomeArguments& arguments);

// A node's settings as a file: what is said, and nothing that goes without saying. Paths are as
// seen from here. Throws std::runtime_error.
void write_settings(const std::filesystem::path& file,
                    const std::map<std::string, std::string>& lines);

// Flags for every key of a node's settings but those that are known already.
void add_setting_flags(CLI::App& parser, std::map<std::string, std::string>& flags,
                       const std::vector<std::string>& known);

// For its owner alone. Throws std::invalid_argument.
void make_private_folder(const std::filesystem::path& folder);

// Invitations that hold just now.
std::vector<Guest> valid_guests(const LiveHome& home);
void write_guests(const LiveHome& home, const std::vector<Guest>& guests);

}  // namespace tessera
