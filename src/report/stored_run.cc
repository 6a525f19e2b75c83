#include "report/stored_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "base/files.h"
#include "base/spec.h"
#include "base/text.h"
#include "report/json_depth.h"
#include "report/run_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string unquoted(std::string_view value) {
  const bool quoted =
      value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
  return std::string(quoted ? value.substr(1, value.size() - 2) : value);
}

// The lines `key = "value"` of a config.toml as we write it.
std::vector<std::pair<std::string, std::string>> parse_config(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> config;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos || trimmed(line).starts_with('#')) continue;
    config.emplace_back(trimmed(line.substr(0, equals)),
                        unquoted(trimmed(line.substr(equals + 1))));
  }
  return config;
}

std::map<std::string, double> numbers_of(const Json& json) {
  std::map<std::string, double> numbers;
  for (const auto& [key, value] : json.items())
    if (value.is_number()) numbers[key] = value.get<double>();
  return numbers;
}

// The last whole line of a file that may be growing while we read it.
std::string last_line(const fs::path& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return {};
  const std::size_t end = text->rfind('\n');
  if (end == text->npos || end == 0) return {};
  const std::size_t before = text->rfind('\n', end - 1);
  const std::size_t begin = before == text->npos ? 0 : before + 1;
  return text->substr(begin, end - begin);
}

bool is_run(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "config.toml", ignored);
}

// The seed-N folders of a run of several seeds, by number.
std::vector<fs::path> seed_folders(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("seed-") || !is_run(entry.path())) continue;
    try {
      found.emplace_back(parse_integer(name.substr(5)), entry.path());
    } catch (const std::invalid_argument&) {
      continue;
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> folders;
  for (auto& [seed, path] : found) folders.push_back(std::move(path));
  return folders;
}

bool holds_run(const fs::path& folder) {
  return is_run(folder) || !seed_folders(folder).empty();
}

Result<StoredSeed> read_seed(const fs::path& folder, StoredRun& run) {
  const Result<std::string> config = read_text_file(folder / "config.toml");
  if (!config) return config.error();
  if (run.config.empty()) run.config = parse_config(*config);
  StoredSeed seed{.folder = folder};
  for (const auto& [key, value] : parse_config(*config))
    if (key == "seed") seed.seed = value;
  if (const std::optional<std::string> why = RunFolder::diverged(folder)) {
    seed.diverged = why->empty() ? "its model has diverged" : *why;
    return seed;
  }
  std::error_code ignored;
  if (!fs::exists(folder / "summary.json", ignored)) {
    const Json row = Json::parse(last_line(folder / "metrics.jsonl"), nullptr, false);
    if (row.is_object()) seed.figures = numbers_of(row);
    if (seed.figures.contains("round")) seed.figures["rounds"] = seed.figures["round"];
    return seed;
  }
  const Result<std::string> text = read_text_file(folder / "summary.json");
  if (!text) return text.error();
  const Json summary = is_too_deep(*text) ? Json(nullptr) : Json::parse(*text, nullptr, false);
  if (!summary.is_object())
    return Error{"json", (folder / "summary.json").string() + ": not a run's summary"};
  seed.summary = *text;
  seed.figures = numbers_of(summary);
  const auto command = summary.find("command");
  if (run.command.empty() && command != summary.end() && command->is_string())
    run.command = command->get<std::string>();
  return seed;
}

// config.toml is an experiment like any other, so there is a way to continue a run that has no
// summary yet.
std::string command_from_config(const StoredRun& run) {
  std::string seeds;
  if (run.seeds[0].folder != run.folder)
    for (const StoredSeed& seed : run.seeds)
      seeds += fmt::format("{}{}", seeds.empty() ? " --seeds=" : ",", seed.seed);
  return fmt::format("tessera sim {}{} --out={} --resume",
                     (run.seeds[0].folder / "config.toml").string(), seeds, run.folder.string());
}

std::vector<std::string> parts_of(const fs::path& folder) {
  std::vector<std::string> parts;
  for (const fs::path& part : folder.lexically_normal())
    if (!part.empty() && part != ".") parts.push_back(part.string());
  return parts;
}

// Names of one part where they differ, else of two, and so on.
void name_apart(std::vector<StoredRun>& runs) {
  for (std::size_t depth = 1; depth <= 8; ++depth) {
    std::set<std::string> names;
    for (StoredRun& run : runs) {
      const std::vector<std::string> parts = parts_of(run.folder);
      const std::size_t kept = std::min(depth, parts.size());
      run.name.clear();
      for (std::size_t i = parts.size() - kept; i < parts.size(); ++i)
        run.name += fmt::format("{}{}", run.name.empty() ? "" : "/", parts[i]);
      names.insert(run.name);
    }
    if (names.size() == runs.size()) return;
  }
}

}  // namespace

std::optional<double> StoredSeed::figure(std::string_view name) const {
  const auto found = figures.find(std::string(name));
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

bool StoredRun::finished() const {
  return std::all_of(seeds.begin(), seeds.end(), [](const auto& seed) { return seed.finished(); });
}

std::size_t StoredRun::diverged() const {
  return static_cast<std::size_t>(std::count_if(
      seeds.begin(), seeds.end(), [](const auto& seed) { return !seed.diverged.empty(); }));
}

std::string StoredRun::setting(std::string_view key) const {
  for (const auto& [known, value] : config)
    if (known == key) return value;
  return {};
}

std::vector<double> StoredRun::figures(std::string_view figure) const {
  std::vector<double> values;
  for (const StoredSeed& seed : seeds)
    if (const auto value = seed.figure(figure)) values.push_back(*value);
  return values;
}

Result<StoredRun> read_run(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return Error{"run", folder.string() + ": there is no such run"};
  StoredRun run{.name = folder.lexically_normal().filename().string(), .folder = folder};
  std::vector<fs::path> folders = {folder};
  if (!is_run(folder)) folders = seed_folders(folder);
  if (folders.empty())
    return Error{"run", folder.string() + ": not a run's folder (it has no config.toml)"};
  for (const fs::path& one : folders) {
    const Result<StoredSeed> seed = read_seed(one, run);
    if (!seed) return seed.error();
    run.seeds.push_back(*seed);
  }
  if (run.command.empty()) run.command = command_from_config(run);
  return run;
}

FoundRuns find_runs(std::span<const std::string> folders) {
  FoundRuns found;
  std::vector<fs::path> paths;
  for (const std::string& folder : folders) {
    std::vector<fs::path> inside;
    std::error_code ignored;
    if (!holds_run(folder))
      for (const auto& entry : fs::directory_iterator(folder, ignored))
        if (entry.is_directory(ignored) && holds_run(entry.path())) inside.push_back(entry.path());
    std::sort(inside.begin(), inside.end());
    if (inside.empty()) inside.emplace_back(folder);
    paths.insert(paths.end(), inside.begin(), inside.end());
  }
  std::set<fs::path> seen;
  for (const fs::path& path : paths) {
    if (!seen.insert(path.lexically_normal()).second) continue;
    Result<StoredRun> run = read_run(path);
    if (run.ok())
      found.runs.push_back(std::move(*run));
    else
      found.left_out.push_back(run.error());
  }
  name_apart(found.runs);
  return found;
}

}  // namespace tessera
