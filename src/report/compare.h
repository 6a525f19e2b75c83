// Finished runs beside each other, for the terminal.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace tessera {

// What a comparison shows of one run, read back from its folder.
struct FinishedRun {
  std::string name{};     // The folder's.
  std::string sharing{};  // As config.toml has it, with the codec.
  double accuracy = 0, accuracy_deviation = 0, loss = 0;
  double bytes_per_node = 0, wall_seconds = 0;
  std::uint64_t rounds = 0, seeds = 1;
};

Result<FinishedRun> read_finished_run(const std::filesystem::path& folder);

// A table whose last columns compare with the first run: bytes saved, points of accuracy gained or
// lost.
std::string comparison_table(std::span<const FinishedRun> runs);

}  // namespace tessera
