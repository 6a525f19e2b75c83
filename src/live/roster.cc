#include "live/roster.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/files.h"
#include "base/text.h"
#include "live/link/keys.h"

namespace tessera {
namespace {

Error wrong(std::string message) {
  return {"roster", std::move(message)};
}

std::string member_fault(const Member& member) {
  if (std::string fault = member_name_fault(member.name); !fault.empty())
    return fmt::format("name '{}': {}", member.name, fault);
  if (std::string fault = address_fault(member.address); !fault.empty())
    return fmt::format("{}: address '{}': {}", member.name, member.address, fault);
  if (!is_public_key(member.public_key))
    return fmt::format(
        "{}: public_key '{}': it should be the 40 characters of the .pub file tessera keygen made",
        member.name, member.public_key);
  return {};
}

Result<std::string> text_of(const toml::table& table, std::string_view key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return wrong(fmt::format("a member without {}", key));
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

}  // namespace

// Names become file names and appear in logs.
std::string member_name_fault(std::string_view name) {
  if (name.empty() || name.size() > 64) return "a name has between 1 and 64 characters";
  for (char c : name) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.';
    if (!fine) return "a name is made of letters, digits, '-', '_' and '.'";
  }
  return name.front() == '.' || name.front() == '-' ? "a name begins with a letter or digit" : "";
}

std::string address_fault(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == address.npos || colon == 0) return "host:port is needed, such as 10.0.0.1:5555";
  const std::string_view host = address.substr(0, colon), port = address.substr(colon + 1);
  if (host.find("//") != host.npos) return "write host:port, without tcp:// before it";
  const bool brackets = host.front() == '[' && host.back() == ']';
  if (!brackets && host.find(':') != host.npos)
    return "an IPv6 host stands in brackets, as in [::1]:5555";
  for (char c : host)
    if (c <= ' ' || c == '/' || c == '*' || c == ';' || c > '~') return "the host cannot be that";
  const bool digits =
      !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
  if (!digits || std::stoi(std::string(port)) < 1 || std::stoi(std::string(port)) > 65535)
    return "the port should be between 1 and 65535";
  return {};
}

Result<Roster> Roster::parse(std::string_view text) {
  // toml++ 3.3 runs into undefined behaviour on some letters beyond ASCII outside of quotes, which
  // fuzzing found; nothing in a roster needs them.
  const auto foreign = std::find_if(text.begin(), text.end(),
                                    [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (foreign != text.end())
    return Error{"toml", fmt::format("line {}: a roster is written in ASCII letters only",
                                     1 + std::count(text.begin(), foreign, '\n'))};
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Error{"toml", fmt::format("line {}: {}", error.source().begin.line,
                                     std::string(error.description()))};
  }
  constexpr std::array<std::string_view, 3> kKnown = {"run", "next_id", "member"};
  if (const Result<void> fine = refuse_unknown_keys(table, kKnown); !fine) return fine.error();
  Roster roster;
  const Result<std::uint64_t> run = run_of(table);
  if (!run) return run.error();
  roster.run_ = *run;
  if (const toml::node* node = table.get("member")) {
    const toml::array* members = node->as_array();
    if (members == nullptr) return wrong("members stand under [[member]], in double brackets");
    for (const toml::node& entry : *members) {
      if (!entry.is_table()) return wrong("members stand under [[member]], in double brackets");
      Result<Member> member = member_of(*entry.as_table());
      if (!member) return member.error();
      if (const Result<void> fine = roster.insert(std::move(*member)); !fine) return fine.error();
    }
  }
  if (table.contains("next_id")) {
    const Result<NodeId> next = id_of(table, "next_id");
    if (!next) return next.error();
    if (*next < roster.next_id_)
      return wrong(fmt::format("next_id = {}, but id {} is in use: it should be above all ids",
                               *next, roster.next_id_ - 1));
    roster.next_id_ = *next;
  }
  return roster;
}

Result<Roster> Roster::read(const std::filesystem::path& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  Result<Roster> roster = parse(*text);
  if (roster) return roster;
  return Error{roster.error().kind, fmt::format("{}: {}", path.string(), roster.error().message)};
}

Result<void> Roster::insert(Member member) {
  if (std::string fault = member_fault(member); !fault.empty()) return wrong(std::move(fault));
  for (const Member& other : members_) {
    const auto twice = [&](std::string_view what) {
      return wrong(fmt::format("{} and {} have the same {}", other.name, member.name, what));
    };
    if (other.name == member.name)
      return wrong(fmt::format("there are two members called {}", member.name));
    if (other.id == member.id) return twice("id");
    if (other.address == member.address) return twice("address");
    if (other.public_key == member.public_key) return twice("public key");
  }
  next_id_ = std::max(next_id_, member.id + 1);
  const auto at = std::upper_bound(members_.begin(), members_.end(), member,
                                   [](const Member& a, const Member& b) { return a.id < b.id; });
  members_.insert(at, std::move(member));
  return {};
}

Result<NodeId> Roster::add(std::string name, std::string address, std::string public_key) {
  const NodeId id = next_id_;
  const Result<void> inserted =
      insert({id, std::move(name), std::move(address), std::move(public_key)});
  if (!inserted) return inserted.error();
  return id;
}

Result<void> Roster::remove(std::string_view name) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == name; });
  if (found == members_.end()) {
    std::vector<std::string_view> names;
    for (const Member& member : members_) names.push_back(member.name);
    return wrong(fmt::format("there is no member '{}'.{}", name, suggestion(name, names)));
  }
  members_.erase(found);
  return {};
}

const Member* Roster::find(std::string_view name) const {
  for (const Member& member : members_)
    if (member.name == name) return &member;
  return nullptr;
}

const Member* Roster::find(NodeId id) const {
  for (const Member& member : members_)
    if (member.id == id) return &member;
  return nullptr;
}

// Everything in it was checked to need no escaping.
std::string Roster::to_toml() const {
  std::string text = run_ == 0 ? "" : fmt::format("run = \"{}\"\n", show_run(run_));
  text += fmt::format("next_id = {}\n", next_id_);
  for (const Member& member : members_)
    text +=
        fmt::format("\n[[member]]\nid = {}\nname = \"{}\"\naddress = \"{}\"\npublic_key = \"{}\"\n",
                    member.id, member.name, member.address, member.public_key);
  return text;
}

std::string show_run(std::uint64_t run) {
  return fmt::format("{:016x}", run);
}

Result<void> Roster::write(const std::filesystem::path& path) const {
  return write_file(path, bytes_of(to_toml()));
}

}  // namespace tessera
