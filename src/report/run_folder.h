// A run's folder: config.toml, metrics.jsonl, summary.json, checkpoint/ and nothing else but a lock
// while a process works in it, and `diverged` instead of a summary where a model did. Files are
// replaced whole, so a crash leaves the old one or the new one; metrics grow a line at a time, and
// resuming cuts them back to what the checkpoint knew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/append_file.h"
#include "base/bytes.h"
#include "base/folder_lock.h"
#include "base/result.h"

namespace tessera {

struct Checkpoint;

enum class ExistingRun { kRefuse, kOverwrite, kResume };

class RunFolder {
 public:
  // Holds the folder's lock from here on. Throws std::invalid_argument when another process has it,
  // when the folder holds a run and nothing was said about it, or when a run is to be resumed under
  // another configuration than it began with.
  // `former` is another configuration under which it may have begun.
  RunFolder(std::filesystem::path path, std::string_view config, ExistingRun existing,
            std::string_view former = {});

  // The same refusals without touching anything, for before the data is loaded.
  static void check(const std::filesystem::path& path, std::string_view config,
                    ExistingRun existing, std::string_view former = {});
  // The summary of a run that came to its end.
  static std::optional<std::string> finished(const std::filesystem::path& path);
  // Why a run ended before its end, where a model diverged.
  static std::optional<std::string> diverged(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  // These four throw std::runtime_error where they cannot write; then all is as it was before.
  void append_metrics(std::string_view line);
  void write_summary(std::string_view json);
  void write_divergence(std::string_view why);
  // `round` names the file; the two newest are kept, so that a torn one has a predecessor. The rows
  // it counts on are on the disk before it is.
  void write_checkpoint(std::uint32_t round, ByteSpan state);
  void remove_checkpoints();
  // Makes `config`, under which checkpoints are written, the one that the folder says it is of.
  void write_config(std::string_view config);

  // The newest whole checkpoint, if any, after cutting the metrics back to it. Rows that are gone
  // cost a note; metrics that no checkpoint goes with are set aside. Throws std::runtime_error for
  // a checkpoint of another version.
  struct Restored {
    Bytes state{};
    std::uint32_t round = 0;
    std::vector<std::string> notes{};  // For people: what was passed over, what is missing.
  };
  std::optional<Restored> read_checkpoint();

 private:
  void cut_metrics(const Checkpoint& checkpoint, std::vector<std::string>& notes);
  void set_metrics_aside(std::vector<std::string>& notes);

  std::filesystem::path path_;
  std::uint64_t config_hash_, former_hash_;
  FolderLock lock_;
  std::optional<AppendFile> metrics_{};  // From the first row on.
  std::uint64_t rows_ = 0;
};

}  // namespace tessera
