// Tables people write by hand or by script: a line of column names, then one row per line, cells
// between commas. Blank lines and what follows a '#' do not count. Cells are read with the units of
// specs (base/spec.h); whatever does not hold is refused with its line and column.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera {

struct CsvRow {
  std::size_t line = 0;
  std::vector<std::string_view> cells{};
};

class Csv {
 public:
  // The cells look into `text`, which must outlive them. Every name must be among `known`.
  static Result<Csv> parse(std::string_view text, std::span<const std::string_view> known);

  const std::vector<CsvRow>& rows() const { return rows_; }
  std::optional<std::size_t> column(std::string_view name) const;

  static Error refused(std::size_t line, std::string_view why) {
    return {"csv", fmt::format("line {}: {}", line, why)};
  }

 private:
  std::vector<std::string_view> names_;
  std::vector<CsvRow> rows_;
};

// The whole file, or why not: missing, or larger than any table we could mean.
Result<std::string> read_csv_file(const std::filesystem::path& path);

// A cell read by one of the parsers of base/spec.h, which throw.
template <typename Parse>
auto read_cell(const CsvRow& row, std::size_t column, Parse parse)
    -> Result<decltype(parse(std::string_view{}))> {
  try {
    return parse(row.cells[column]);
  } catch (const std::invalid_argument& error) {
    return Csv::refused(row.line, error.what());
  }
}

}  // namespace tessera
