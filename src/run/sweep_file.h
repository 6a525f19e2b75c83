// A sweep as its file has it, nothing of it crossed yet.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "run/experiment.h"

namespace tessera {

// What a value is given to: a line ("sharing"), or one option of it ("sharing.budget").
struct SweepTarget {
  std::string key{};
  std::string option{};  // Empty: the whole line.

  std::string name() const { return option.empty() ? key : key + "." + option; }
  bool operator==(const SweepTarget&) const = default;
};

struct SweepSetting {
  SweepTarget target{};
  std::string value{};
};

// A list, with the word that stands for each value in a cell's name.
struct SweepDimension {
  SweepTarget target{};
  std::vector<std::string> values{}, labels{};
};

struct SweepCase {
  std::string name{};  // Empty in a sweep without cases.
  std::vector<SweepSetting> settings{};
  std::vector<SweepDimension> dimensions{};
};

struct SweepFile {
  Experiment lines{};
  std::vector<SweepCase> cases{};            // At least one.
  std::vector<SweepDimension> dimensions{};  // Of all cases.
};

SweepFile parse_sweep_file(std::string_view text, const std::filesystem::path& where);

}  // namespace tessera
