// Who belongs to a run, as a TOML file that every member has a copy of:
//
//   signature = "..."                        # of all that follows, by the owner's key
//   owner = "..."                            # 64 digits, from fleet.pub
//   version = 3                              # how often it was signed
//   run = "4f2a91c05b7d3e68"                 # which run this is; tessera roster new-run draws it
//   next_id = 2
//
//   [[member]]
//   id = 0
//   name = "alice"
//   address = "10.0.0.1:5555"                # or "dials-out": nobody can connect to it
//   public_key = "..."                       # 40 characters, from alice.pub
//
//   [[observer]]                             # may ask members how they are, and nothing else
//   name = "desk"
//   public_key = "..."
//
// A member's id is written down rather than being its place in the list: topologies, partitions and
// random forks all go by id, so adding or removing a member must not make anyone else a different
// node. A new member takes the lowest id that is free, that of one who left, or else `next_id`. Ids
// below `next_id` are the places of a run, taken or not.
//
// A roster with an owner is believed when it is signed, wherever it comes from; of two of them the
// higher version counts. One without an owner is kept by hand.
//
// `run` tells this run from an earlier one of the same experiment with the same members: it is part
// of what nodes say when they meet, and of their checkpoints.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/key_files.h"
#include "base/result.h"
#include "live/link/member.h"

namespace tessera {

class Roster {
 public:
  static constexpr std::uint64_t kVersionMax = 999'999'999'999;
  static constexpr std::size_t kBytesMax = 512 << 10;  // Of one that is handed on: 2,500 members.

  // Errors: "toml" for a file that is not TOML, "roster" for one that is but does not hold
  // (unknown keys, an id, name, address or key that is malformed or used twice). A signature is
  // read, and left to check_signature().
  static Result<Roster> parse(std::string_view text);
  static Result<Roster> read(const std::filesystem::path& path);

  // Whatever changes a roster takes its signature away.
  Result<NodeId> add(std::string name, std::string address, std::string public_key);
  Result<void> remove(std::string_view name);  // A member, or an observer.
  Result<void> add_observer(std::string name, std::string public_key);
  // Another machine in a member's place; what is empty stays as it was.
  Result<NodeId> replace(std::string_view name, std::string address, std::string public_key);
  // So many ids; fewer than are given already is an error.
  Result<void> set_places(NodeId places);
  void set_run(std::uint64_t run);

  // As the next version. Another's roster is an error, and one of more than kBytesMax.
  Result<void> sign(const KeyPair& owner);
  // Errors: "roster-unsigned", "roster-signature". One that is kept by hand needs none.
  Result<void> check_signature() const;

  std::span<const Member> members() const { return members_; }  // By id.
  std::span<const RosterObserver> observers() const { return observers_; }
  const Member* find(std::string_view name) const;
  const Member* find(NodeId id) const;
  NodeId next_id() const { return next_id_; }
  std::uint64_t run() const { return run_; }  // 0: it was never given one.
  const std::string& owner() const { return owner_; }
  std::uint64_t version() const { return version_; }  // 0: it was never signed.
  bool has_owner() const { return !owner_.empty(); }

  std::string to_toml() const;
  Result<void> write(const std::filesystem::path& path) const;  // Old file or new one, never torn.

 private:
  Result<void> insert(Member member);
  Result<std::vector<Member>::iterator> place_of(std::string_view name);
  std::string signed_text() const;  // What the signature is of.

  std::vector<Member> members_;
  std::vector<RosterObserver> observers_;
  NodeId next_id_ = 0;
  std::uint64_t run_ = 0;
  std::string owner_;
  std::uint64_t version_ = 0;
  std::string signature_;
};

// A roster from outside, of which nothing is parsed unless the owner has signed it. Errors:
// "roster-unsigned", "roster-signature", and those of Roster::parse().
Result<Roster> parse_signed_roster(std::string_view text, std::string_view owner);

// As people read and write it: 16 hexadecimal digits.
std::string show_run(std::uint64_t run);

// Empty when the name can also be a file's, else what is wrong with it.
std::string member_name_fault(std::string_view name);
// Empty when the address is host:port with a port between 1 and 65535, else what is wrong with it.
std::string address_fault(std::string_view address);
// The same of what a member may have in a roster: one that nobody can connect to has kDialsOut.
std::string member_address_fault(std::string_view address);

// Whether a running node that holds one roster may go on with another. Errors, each a word to count
// it by: those of check_signature(), "roster-owner" for another owner's, "roster-old" for a version
// that is not above, "roster-run" for another run's, "roster-empty", "roster-places" for ids that
// the run was not begun with.
Result<void> may_follow(const Roster& held, const Roster& next);

}  // namespace tessera
