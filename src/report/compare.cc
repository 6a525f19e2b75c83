#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Result<Json> read_json(const fs::path& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) return text.error();
  Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return Error{"json", path.string() + ": not a summary"};
  return json;
}

// The text of `key = "..."` in a config.toml as we write it.
std::string config_value(const std::string& config, std::string_view key) {
  for (const std::string_view line : split(config, '\n')) {
    if (!line.starts_with(key) || trimmed(line.substr(key.size())).substr(0, 1) != "=") continue;
    std::string_view value = trimmed(line.substr(line.find('=') + 1));
    if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return {};
}

// The number under `key`; a missing one is remembered, so that none is made up.
double number(const Json& json, const char* key, std::string& missing) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_number()) return found->get<double>();
  missing = key;
  return 0;
}

bool has_seeds(const Json& summary) {
  const auto seeds = summary.find("seeds");
  return seeds != summary.end() && seeds->is_array() && !seeds->empty() &&
         seeds->front().is_number_unsigned();
}

// Of several seeds, the folder of the first holds the configuration.
fs::path config_of(const fs::path& folder, const Json& summary) {
  if (!has_seeds(summary)) return folder / "config.toml";
  return folder / fmt::format("seed-{}", summary["seeds"][0].dump()) / "config.toml";
}

}  // namespace

Result<FinishedRun> read_finished_run(const fs::path& folder) {
  if (!fs::exists(folder / "summary.json"))
    return Error{"run",
                 folder.string() + (fs::exists(folder / "config.toml")
                                        ? ": the run is not finished; continue it with --resume"
                                        : ": not a run's folder")};
  const Result<Json> summary = read_json(folder / "summary.json");
  if (!summary.ok()) return summary.error();
  const Result<std::string> config = read_text_file(config_of(folder, *summary));
  if (!config.ok()) return config.error();
  std::string missing;
  FinishedRun run{
      .name = folder.filename().empty() ? folder.parent_path().filename().string()
                                        : folder.filename().string(),
      .sharing = config_value(*config, "sharing") + ", " + config_value(*config, "codec"),
      .accuracy = number(*summary, "accuracy", missing),
      .loss = number(*summary, "loss", missing),
      .bytes_per_node = number(*summary, "bytes_sent_per_node", missing),
      .wall_seconds = number(*summary, "wall_seconds", missing),
      .rounds = static_cast<std::uint64_t>(number(*summary, "rounds", missing))};
  if (has_seeds(*summary)) {
    run.seeds = (*summary)["seeds"].size();
    if (run.seeds > 1) run.accuracy_deviation = number(*summary, "accuracy_deviation", missing);
  }
  if (!missing.empty())
    return Error{"json", fmt::format("{}/summary.json has no {}", folder.string(), missing)};
  return run;
}

std::string comparison_table(std::span<const FinishedRun> runs) {
  std::size_t width = 4;
  for (const FinishedRun& run : runs) width = std::max(width, run.name.size());
  std::string table =
      fmt::format("{:<{}}  {:>16}  {:>7}  {:>12}  {:>11}  {:>8}  {:>8}\n", "run", width, "accuracy",
                  "loss", "sent/node", "bytes saved", "points", "wall");
  for (const FinishedRun& run : runs) {
    const FinishedRun& first = runs.front();
    const std::string accuracy =
        run.seeds > 1
            ? fmt::format("{:.2f} +- {:.2f}%", 100 * run.accuracy, 100 * run.accuracy_deviation)
            : fmt::format("{:.2f}%", 100 * run.accuracy);
    const double saved =
        first.bytes_per_node > 0 ? 1 - run.bytes_per_node / first.bytes_per_node : 0;
    table += fmt::format("{:<{}}  {:>16}  {:>7.4f}  {:>12}  {:>10.1f}%  {:>+8.2f}  {:>6.0f} s\n",
                         run.name, width, accuracy, run.loss, show_bytes(run.bytes_per_node),
                         100 * saved, 100 * (run.accuracy - first.accuracy), run.wall_seconds);
  }
  return table;
}

}  // namespace tessera
