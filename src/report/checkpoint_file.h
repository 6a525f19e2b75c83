// The files in a run's checkpoint/: magic, version, the configuration's hash, how far metrics.jsonl
// was, the state, and a checksum of it all. Only their owner may read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

struct Checkpoint {
  std::uint64_t config_hash = 0;
  std::uint64_t metrics_bytes = 0, rows = 0;  // Of metrics.jsonl when it was written.
  ByteSpan state{};
};

Result<void> write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

// Its state is a part of `file`. The error of one that another version wrote is of kind "version".
Result<Checkpoint> parse_checkpoint(ByteSpan file, std::uint64_t config_hash);

// Those of a folder by round, newest first.
std::vector<std::pair<std::uint32_t, std::filesystem::path>> checkpoints_in(
    const std::filesystem::path& folder);

}  // namespace tessera
