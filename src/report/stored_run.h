// A run as its folder tells it, finished or not: what a report and a comparison are made of. A run
// of several seeds is one StoredRun with a StoredSeed for each.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace tessera {

struct StoredSeed {
  std::filesystem::path folder{};
  std::string seed{};     // As config.toml has it.
  std::string summary{};  // The text of summary.json; empty for a run that has not come to its end.
  // The numbers of the summary; of an unfinished run those of its last row, nothing before that.
  std::map<std::string, double> figures{};
  std::string diverged{};  // Why it ended, where a model diverged; then there are no figures.

  bool finished() const { return !summary.empty(); }
  std::optional<double> figure(std::string_view name) const;
};

struct StoredRun {
  std::string name{};  // The end of the folder's path, as much of it as tells the runs apart.
  std::filesystem::path folder{};
  std::vector<std::pair<std::string, std::string>> config{};  // Of the first seed, in file order.
  std::vector<StoredSeed> seeds{};                            // At least one.
  std::string command{};                                      // What to type to have it again.
  // Of one that is not finished: as its plan says, where whoever shows it has read that.
  std::optional<Round> rounds_planned{};

  bool finished() const;
  std::size_t diverged() const;                     // How many of its seeds.
  std::string setting(std::string_view key) const;  // From config; empty when it is not there.
  // The figure of every seed that has it.
  std::vector<double> figures(std::string_view figure) const;
};

Result<StoredRun> read_run(const std::filesystem::path& folder);

// The runs of some folders, and why the rest are none. A folder that holds runs stands for them.
struct FoundRuns {
  std::vector<StoredRun> runs{};
  std::vector<Error> left_out{};
};
FoundRuns find_runs(std::span<const std::string> folders);

}  // namespace tessera
