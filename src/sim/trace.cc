#include "sim/trace.h"

#include <array>

#include "base/text.h"
#include "sim/network_csv.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 6> kColumns = {"time", "node", "up", "down", "speed", "on"};

// An `all` on every row of a long file would not fit into memory.
constexpr std::size_t kChangesMax = 50'000'000;

double parse_positive_rate(std::string_view text) {
  const double rate = parse_rate(text);
  if (!(rate > 0))
    throw std::invalid_argument(
        fmt::format("a rate of {} is not above zero; on=no takes a node away", text));
  return rate;
}

double parse_speed(std::string_view text) {
  const double speed = parse_number(text);
  if (!(speed > 0))
    throw std::invalid_argument(
        fmt::format("a speed of {} is not above zero; on=no stops a node", text));
  return speed;
}

bool parse_on(std::string_view text) {
  if (text == "yes" || text == "on" || text == "1") return true;
  if (text == "no" || text == "off" || text == "0") return false;
  throw std::invalid_argument(fmt::format("'{}' is neither yes nor no", text));
}

// Fills `value` from a cell; an empty cell, or none, leaves things as they are.
template <typename T, typename Parse>
Result<void> read_optional(const CsvRow& row, std::optional<std::size_t> column, Parse parse,
                           std::optional<T>& value) {
  if (!column || row.cells[*column].empty()) return {};
  const Result<T> read = read_cell(row, *column, parse);
  if (!read) return read.error();
  value = *read;
  return {};
}

struct Columns {
  std::size_t time = 0, node = 0;
  std::optional<std::size_t> up{}, down{}, speed{}, on{};
};

Result<TraceChange> parse_change(const CsvRow& row, const Columns& columns) {
  TraceChange change;
  const Result<Duration> time = read_cell(row, columns.time, parse_duration);
  if (!time) return time.error();
  change.at = Instant(*time);
  for (const Result<void>& read :
       {read_optional(row, columns.up, parse_positive_rate, change.up),
        read_optional(row, columns.down, parse_positive_rate, change.down),
        read_optional(row, columns.speed, parse_speed, change.speed),
        read_optional(row, columns.on, parse_on, change.on)})
    if (!read) return read.error();
  return change;
}

// The nodes a row is about: [first, last].
struct Range {
  NodeId first = 0, last = 0;
};

Result<Range> parse_nodes(const CsvRow& row, std::size_t column, std::uint32_t nodes) {
  if (row.cells[column] == "all") return Range{0, nodes - 1};
  const Result<std::int64_t> node = read_cell(row, column, parse_integer);
  if (!node) return node.error();
  if (*node < 0 || *node >= nodes)
    return Csv::refused(
        row.line, fmt::format("there is no node {}; the run has nodes 0 to {}", *node, nodes - 1));
  return Range{static_cast<NodeId>(*node), static_cast<NodeId>(*node)};
}

}  // namespace

Result<Trace> parse_trace(std::string_view text, std::uint32_t nodes) {
  const Result<Csv> csv = Csv::parse(text, kColumns);
  if (!csv) return csv.error();
  if (!csv->column("time") || !csv->column("node"))
    return Csv::refused(1, "a trace needs the columns time and node");
  const Columns columns{.time = *csv->column("time"),
                        .node = *csv->column("node"),
                        .up = csv->column("up"),
                        .down = csv->column("down"),
                        .speed = csv->column("speed"),
                        .on = csv->column("on")};
  Trace trace;
  for (const CsvRow& row : csv->rows()) {
    Result<TraceChange> change = parse_change(row, columns);
    if (!change) return change.error();
    if (!trace.empty() && change->at < trace.back().at)
      return Csv::refused(row.line, fmt::format("time runs backwards: {} comes after {}",
                                                show_duration(change->at.time_since_epoch()),
                                                show_duration(trace.back().at.time_since_epoch())));
    const Result<Range> range = parse_nodes(row, columns.node, nodes);
    if (!range) return range.error();
    if (trace.size() + (range->last - range->first + 1) > kChangesMax)
      return Csv::refused(row.line, fmt::format("more than {} changes", kChangesMax));
    for (NodeId node = range->first; node <= range->last; ++node) {
      change->node = node;
      trace.push_back(*change);
    }
  }
  return trace;
}

Trace read_trace(Options& options, std::uint32_t nodes) {
  const std::string path = options.text("trace", "");
  if (path.empty()) return {};
  const Result<std::string> text = read_csv_file(path);
  if (!text) options.refuse("trace", text.error().message);
  Result<Trace> trace = parse_trace(*text, nodes);
  if (!trace) options.refuse("trace", fmt::format("{}: {}", path, trace.error().message));
  return *std::move(trace);
}

}  // namespace tessera
