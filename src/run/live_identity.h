// Which node of which run a folder belongs to: node.toml in it says so, from the folder's first
// moment. The folder of an earlier run, or of another node, must not be gone on with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/ids.h"

namespace tessera {

struct LiveIdentity {
  std::uint64_t run = 0;  // The roster's.
  NodeId id = 0;
  std::string name{};
};

// Throws std::invalid_argument where the folder is another's; one that says nothing is free.
void refuse_others_folder(const std::filesystem::path& folder, const LiveIdentity& own);
// Unless it is marked already. Throws std::runtime_error when that cannot be written.
void mark_folder(const std::filesystem::path& folder, const LiveIdentity& own);

// The run that the folders of nodes in there belong to, as the first of them says.
std::optional<std::uint64_t> run_of_nodes(const std::filesystem::path& nodes);

}  // namespace tessera
