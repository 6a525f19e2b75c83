#include "report/checkpoint_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/files.h"
#include "base/hash.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kMagic = 0x4b435354;  // "TSCK"
// Raised by another layout, and where a line of an experiment comes to mean other arithmetic.
constexpr std::uint32_t kVersion = 7;

}  // namespace

Result<void> write_checkpoint(const fs::path& path, const Checkpoint& checkpoint) {
  Bytes head, tail;
  ByteWriter writer(head);
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(checkpoint.config_hash);
  writer.put(checkpoint.metrics_bytes);
  writer.put(checkpoint.rows);
  ByteWriter(tail).put(hash_parts({head, checkpoint.state}));
  return write_private_file(path, {head, checkpoint.state, tail});
}

Result<Checkpoint> parse_checkpoint(ByteSpan file, std::uint64_t config_hash) {
  constexpr std::size_t kTail = sizeof(std::uint64_t);
  if (file.size() < kTail) return Error{"truncated", "it is cut short"};
  ByteReader tail(file.last(kTail));
  const ByteSpan body = file.first(file.size() - kTail);
  if (tail.get<std::uint64_t>() != hash_bytes(body))
    return Error{"checksum", "it is torn (its checksum does not match)"};
  ByteReader in(body);
  if (in.get<std::uint32_t>() != kMagic) return Error{"magic", "it is no checkpoint"};
  if (const auto version = in.get<std::uint32_t>(); version != kVersion)
    return Error{"version",
                 fmt::format("it was written by {} tessera (version {}; this one reads version {})",
                             version < kVersion ? "an older" : "a newer", version, kVersion)};
  Checkpoint checkpoint{.config_hash = in.get<std::uint64_t>()};
  if (checkpoint.config_hash != config_hash)
    return Error{"config", "it belongs to another configuration"};
  checkpoint.metrics_bytes = in.get<std::uint64_t>();
  checkpoint.rows = in.get<std::uint64_t>();
  if (in.ran_short()) return Error{"truncated", "it is cut short"};
  checkpoint.state = in.get_bytes(in.left());
  return checkpoint;
}

// Checkpoint files by round, newest first.
std::vector<std::pair<std::uint32_t, fs::path>> checkpoints_in(const fs::path& folder) {
  std::vector<std::pair<std::uint32_t, fs::path>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string stem = entry.path().stem().string();
    std::uint32_t round = 0;
    const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), round);
    if (error == std::errc{} && end == stem.data() + stem.size() &&
        entry.path().extension() == ".bin")
      found.emplace_back(round, entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

}  // namespace tessera
