#include "sim/matrix.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/spec.h"
#include "sim/links.h"
#include "sim/network_csv.h"
#include "sim/network_kinds.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 4> kColumns = {"from", "to", "rate", "latency"};
// Squared, this many places are 1 GiB of paths.
constexpr std::size_t kPlacesMax = 8'000;

double parse_path_rate(std::string_view text) {
  const double rate = parse_rate(text);
  if (!(rate > 0)) throw std::invalid_argument(fmt::format("a rate of {} is not above zero", text));
  return rate;
}

struct Row {
  std::size_t from = 0, to = 0;
  PathMatrix::Path path{};
  std::size_t line = 0;
};

// Numbers for names, in the order they come up.
class Places {
 public:
  std::size_t number(std::string_view name) {
    const auto [place, is_new] = numbers_.try_emplace(std::string(name), names.size());
    if (is_new) names.emplace_back(name);
    return place->second;
  }
  std::vector<std::string> names{};

 private:
  std::map<std::string, std::size_t, std::less<>> numbers_;
};

Result<std::vector<Row>> read_rows(const Csv& csv, Places& places) {
  std::array<std::size_t, 4> columns{};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const auto column = csv.column(kColumns[i]);
    if (!column) return Csv::refused(1, fmt::format("the column '{}' is missing", kColumns[i]));
    columns[i] = *column;
  }
  std::vector<Row> rows;
  for (const CsvRow& cells : csv.rows()) {
    Row row{.line = cells.line};
    for (const std::size_t end : {columns[0], columns[1]})
      if (cells.cells[end].empty()) return Csv::refused(cells.line, "a place has no name");
    row.from = places.number(cells.cells[columns[0]]);
    row.to = places.number(cells.cells[columns[1]]);
    const Result<double> rate = read_cell(cells, columns[2], parse_path_rate);
    if (!rate) return rate.error();
    const Result<Duration> latency = read_cell(cells, columns[3], parse_duration);
    if (!latency) return latency.error();
    row.path = {*rate, *latency};
    rows.push_back(row);
    if (places.names.size() > kPlacesMax)
      return Csv::refused(cells.line, fmt::format("more than {} places", kPlacesMax));
  }
  return rows;
}

}  // namespace

Result<PathMatrix> PathMatrix::parse(std::string_view text, bool both_ways) {
  const Result<Csv> csv = Csv::parse(text, kColumns);
  if (!csv) return csv.error();
  Places places;
  const Result<std::vector<Row>> rows = read_rows(*csv, places);
  if (!rows) return rows.error();
  PathMatrix matrix;
  const std::size_t size = places.names.size();
  if (size == 0) return Csv::refused(1, "the table has columns but no rows");
  // Found before the square of it is allocated: few rows cannot hold many places.
  if (rows->size() < (both_ways ? size * (size + 1) / 2 : size * size))
    return Csv::refused(rows->back().line,
                        fmt::format("{} rows cannot hold every pair of {} places, each with itself "
                                    "included",
                                    rows->size(), size));
  matrix.places_ = std::move(places.names);
  matrix.paths_.resize(size * size);
  for (const Row& row : *rows)
    for (const auto& [from, to] : {std::pair(row.from, row.to), std::pair(row.to, row.from)}) {
      Path& path = matrix.paths_[from * size + to];
      const bool given = path.rate != 0;
      if (given && path != row.path)
        return Csv::refused(row.line, fmt::format("{} to {} was given before, and differs{}",
                                                  matrix.places_[from], matrix.places_[to],
                                                  both_ways ? "; symmetric=no allows two ways that "
                                                              "differ"
                                                            : ""));
      path = row.path;
      if (!both_ways) break;
    }
  for (std::size_t i = 0; i < matrix.paths_.size(); ++i)
    if (matrix.paths_[i].rate == 0)
      return Csv::refused(rows->back().line,
                          fmt::format("the table ends without {} to {}", matrix.places_[i / size],
                                      matrix.places_[i % size]));
  return matrix;
}

// Nodes are dealt to places in blocks: with 60 nodes and ten places, nodes 0 to 5 are in the first.
std::unique_ptr<Network> make_matrix(Options& options, const NetworkContext& context) {
  const std::string file = options.text("file");
  const bool both_ways = options.yes("symmetric", true);
  const Result<std::string> text = read_csv_file(file);
  if (!text) options.refuse("file", text.error().message);
  Result<PathMatrix> read = PathMatrix::parse(*text, both_ways);
  if (!read) options.refuse("file", fmt::format("{}: {}", file, read.error().message));
  const std::size_t places = read->places().size();
  if (context.nodes == 0 || context.nodes % places != 0)
    options.refuse("file",
                   fmt::format("{} has {} places, to which {} nodes cannot be dealt evenly: "
                               "take a multiple of {}",
                               file, places, context.nodes, places));
  if (options.has("stragglers") && !options.has("up"))
    options.refuse("stragglers", "they slow down a node's own links: give those with up=");
  const std::size_t per_place = context.nodes / places;
  LinksParts parts{.rates = NodeRates::read(options, context, kUnlimited)};
  parts.path = [matrix = *std::move(read), per_place](NodeId from, NodeId to) {
    const PathMatrix::Path& path = matrix.path(from / per_place, to / per_place);
    return PathTraits{path.rate, path.latency};
  };
  return make_shared_links(options, std::move(parts));
}

}  // namespace tessera
