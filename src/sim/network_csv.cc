#include "sim/network_csv.h"

#include <algorithm>
#include <system_error>

#include "base/files.h"
#include "base/text.h"

namespace tessera {
namespace {

// A thousand nodes that change every second for a day are 2 GB; what people replay is far smaller.
constexpr std::uintmax_t kFileMax = 256u << 20;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells = split(line, ',');
  for (std::string_view& cell : cells) cell = trimmed(cell);
  return cells;
}

std::optional<Error> wrong_names(const CsvRow& header, std::span<const std::string_view> known) {
  for (std::size_t i = 0; i < header.cells.size(); ++i) {
    const std::string_view name = header.cells[i];
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Csv::refused(header.line, fmt::format("there is no column '{}'.{}", name.substr(0, 40),
                                                   suggestion(name.substr(0, 40), known)));
    if (std::find(header.cells.begin(), header.cells.begin() + static_cast<std::ptrdiff_t>(i),
                  name) != header.cells.begin() + static_cast<std::ptrdiff_t>(i))
      return Csv::refused(header.line, fmt::format("the column '{}' is named twice", name));
  }
  return std::nullopt;
}

}  // namespace

Result<Csv> Csv::parse(std::string_view text, std::span<const std::string_view> known) {
  Csv csv;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = take_line(text);
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    CsvRow row{number, cells_of(line)};
    if (csv.names_.empty()) {
      if (std::optional<Error> error = wrong_names(row, known)) return *std::move(error);
      csv.names_ = std::move(row.cells);
    } else if (row.cells.size() != csv.names_.size()) {
      return refused(number, fmt::format("{} cells; the columns are {}: {}", row.cells.size(),
                                         csv.names_.size(), join(csv.names_, ",")));
    } else {
      csv.rows_.push_back(std::move(row));
    }
  }
  if (csv.names_.empty())
    return refused(
        1, fmt::format("the table is empty; begin with the columns, of {}", join(known, ",")));
  return csv;
}

std::optional<std::size_t> Csv::column(std::string_view name) const {
  const auto place = std::find(names_.begin(), names_.end(), name);
  if (place == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(place - names_.begin());
}

Result<std::string> read_csv_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kFileMax)
    return Error{"csv", fmt::format("{} has {}; a table of more than {} is surely something else",
                                    path.string(), show_bytes(static_cast<double>(size)),
                                    show_bytes(static_cast<double>(kFileMax)))};
  return read_text_file(path);
}

}  // namespace tessera
