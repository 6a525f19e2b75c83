// A run's folder: config.toml, metrics.jsonl, summary.json, checkpoint/ and nothing else. Files are
// replaced whole, so a crash leaves the old one or the new one; metrics grow a line at a time, and
// resuming cuts them back to what the checkpoint knew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

enum class ExistingRun { kRefuse, kOverwrite, kResume };

class RunFolder {
 public:
  // Throws std::invalid_argument when the folder holds a run and nothing was said about it, or when
  // a run is to be resumed under another configuration than it began with.
  RunFolder(std::filesystem::path path, std::string_view config, ExistingRun existing);

  // The same refusals without touching anything, for before the data is loaded.
  static void check(const std::filesystem::path& path, std::string_view config,
                    ExistingRun existing);
  // The summary of a run that came to its end.
  static std::optional<std::string> finished(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  void append_metrics(std::string_view line);
  void write_summary(std::string_view json);

  // `round` names the file; the two newest are kept, so that a torn one has a predecessor.
  void write_checkpoint(std::uint32_t round, ByteSpan state);
  // The newest whole checkpoint, if any, after cutting the metrics back to it. Says which ones it
  // had to pass over. Throws std::runtime_error for one of another version.
  struct Restored {
    Bytes state{};
    std::uint32_t round = 0;
    std::vector<std::string> passed_over{};
  };
  std::optional<Restored> read_checkpoint();

 private:
  std::filesystem::path path_;
  std::uint64_t config_hash_;
};

}  // namespace tessera
