// A roster as text, and back.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/files.h"
#include "base/text.h"
#include "live/roster.h"

namespace tessera {
namespace {

Error wrong(std::string message) {
  return {"roster", std::move(message)};
}

Result<std::string> text_of(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return wrong(fmt::format("a member or observer without {}", key));
  if (!node->is_string()) return wrong(fmt::format("{} should be text in quotes", key));
  return node->as_string()->get();
}

Result<NodeId> id_of(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return wrong(fmt::format("{} is missing", key));
  const std::int64_t value = node->is_integer() ? node->as_integer()->get() : -1;
  if (value < 0 || value > std::numeric_limits<NodeId>::max() - 1)
    return wrong(fmt::format("{} should be a whole number from 0", key));
  return static_cast<NodeId>(value);
}

Result<std::uint64_t> run_of(const toml::table& table) {
  const toml::node* node = table.get("run");
  if (node == nullptr) return 0;
  const std::string text = node->is_string() ? node->as_string()->get() : "";
  std::uint64_t run = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), run, 16);
  if (text.size() != 16 || error != std::errc{} || end != text.data() + text.size() || run == 0)
    return wrong("run should be 16 hexadecimal digits in quotes, as tessera roster new-run draws");
  return run;
}

// Empty where there is none.
Result<std::string> digits_of(const toml::table& table, std::string_view key, std::size_t count) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::string();
  const std::string text = node->is_string() ? node->as_string()->get() : "";
  if (text.size() != count || text.find_first_not_of("0123456789abcdef") != text.npos)
    return wrong(fmt::format("{} should be {} hexadecimal digits in quotes", key, count));
  return text;
}

Result<std::uint64_t> version_of(const toml::table& table) {
  const toml::node* node = table.get("version");
  if (node == nullptr) return 0;
  const std::int64_t value = node->is_integer() ? node->as_integer()->get() : 0;
  if (value < 1 || value > static_cast<std::int64_t>(Roster::kVersionMax))
    return wrong("version should be a whole number from 1, as tessera roster sign writes it");
  return static_cast<std::uint64_t>(value);
}

Result<void> refuse_unknown_keys(const toml::table& table,
                                 std::span<const std::string_view> known) {
  for (const auto& [key, value] : table)
    if (std::find(known.begin(), known.end(), key.str()) == known.end())
      return wrong(fmt::format("unknown key '{}'.{}", key.str(), suggestion(key.str(), known)));
  return {};
}

Result<Member> member_of(const toml::table& table) {
  constexpr std::array<std::string_view, 4> kKnown = {"id", "name", "address", "public_key"};
  if (const Result<void> fine = refuse_unknown_keys(table, kKnown); !fine) return fine.error();
  Member member;
  const Result<NodeId> id = id_of(table, "id");
  if (!id) return id.error();
  member.id = *id;
  for (const auto& [key, place] : {std::pair<std::string_view, std::string*>{"name", &member.name},
                                   {"address", &member.address},
                                   {"public_key", &member.public_key}}) {
    Result<std::string> text = text_of(table, key);
    if (!text) return text.error();
    *place = std::move(*text);
  }
  return member;
}

Result<RosterObserver> observer_of(const toml::table& table) {
  constexpr std::array<std::string_view, 2> kKnown = {"name", "public_key"};
  if (const Result<void> fine = refuse_unknown_keys(table, kKnown); !fine) return fine.error();
  Result<std::string> name = text_of(table, "name"), key = text_of(table, "public_key");
  if (!name) return name.error();
  if (!key) return key.error();
  return RosterObserver{std::move(*name), std::move(*key)};
}

// Every table that stands under [[key]].
Result<std::vector<const toml::table*>> tables_under(const toml::table& table,
                                                     std::string_view key) {
  std::vector<const toml::table*> tables;
  const toml::node* const node = table.get(key);
  if (node == nullptr) return tables;
  const Error not_tables = wrong(fmt::format("{0}s stand under [[{0}]], in double brackets", key));
  if (!node->is_array()) return not_tables;
  for (const toml::node& entry : *node->as_array()) {
    if (!entry.is_table()) return not_tables;
    tables.push_back(entry.as_table());
  }
  return tables;
}

