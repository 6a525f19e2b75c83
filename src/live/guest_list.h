// Who is invited, and who has knocked: two small files in the folder of the member that newcomers
// knock at. The first is written by `tessera invite`, the second by the running member; `tessera
// accept` reads both. A line each, of words:
//
//   invitations   NAME  KEY  UNTIL            the invitation's public key; seconds since 1970
//   knocks        NAME  KEY  PUBLIC  ADDRESS  the invitation's key, the newcomer's own, its address
//
// Neither holds a secret: who reads them can knock for nobody.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "live/link/knocks.h"

namespace tessera {

struct Guest {
  std::string name{};
  std::string key{};  // The invitation's public key.
  std::chrono::seconds until{};
  bool operator==(const Guest&) const = default;
};

struct Knocker {
  std::string name{};
  std::string key{};  // The invitation's.
  Knock said{};
  bool operator==(const Knocker&) const = default;
};

inline constexpr const char* kInvitationsFile = "invitations";
inline constexpr const char* kKnocksFile = "knocks";
inline constexpr std::size_t kGuestsMax = 2500;  // As many as a roster has room for.

// Empty where a member could have that key and address, else what is wrong with them.
std::string knock_fault(const Knock& knock);

// Errors: "guests", with the line.
Result<std::vector<Guest>> parse_guests(std::string_view text);
Result<std::vector<Knocker>> parse_knockers(std::string_view text);
std::string to_text(const std::vector<Guest>& guests);
std::string to_text(const std::vector<Knocker>& knockers);

// Of a member's folder; a file that is not there has no lines.
Result<std::vector<Guest>> read_guests(const std::filesystem::path& folder);
Result<std::vector<Knocker>> read_knockers(const std::filesystem::path& folder);

}  // namespace tessera
