#include "report/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kMagic = 0x4b435354;  // "TSCK"
constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kKept = 2;

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

// Whether there is nothing in it but what a process leaves that was killed before it could write
// config.toml.
bool holds_nothing(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const bool part = entry.path().filename().string().find(".part") != std::string::npos;
    const bool checkpoint = entry.path().filename() == "checkpoint";
    if (!part && !(checkpoint && fs::is_empty(entry.path(), ignored))) return false;
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

struct CheckpointFile {
  std::uint64_t metrics_bytes = 0;
  ByteSpan state{};
};

Result<CheckpointFile> parse_checkpoint(ByteSpan file, std::uint64_t config_hash) {
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
  if (in.get<std::uint64_t>() != config_hash)
    return Error{"config", "it belongs to another configuration"};
  CheckpointFile checkpoint{.metrics_bytes = in.get<std::uint64_t>()};
  checkpoint.state = in.get_bytes(in.left());
  return checkpoint;
}

}  // namespace

void RunFolder::check(const fs::path& path, std::string_view config, ExistingRun existing) {
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
  if (const std::string held = or_throw(read_text_file(path / "config.toml")); held != config)
    throw std::invalid_argument(
        fmt::format("{}/config.toml differs from what is asked for now ({}); resume with the same "
                    "settings and the program that began it, or choose another --out",
                    path.string(), first_difference(held, config)));
}

std::optional<std::string> RunFolder::finished(const fs::path& path) {
  const Result<std::string> summary = read_text_file(path / "summary.json");
  return summary.ok() ? std::optional(*summary) : std::nullopt;
}

RunFolder::RunFolder(fs::path path, std::string_view config, ExistingRun existing)
    : path_(std::move(path)), config_hash_(hash_bytes(bytes_of(config))) {
  check(path_, config, existing);
  std::error_code failed;
  // What a killed process was writing, and a summary that would make an unfinished run look
  // finished.
  for (const auto& entry : fs::directory_iterator(path_ / "checkpoint", failed))
    if (entry.path().extension().string().starts_with(".part")) fs::remove(entry.path(), failed);
  fs::remove(path_ / "summary.json", failed);
  if (existing == ExistingRun::kResume && fs::exists(path_ / "config.toml", failed)) return;
  for (const char* name : {"metrics.jsonl", "checkpoint"}) fs::remove_all(path_ / name, failed);
  fs::create_directories(path_ / "checkpoint", failed);
  if (failed)
    throw std::invalid_argument(
        fmt::format("cannot create {}: {}", path_.string(), failed.message()));
  or_throw(write_file(path_ / "config.toml", bytes_of(config)));
}

void RunFolder::append_metrics(std::string_view line) {
  std::ofstream out(path_ / "metrics.jsonl", std::ios::app);
  out << line << "\n";
  out.flush();
  if (!out)
    throw std::runtime_error(
        fmt::format("{}/metrics.jsonl: cannot write; is the disk full?", path_.string()));
}

void RunFolder::write_summary(std::string_view json) {
  or_throw(write_file(path_ / "summary.json", bytes_of(json)));
}

void RunFolder::write_checkpoint(std::uint32_t round, ByteSpan state) {
  std::error_code none;
  const std::uintmax_t metrics = fs::file_size(path_ / "metrics.jsonl", none);
  Bytes file;
  ByteWriter writer(file);
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(config_hash_);
  writer.put<std::uint64_t>(none ? 0 : metrics);
  writer.put_bytes(state);
  writer.put(hash_bytes(file));
  or_throw(write_file(path_ / "checkpoint" / fmt::format("{}.bin", round), file));
  const auto all = checkpoints_in(path_ / "checkpoint");
  for (std::size_t i = kKept; i < all.size(); ++i) fs::remove(all[i].second, none);
}

std::optional<RunFolder::Restored> RunFolder::read_checkpoint() {
  Restored restored;
  for (const auto& [round, path] : checkpoints_in(path_ / "checkpoint")) {
    const Result<Bytes> file = read_file(path);
    const Result<CheckpointFile> checkpoint =
        file.ok() ? parse_checkpoint(*file, config_hash_) : Result<CheckpointFile>(file.error());
    // It is whole: to begin anew in silence would throw a run away.
    if (!checkpoint.ok() && checkpoint.error().kind == "version")
      throw std::runtime_error(fmt::format(
          "cannot resume: {}: {}; continue with that one, or begin anew with --overwrite or in "
          "another folder",
          path.string(), checkpoint.error().message));
    std::error_code failed;
    const std::uintmax_t have = fs::file_size(path_ / "metrics.jsonl", failed);
    if (!checkpoint.ok() ||
        (checkpoint->metrics_bytes > 0 && (failed || have < checkpoint->metrics_bytes))) {
      restored.passed_over.push_back(fmt::format(
          "{}: {}", path.string(),
          checkpoint.ok() ? "metrics.jsonl is shorter than it says" : checkpoint.error().message));
      continue;
    }
    if (!failed) fs::resize_file(path_ / "metrics.jsonl", checkpoint->metrics_bytes);
    restored.state.assign(checkpoint->state.begin(), checkpoint->state.end());
    restored.round = round;
    return restored;
  }
  std::error_code ignored;
  fs::remove(path_ / "metrics.jsonl", ignored);
  if (restored.passed_over.empty()) return std::nullopt;
  return restored;
}

}  // namespace tessera
