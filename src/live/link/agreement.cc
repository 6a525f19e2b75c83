#include "live/link/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tessera {
namespace {

constexpr std::string_view kBetween = " = ";
constexpr std::size_t kKeysMax = 4;     // That are told.
constexpr std::size_t kValueMax = 120;  // Characters of a value that are told.

using Lines = std::map<std::string_view, std::string_view>;  // Values by key.

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty()) continue;
    const std::size_t between = std::min(line.find(kBetween), line.size());
    lines[line.substr(0, between)] = line.substr(std::min(between + kBetween.size(), line.size()));
  }
  return lines;
}

// Long values are told from where they part.
std::string show(std::string_view value, std::size_t parted) {
  const std::size_t begin = value.size() > kValueMax && parted > kValueMax / 2
                                ? std::min(parted - kValueMax / 4, value.size())
                                : 0;
  const std::string_view part = value.substr(begin, kValueMax);
  return fmt::format("{}{}{}", begin > 0 ? "..." : "", without_controls(part),
                     begin + part.size() < value.size() ? "..." : "");
}

std::string show_pair(std::string_view here, std::string_view there) {
  const auto parted = static_cast<std::size_t>(
      std::mismatch(here.begin(), here.end(), there.begin(), there.end()).first - here.begin());
  return fmt::format("here {}, there {}", show(here, parted), show(there, parted));
}

}  // namespace

// In UTF-8 the second set, U+0080 to U+009F, is 0xC2 and a byte below 0xA0.
std::string without_controls(std::string_view text) {
  std::string shown(text);
  unsigned char before = 0;
  for (char& c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    const bool second = before == 0xc2 && byte >= 0x80 && byte < 0xa0;
    if (byte < 0x20 || byte == 0x7f || second) c = '?';
    before = byte;
  }
  return shown;
}

void Agreement::add(std::string_view key, std::string_view value) {
  const std::string line =
      fmt::format("{}{}{}\n", without_controls(key), kBetween, without_controls(value));
  text_ += line.substr(0, kBytesMax - text_.size());
}

std::string difference(std::string_view here, std::string_view there) {
  const Lines ours = lines_of(here), theirs = lines_of(there);
  Lines keys = ours;
  keys.insert(theirs.begin(), theirs.end());
  std::string told;
  std::size_t differing = 0;
  for (const auto& [key, unused] : keys) {
    const auto own = ours.find(key), other = theirs.find(key);
    const std::string_view mine = own == ours.end() ? "nothing" : own->second;
    const std::string_view its = other == theirs.end() ? "nothing" : other->second;
    if (mine == its || ++differing > kKeysMax) continue;
    told += fmt::format("{}{}: {}", told.empty() ? "" : "; ", show(key, 0), show_pair(mine, its));
  }
  if (differing > kKeysMax) told += fmt::format("; and {} more", differing - kKeysMax);
  return told.empty() ? "something that it does not tell" : told;
}

}  // namespace tessera
