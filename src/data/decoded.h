// A set as its loader decodes it: columns of numbers, which lie in memory or in a mapped file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/stores.h"
#include "data/views.h"

namespace tessera {

struct DecodedHalf {
  // Features, one sample after the other, fill one of these two.
  Column<std::uint8_t> bytes{};
  Column<float> floats{};
  Column<float> targets{};
  Column<std::uint32_t> users{};  // One per sample, or empty.
};

struct DecodedData {
  std::string name{};
  Task task{};
  Normalization scale{};
  DecodedHalf train{};
  DecodedHalf test{};
  std::vector<std::string> class_names{};
};

// A line whose options are read, before any file is.
struct DataSource {
  std::vector<std::filesystem::path>
      folders{};  // Everything it reads lies in these; none: no file.
  std::function<Result<DecodedData>()> decode{};
};

LoadedData as_datasets(DecodedData decoded);

std::size_t bytes_in(const DecodedData& data);

// What loaders make sure of, for sets that come from elsewhere: lengths agree, and every number
// that a model looks something up by is below what it must be below.
Result<void> check_sound(const DecodedData& data);

}  // namespace tessera
