// Who belongs to a run, as a TOML file that every member has a copy of:
//
//   run = "4f2a91c05b7d3e68"                 # which run this is; tessera roster new-run draws it
//   next_id = 2
//
//   [[member]]
//   id = 0
//   name = "alice"
//   address = "10.0.0.1:5555"
//   public_key = "..."                       # 40 characters, from alice.pub
//
// A member's id is written down rather than being its place in the list, and is never given to
// another: topologies, partitions and random forks all go by id, so adding or removing a member
// must not make anyone else a different node. `next_id` remembers the ids of those who left.
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
#include "base/result.h"
#include "live/link/member.h"

namespace tessera {

class Roster {
 public:
  // Errors: "toml" for a file that is not TOML, "roster" for one that is but does not hold
  // (unknown keys, an id, name, address or key that is malformed or used twice).
  static Result<Roster> parse(std::string_view text);
  static Result<Roster> read(const std::filesystem::path& path);

  // The new member takes the next id.
  Result<NodeId> add(std::string name, std::string address, std::string public_key);
  Result<void> remove(std::string_view name);

  std::span<const Member> members() const { return members_; }  // By id.
  const Member* find(std::string_view name) const;
  const Member* find(NodeId id) const;
  NodeId next_id() const { return next_id_; }
  std::uint64_t run() const { return run_; }  // 0: it was never given one.
  void set_run(std::uint64_t run) { run_ = run; }

  std::string to_toml() const;
  Result<void> write(const std::filesystem::path& path) const;  // Old file or new one, never torn.

 private:
  Result<void> insert(Member member);

  std::vector<Member> members_;
  NodeId next_id_ = 0;
  std::uint64_t run_ = 0;
};

// As people read and write it: 16 hexadecimal digits.
std::string show_run(std::uint64_t run);

// Empty when the name can also be a file's, else what is wrong with it.
std::string member_name_fault(std::string_view name);
// Empty when the address is host:port with a port between 1 and 65535, else what is wrong with it.
std::string address_fault(std::string_view address);

}  // namespace tessera
