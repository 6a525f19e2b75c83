// A sweep: one file that stands for a grid of experiments. Above are the lines they all have, under
// [sweep] lists of what is crossed, and a [[case]] is a name for lines that go together:
//
//   base = "cifar10.toml"
//
//   [sweep]
//   seed             = "90..94"
//   network.slowdown = [1, 2, 5, 10]       # one option of a line, the rest of which stays
//
//   [[case]]
//   name = "full"
//   sharing = "full"
//
//   [[case]]
//   name = "jwins"
//   sharing = "jwins"
//   "sharing.budget" = [0.1, 0.2]          # in this case alone; in quotes beside its own line
//
// A cell is one of them, a complete experiment. Its name is what varies, and its folder's too:
// "jwins-budget=0.1-slowdown=5/seed-90". Cells that differ in nothing but the seed are one run.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/experiment.h"

namespace tessera {

struct SweepCell {
  std::string name{};
  std::string run{};                  // The name without the seed; empty where nothing else varies.
  std::vector<std::string> labels{};  // The parts of the name: "jwins", "slowdown=5", "seed-90".
  std::vector<std::pair<std::string, std::string>> varied{};  // As ("network.slowdown", "5").
  Experiment experiment{};
};

constexpr std::size_t kCellsMax = 10'000;

// In the order of the file, seeds innermost. `flags` are lines that win over the file's; a line
// that varies takes none, but "seeds" (as parse_seeds() has them) replaces the file's own. Both
// throw std::invalid_argument that names file and line.
std::vector<SweepCell> read_sweep(const std::filesystem::path& path,
                                  const std::map<std::string, std::string>& flags = {});
std::vector<SweepCell> parse_sweep(std::string_view text, const std::filesystem::path& where,
                                   const std::map<std::string, std::string>& flags = {});

// The cells that have one of the `words` as their name, their run or a label; all of them where
// there are no words. Throws std::invalid_argument for a word that no cell has.
std::vector<SweepCell> chosen_cells(std::vector<SweepCell> cells,
                                    const std::vector<std::string>& words);

// "FILE:CELL" as its two parts; nothing where that is a file's name.
std::optional<std::pair<std::filesystem::path, std::string>> named_cell(const std::string& text);
// The cell of this name; of a run of several seeds its first one.
SweepCell read_cell(const std::filesystem::path& path, const std::string& name);

}  // namespace tessera
