#include "live/roster.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "live/link/keys.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

constexpr std::string_view kSignedAs = "tessera roster\n";  // So that it can pass for nothing else.

Error wrong(std::string message) {
  return {"roster", std::move(message)};
}

std::string name_or_key_fault(const std::string& name, const std::string& public_key) {
  if (std::string fault = member_name_fault(name); !fault.empty())
    return fmt::format("name '{}': {}", name, fault);
  if (!is_public_key(public_key))
    return fmt::format(
        "{}: public_key '{}': it should be the 40 characters of the .pub file tessera keygen made",
        name, public_key);
  return {};
}

std::string member_fault(const Member& member) {
  if (std::string fault = member_name_fault(member.name); !fault.empty())
    return fmt::format("name '{}': {}", member.name, fault);
  if (std::string fault = member_address_fault(member.address); !fault.empty())
    return fmt::format("{}: address '{}': {}", member.name, member.address, fault);
  return name_or_key_fault(member.name, member.public_key);
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
    if (c <= ' ' || c == '/' || c == '*' || c == ';' || c == '"' || c == '\\' || c > '~')
      return "the host cannot be that";
  const bool digits =
      !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
  if (!digits || std::stoi(std::string(port)) < 1 || std::stoi(std::string(port)) > 65535)
    return "the port should be between 1 and 65535";
  return {};
}

std::string member_address_fault(std::string_view address) {
  if (address == kDialsOut) return {};
  std::string fault = address_fault(address);
  if (!fault.empty() && address.find(':') == address.npos)
    fault += fmt::format(", or {} where nobody can connect to it", kDialsOut);
  return fault;
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
    if (other.address == member.address && !member.dials_out()) return twice("address");
    if (other.public_key == member.public_key) return twice("public key");
  }
  for (const RosterObserver& other : observers_)
    if (other.name == member.name || other.public_key == member.public_key)
      return wrong(
          fmt::format("{} has the name or key of the observer {}", member.name, other.name));
  signature_.clear();
  next_id_ = std::max(next_id_, member.id + 1);
  const auto at = std::upper_bound(members_.begin(), members_.end(), member,
                                   [](const Member& a, const Member& b) { return a.id < b.id; });
  members_.insert(at, std::move(member));
  return {};
}

Result<NodeId> Roster::add(std::string name, std::string address, std::string public_key) {
  NodeId id = 0;
  while (id < next_id_ && find(id) != nullptr) ++id;
  const Result<void> inserted =
      insert({id, std::move(name), std::move(address), std::move(public_key)});
  if (!inserted) return inserted.error();
  return id;
}

Result<void> Roster::add_observer(std::string name, std::string public_key) {
  if (std::string fault = name_or_key_fault(name, public_key); !fault.empty())
    return wrong(std::move(fault));
  const auto taken = [&](const auto& other) {
    return other.name == name || other.public_key == public_key;
  };
  for (const Member& member : members_)
    if (taken(member))
      return wrong(
          fmt::format("the observer {} has the name or key of the member {}", name, member.name));
  for (const RosterObserver& other : observers_)
    if (taken(other))
      return wrong(fmt::format("the observers {} and {} have one name or key", other.name, name));
  signature_.clear();
  observers_.push_back({std::move(name), std::move(public_key)});
  return {};
}

Result<std::vector<Member>::iterator> Roster::place_of(std::string_view name) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == name; });
  if (found != members_.end()) return found;
  std::vector<std::string_view> names;
  for (const Member& member : members_) names.push_back(member.name);
  return wrong(fmt::format("there is no member '{}'.{}", name, suggestion(name, names)));
}

Result<void> Roster::remove(std::string_view name) {
  if (std::erase_if(observers_, [&](const RosterObserver& known) { return known.name == name; }) >
      0) {
    signature_.clear();
    return {};
  }
  const auto found = place_of(name);
  if (!found) return found.error();
  members_.erase(*found);
  signature_.clear();
  return {};
}

