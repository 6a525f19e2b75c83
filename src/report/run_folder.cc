#include "report/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "report/checkpoint_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKept = 2;

// Whether there is nothing in it but what a process leaves that was killed before it could write
// config.toml.
bool holds_nothing(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const bool part = entry.path().filename().string().find(".part") != std::string::npos;
    const bool lock = entry.path().filename() == FolderLock::kName;
    const bool checkpoint = entry.path().filename() == "checkpoint";
    if (!part && !lock && !(checkpoint && fs::is_empty(entry.path(), ignored))) return false;
  }
  return true;
}

// What is asked for now and the folder's own config.toml does not have: "rule = \"auto\"".
std::string first_difference(std::string_view held, std::string_view asked) {
  const std::vector<std::string_view> lines = split(held, '\n');
  for (const std::string_view line : split(asked, '\n')) {
    if (std::find(lines.begin(), lines.end(), line) != lines.end()) continue;
    const std::size_t equals = line.find('=');
    const std::size_t name = line.find(' ');
    if (equals == line.npos || name > equals) return std::string(line);
    return fmt::format("{} {}", line.substr(0, name), line.substr(equals));
  }
  return "less is asked for";
}

void refuse_existing(const fs::path& path, std::string_view config, ExistingRun existing,
                     std::string_view former) {
  std::error_code ignored;
  const bool exists = fs::exists(path / "config.toml", ignored);
  if (!exists && fs::exists(path, ignored) && !holds_nothing(path))
    throw std::invalid_argument(
        fmt::format("{} is there and is not a run's folder; choose another --out", path.string()));
  if (exists && existing == ExistingRun::kRefuse)
    throw std::invalid_argument(
        fmt::format("{} already holds a run; add --resume to continue it, --overwrite to begin "
                    "anew, or choose another --out",
                    path.string()));
  if (!exists || existing != ExistingRun::kResume) return;
  if (const std::string held = or_throw(read_text_file(path / "config.toml"));
      held != config && (former.empty() || held != former))
    throw std::invalid_argument(
        fmt::format("{}/config.toml differs from what is asked for now ({}); resume with the same "
                    "settings and the program that began it, or choose another --out",
                    path.string(), first_difference(held, config)));
}

}  // namespace

void RunFolder::check(const fs::path& path, std::string_view config, ExistingRun existing,
                      std::string_view former) {
  FolderLock::check(path);
  refuse_existing(path, config, existing, former);
}

std::optional<std::string> RunFolder::finished(const fs::path& path) {
  const Result<std::string> summary = read_text_file(path / "summary.json");
  return summary.ok() ? std::optional(*summary) : std::nullopt;
}

std::optional<std::string> RunFolder::diverged(const fs::path& path) {
  const Result<std::string> why = read_text_file(path / "diverged");
  return why.ok() ? std::optional(std::string(trimmed(*why))) : std::nullopt;
}

RunFolder::RunFolder(fs::path path, std::string_view config, ExistingRun existing,
                     std::string_view former)
    : path_(std::move(path)),
      config_hash_(hash_bytes(bytes_of(config))),
      former_hash_(former.empty() ? config_hash_ : hash_bytes(bytes_of(former))),
      lock_(path_) {
  refuse_existing(path_, config, existing, former);
  std::error_code failed;
  // What a killed process was writing, and an ending that would make a run that goes on look
  // finished.
  for (const auto& entry : fs::directory_iterator(path_ / "checkpoint", failed))
    if (entry.path().extension().string().starts_with(".part")) fs::remove(entry.path(), failed);
  for (const char* ending : {"summary.json", "diverged"}) fs::remove(path_ / ending, failed);
  const bool resumes = existing == ExistingRun::kResume && fs::exists(path_ / "config.toml");
  if (!resumes)
    for (const char* name : {"metrics.jsonl", "metrics.jsonl.before", "checkpoint"})
      fs::remove_all(path_ / name, failed);
  fs::create_directories(path_ / "checkpoint", failed);
  if (failed)
    throw std::invalid_argument(
        fmt::format("cannot create {}: {}", path_.string(), failed.message()));
  if (!resumes) write_config(config);
}

void RunFolder::append_metrics(std::string_view line) {
  if (!metrics_) metrics_ = or_throw(AppendFile::open(path_ / "metrics.jsonl"));
  or_throw(metrics_->append(line));
  ++rows_;
}