Result<toml::table> table_of(std::string_view text) {
  // toml++ 3.3 runs into undefined behaviour on some letters beyond ASCII outside of quotes, which
  // fuzzing found; nothing in a roster needs them.
  const auto foreign = std::find_if(text.begin(), text.end(),
                                    [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (foreign != text.end())
    return Error{"toml", fmt::format("line {}: a roster is written in ASCII letters only",
                                     1 + std::count(text.begin(), foreign, '\n'))};
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Error{"toml", fmt::format("line {}: {}", error.source().begin.line,
                                     std::string(error.description()))};
  }
}

}  // namespace

Result<Roster> Roster::parse(std::string_view text) {
  const Result<toml::table> parsed = table_of(text);
  if (!parsed) return parsed.error();
  const toml::table& table = *parsed;
  constexpr std::array<std::string_view, 7> kKnown = {"signature", "owner",  "version", "run",
                                                      "next_id",   "member", "observer"};
  if (const Result<void> fine = refuse_unknown_keys(table, kKnown); !fine) return fine.error();
  Roster roster;
  const Result<std::uint64_t> run = run_of(table);
  if (!run) return run.error();
  roster.run_ = *run;
  const auto members = tables_under(table, "member"), observers = tables_under(table, "observer");
  if (!members) return members.error();
  if (!observers) return observers.error();
  for (const toml::table* entry : *members) {
    Result<Member> member = member_of(*entry);
    if (!member) return member.error();
    if (const Result<void> fine = roster.insert(std::move(*member)); !fine) return fine.error();
  }
  for (const toml::table* entry : *observers) {
    Result<RosterObserver> observer = observer_of(*entry);
    if (!observer) return observer.error();
    const Result<void> fine =
        roster.add_observer(std::move(observer->name), std::move(observer->public_key));
    if (!fine) return fine.error();
  }
  if (table.contains("next_id")) {
    const Result<NodeId> next = id_of(table, "next_id");
    if (!next) return next.error();
    if (*next < roster.next_id_)
      return wrong(fmt::format("next_id = {}, but id {} is in use: it should be above all ids",
                               *next, roster.next_id_ - 1));
    roster.next_id_ = *next;
  }
  const Result<std::string> owner = digits_of(table, "owner", 64);
  const Result<std::string> signature = digits_of(table, "signature", 128);
  const Result<std::uint64_t> version = version_of(table);
  if (!owner) return owner.error();
  if (!signature) return signature.error();
  if (!version) return version.error();
  if (owner->empty() != (*version == 0) || (owner->empty() && !signature->empty()))
    return wrong("owner, version and signature belong together: tessera roster sign writes them");
  roster.owner_ = *owner, roster.version_ = *version, roster.signature_ = *signature;
  return roster;
}

Result<Roster> Roster::read(const std::filesystem::path& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  Result<Roster> roster = parse(*text);
  if (roster) return roster;
  return Error{roster.error().kind, fmt::format("{}: {}", path.string(), roster.error().message)};
}

// Everything in it was checked to need no escaping.
std::string Roster::to_toml() const {
  std::string text;
  if (!signature_.empty()) text += fmt::format("signature = \"{}\"\n", signature_);
  if (has_owner()) text += fmt::format("owner = \"{}\"\nversion = {}\n", owner_, version_);
  if (run_ != 0) text += fmt::format("run = \"{}\"\n", show_run(run_));
  text += fmt::format("next_id = {}\n", next_id_);
  for (const Member& member : members_)
    text +=
        fmt::format("\n[[member]]\nid = {}\nname = \"{}\"\naddress = \"{}\"\npublic_key = \"{}\"\n",
                    member.id, member.name, member.address, member.public_key);
  for (const RosterObserver& observer : observers_)
    text += fmt::format("\n[[observer]]\nname = \"{}\"\npublic_key = \"{}\"\n", observer.name,
                        observer.public_key);
  return text;
}

std::string show_run(std::uint64_t run) {
  return fmt::format("{:016x}", run);
}

}  // namespace tessera