Result<NodeId> Roster::replace(std::string_view name, std::string address, std::string public_key) {
  const auto found = place_of(name);
  if (!found) return found.error();
  const Member before = **found;
  Member after = before;
  if (!address.empty()) after.address = std::move(address);
  if (!public_key.empty()) after.public_key = std::move(public_key);
  members_.erase(*found);
  if (const Result<void> inserted = insert(std::move(after)); !inserted) {
    CHECK(insert(before).ok());
    return inserted.error();
  }
  return before.id;
}

Result<void> Roster::set_places(NodeId places) {
  if (!members_.empty() && places <= members_.back().id)
    return wrong(fmt::format("{} places are too few: {} is node {}", places, members_.back().name,
                             members_.back().id));
  next_id_ = places;
  signature_.clear();
  return {};
}

void Roster::set_run(std::uint64_t run) {
  run_ = run;
  signature_.clear();
}

Result<void> Roster::sign(const KeyPair& owner) {
  if (has_owner() && owner.public_key != owner_)
    return wrong(fmt::format("its owner has the key {}, and this is another", owner_));
  if (version_ >= kVersionMax) return wrong("there is no version after this one");
  if (to_toml().size() > kBytesMax - 1024)
    return wrong(fmt::format("{} members are too many to be handed on", members_.size()));
  owner_ = owner.public_key;
  ++version_;
  signature_ = tessera::sign(signed_text(), owner);
  return {};
}

Result<void> Roster::check_signature() const {
  if (!has_owner()) return {};
  if (signature_.empty())
    return Error{"roster-unsigned",
                 "it has an owner, and was changed without being signed: "
                 "tessera roster sign"};
  if (!is_signed_by(owner_, signed_text(), signature_))
    return Error{"roster-signature",
                 "its signature does not hold: it was changed after its owner "
                 "signed it, or the signature is not the owner's"};
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

std::string Roster::signed_text() const {
  Roster unsigned_one = *this;
  unsigned_one.signature_.clear();
  return std::string(kSignedAs) + unsigned_one.to_toml();
}

Result<void> Roster::write(const std::filesystem::path& path) const {
  return write_file(path, bytes_of(to_toml()));
}

Result<Roster> parse_signed_roster(std::string_view text, std::string_view owner) {
  constexpr std::string_view kBefore = "signature = \"", kAfter = "\"\n";
  constexpr std::size_t kDigits = 128, kHead = kBefore.size() + kDigits + kAfter.size();
  const std::string_view head = text.substr(0, kHead);
  if (head.size() != kHead || !head.starts_with(kBefore) || !head.ends_with(kAfter))
    return Error{"roster-unsigned", "it is not signed"};
  const std::string signed_text = std::string(kSignedAs) + std::string(text.substr(kHead));
  if (!is_signed_by(owner, signed_text, head.substr(kBefore.size(), kDigits)))
    return Error{"roster-signature", "its signature is not the owner's"};
  return Roster::parse(text);
}

Result<void> may_follow(const Roster& held, const Roster& next) {
  if (const Result<void> fine = next.check_signature(); !fine) return fine;
  if (next.owner() != held.owner())
    return Error{"roster-owner", "it has another owner: stop the node to begin with it"};
  if (held.has_owner() && next.version() <= held.version())
    return Error{"roster-old", fmt::format("it is version {}, and this node has {}", next.version(),
                                           held.version())};
  if (next.members().empty()) return Error{"roster-empty", "it has no members"};
  if (next.run() != held.run())
    return Error{"roster-run", fmt::format("it is of run {}, and this node of run {}: stop the "
                                           "node to begin that one",
                                           show_run(next.run()), show_run(held.run()))};
  if (held.has_owner() && next.next_id() != held.next_id())
    return Error{"roster-places",
                 fmt::format("it has {} places, and the run was begun with {}: topologies are made "
                             "for a number of nodes, so that is for the next run",
                             next.next_id(), held.next_id())};
  return {};
}

}  // namespace tessera