void RunFolder::write_summary(std::string_view json) {
  or_throw(write_file(path_ / "summary.json", bytes_of(json)));
}

void RunFolder::write_divergence(std::string_view why) {
  or_throw(write_file(path_ / "diverged", bytes_of(fmt::format("{}\n", why))));
}

void RunFolder::write_checkpoint(std::uint32_t round, ByteSpan state) {
  if (metrics_) or_throw(metrics_->sync());
  std::error_code none;
  const std::uintmax_t metrics = fs::file_size(path_ / "metrics.jsonl", none);
  std::error_code ignored;
  fs::create_directories(path_ / "checkpoint", ignored);  // Somebody may have removed it.
  or_throw(tessera::write_checkpoint(path_ / "checkpoint" / fmt::format("{}.bin", round),
                                     {.config_hash = config_hash_,
                                      .metrics_bytes = none ? 0 : metrics,
                                      .rows = rows_,
                                      .state = state}));
  const auto all = checkpoints_in(path_ / "checkpoint");
  for (std::size_t i = kKept; i < all.size(); ++i) fs::remove(all[i].second, none);
}

void RunFolder::remove_checkpoints() {
  std::error_code ignored;
  for (const auto& [round, path] : checkpoints_in(path_ / "checkpoint")) fs::remove(path, ignored);
}

void RunFolder::write_config(std::string_view config) {
  or_throw(write_file(path_ / "config.toml", bytes_of(config)));
}

std::optional<RunFolder::Restored> RunFolder::read_checkpoint() {
  metrics_.reset();
  Restored restored;
  for (const auto& [round, path] : checkpoints_in(path_ / "checkpoint")) {
    const Result<Bytes> file = read_file(path);
    Result<Checkpoint> checkpoint =
        file.ok() ? parse_checkpoint(*file, config_hash_) : Result<Checkpoint>(file.error());
    if (!checkpoint && checkpoint.error().kind == "config")
      checkpoint = parse_checkpoint(*file, former_hash_);
    // It is whole: to begin anew in silence would throw a run away.
    if (!checkpoint && checkpoint.error().kind == "version")
      throw std::runtime_error(fmt::format(
          "cannot resume: {}: {}; continue with that one, or begin anew: delete {}, or choose "
          "another folder",
          path.string(), checkpoint.error().message, path_.string()));
    if (!checkpoint) {
      restored.notes.push_back(
          fmt::format("passed over {}: {}", path.string(), checkpoint.error().message));
      continue;
    }
    cut_metrics(*checkpoint, restored.notes);
    restored.state.assign(checkpoint->state.begin(), checkpoint->state.end());
    restored.round = round;
    return restored;
  }
  set_metrics_aside(restored.notes);
  if (restored.notes.empty()) return std::nullopt;
  return restored;
}

// To what the checkpoint knew; a file shorter than that, to its last whole row.
void RunFolder::cut_metrics(const Checkpoint& checkpoint, std::vector<std::string>& notes) {
  const fs::path path = path_ / "metrics.jsonl";
  const Result<std::string> read = read_text_file(path);
  const std::string text = read.ok() ? *read : "";
  const std::string_view known = std::string_view(text).substr(0, checkpoint.metrics_bytes);
  const std::string_view whole = known.substr(0, known.rfind('\n') + 1);
  rows_ = static_cast<std::uint64_t>(std::count(whole.begin(), whole.end(), '\n'));
  if (whole.size() < text.size()) fs::resize_file(path, whole.size());
  if (rows_ < checkpoint.rows)
    notes.push_back(fmt::format("{} of the {} rows before it are missing in {}",
                                checkpoint.rows - rows_, checkpoint.rows, path.string()));
}

// The rows come again. Those of a run whose checkpoints are spoilt are kept under another name.
void RunFolder::set_metrics_aside(std::vector<std::string>& notes) {
  const fs::path path = path_ / "metrics.jsonl";
  const fs::path aside = path_ / "metrics.jsonl.before";
  std::error_code failed;
  rows_ = 0;
  if (!fs::exists(path, failed)) return;
  if (notes.empty()) {
    fs::remove(path, failed);
    return;
  }
  fs::rename(path, aside, failed);
  notes.push_back(fmt::format("its rows are in {}", aside.string()));
}

}  // namespace tessera
