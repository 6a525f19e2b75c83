#include "live/guest_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/files.h"
#include "base/text.h"
#include "live/link/keys.h"
#include "live/roster.h"

namespace tessera {
namespace {

constexpr std::size_t kListBytesMax = 1 << 20;

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' '))
    if (!word.empty()) words.emplace_back(word);
  return words;
}

bool read_seconds(std::string_view text, std::chrono::seconds& until) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  until = std::chrono::seconds(seconds);
  return error == std::errc{} && end == text.data() + text.size() && seconds >= 0;
}

bool read_row(const std::vector<std::string>& words, Guest& guest) {
  if (words.size() != 3) return false;
  guest.name = words[0];
  guest.key = words[1];
  return member_name_fault(guest.name).empty() && is_public_key(guest.key) &&
         read_seconds(words[2], guest.until);
}

bool read_row(const std::vector<std::string>& words, Knocker& knocker) {
  if (words.size() != 4) return false;
  knocker = {words[0], words[1], {words[2], words[3]}};
  return member_name_fault(knocker.name).empty() && is_public_key(knocker.key) &&
         knock_fault(knocker.said).empty();
}

// One row for each name.
template <typename Row>
Result<std::vector<Row>> parse_rows(std::string_view text) {
  std::vector<Row> rows;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::vector<std::string> words = words_of(take_line(text));
    if (words.empty()) continue;
    Row row;
    if (!read_row(words, row))
      return Error{"guests", fmt::format("line {} is not as tessera invite writes it", number)};
    const auto same = [&](const Row& other) { return other.name == row.name; };
    if (std::any_of(rows.begin(), rows.end(), same) || rows.size() == kGuestsMax)
      return Error{"guests", fmt::format("line {}: {} twice, or too many", number, row.name)};
    rows.push_back(std::move(row));
  }
  return rows;
}

template <typename Row>
Result<std::vector<Row>> read_rows(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::vector<Row>();
  const Result<std::string> text = read_text_file(path, kListBytesMax);
  if (!text) return text.error();
  Result<std::vector<Row>> rows = parse_rows<Row>(*text);
  if (rows.ok()) return rows;
  return Error{rows.error().kind, fmt::format("{}: {}", path.string(), rows.error().message)};
}

}  // namespace

std::string knock_fault(const Knock& knock) {
  if (!is_public_key(knock.public_key)) return "its key is none";
  if (knock.address.size() > 255) return "its address is too long";
  return member_address_fault(knock.address);
}

Result<std::vector<Guest>> parse_guests(std::string_view text) {
  return parse_rows<Guest>(text);
}

Result<std::vector<Knocker>> parse_knockers(std::string_view text) {
  return parse_rows<Knocker>(text);
}

std::string to_text(const std::vector<Guest>& guests) {
  std::string text;
  for (const Guest& guest : guests)
    text += fmt::format("{} {} {}\n", guest.name, guest.key, guest.until.count());
  return text;
}

std::string to_text(const std::vector<Knocker>& knockers) {
  std::string text;
  for (const Knocker& knocker : knockers)
    text += fmt::format("{} {} {} {}\n", knocker.name, knocker.key, knocker.said.public_key,
                        knocker.said.address);
  return text;
}

Result<std::vector<Guest>> read_guests(const std::filesystem::path& folder) {
  return read_rows<Guest>(folder / kInvitationsFile);
}

Result<std::vector<Knocker>> read_knockers(const std::filesystem::path& folder) {
  return read_rows<Knocker>(folder / kKnocksFile);
}

}  // namespace tessera
