#include "data/sets/csv.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "data/hold_out.h"
#include "data/loading.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kClassesMax = 10'000;

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view unquoted(std::string_view field) {
  field = trimmed(field);
  const bool quoted = field.size() >= 2 && field.front() == '"' && field.back() == '"';
  return quoted ? field.substr(1, field.size() - 2) : field;
}

Error bad_line(std::size_t line, std::string_view why) {
  return {"csv", fmt::format("line {}: {}", line, why)};
}

bool parse_value(std::string_view text, float& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

Result<std::size_t> column_of(std::span<const std::string_view> names, std::string_view label) {
  if (names.size() < 2) return bad_line(1, "a table has a column of classes and another one");
  if (label.empty()) return names.size() - 1;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (unquoted(names[i]) == label) return i;
  return bad_line(1, fmt::format("no column is called '{}'", label));
}

Result<void> take_sample(std::span<const std::string_view> fields, std::size_t label,
                         CsvTable& table) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    float value = 0;
    if (i == label)
      table.labels.emplace_back(unquoted(fields[i]));
    else if (parse_value(unquoted(fields[i]), value))
      table.features.push_back(value);
    else
      return Error{"csv", fmt::format("column {}: '{}' is not a finite number", i + 1,
                                      printable(fields[i]))};
  }
  return {};
}

// As numbers where all of them are whole ones, so that 10 comes after 9.
std::vector<std::string> classes_of(std::span<const std::string> labels) {
  const std::set<std::string> distinct(labels.begin(), labels.end());
  std::vector<std::string> classes(distinct.begin(), distinct.end());
  const auto is_whole = [](const std::string& name) {
    return !name.empty() && name.size() < 10 &&
           name.find_first_not_of("0123456789") == std::string::npos;
  };
  if (std::all_of(classes.begin(), classes.end(), is_whole))
    std::sort(classes.begin(), classes.end(), [](const std::string& a, const std::string& b) {
      return std::stol(a) != std::stol(b) ? std::stol(a) < std::stol(b) : a < b;
    });
  return classes;
}

Result<std::vector<float>> numbers_of(std::span<const std::string> labels,
                                      std::span<const std::string> classes) {
  std::vector<float> numbers;
  for (const std::string& label : labels) {
    const auto found = std::find(classes.begin(), classes.end(), label);
    if (found == classes.end())
      return Error{"class", fmt::format("there is no class '{}' in {}", printable(label),
                                        printable(fmt::format("{}", fmt::join(classes, "/"))))};
    numbers.push_back(static_cast<float>(found - classes.begin()));
  }
  return numbers;
}

Result<CsvTable> read_table(const fs::path& file, std::string_view label) {
  const Result<std::string> text = read_text_file(file);
  if (!text) return text.error();
  Result<CsvTable> table = parse_csv(*text, label);
  if (!table) return in_file(file, table.error());
  return table;
}

struct Samples {
  CsvTable table{};
  std::vector<float> targets{};

  DecodedHalf decoded() && {
    return {.floats = std::move(table.features), .targets = std::move(targets)};
  }
};

// Moves what is held out into the samples returned.
Samples split_off(Samples& all, const std::vector<bool>& held_out) {
  const std::size_t width = all.table.width;
  Samples rest{.table = {.width = width}}, test{.table = {.width = width}};
  for (std::size_t i = 0; i < all.targets.size(); ++i) {
    Samples& into = held_out[i] ? test : rest;
    const auto begin = all.table.features.begin() + static_cast<std::ptrdiff_t>(i * width);
    into.table.features.insert(into.table.features.end(), begin,
                               begin + static_cast<std::ptrdiff_t>(width));
    into.targets.push_back(all.targets[i]);
  }
  all = std::move(rest);
  return test;
}

struct CsvOptions {
  fs::path file{};
  std::string label{};
  std::vector<std::string> classes{};
  std::vector<std::uint32_t> shape{};
  HoldOut test{};
  std::uint64_t seed = 1;
};

CsvOptions read_options(Options& options) {
  CsvOptions read{.file = options.text("file"),
                  .label = options.text("label", ""),
                  .classes = options.words("classes", {}),
                  .test = hold_out_option(options)};
  for (const double extent : options.numbers("shape", {}, between(1, 1e6)))
    read.shape.push_back(static_cast<std::uint32_t>(extent));
  if (!read.shape.empty() && read.shape.size() != 3)
    options.refuse("shape", "write channels/height/width");
  if (read.classes.size() == 1) options.refuse("classes", "there are at least two, as in no/yes");
  read.seed = static_cast<std::uint64_t>(options.integer("seed", 1, at_least(0)));
  options.done();
  return read;
}

Result<Task> task_of(const CsvOptions& wanted, std::size_t width, std::size_t classes) {
  Task task{.shape = wanted.shape, .classes = static_cast<std::uint32_t>(classes)};
  if (task.shape.empty()) task.shape = {1, 1, static_cast<std::uint32_t>(width)};
  if (task.features() != width)
    return Error{"shape",
                 fmt::format("{}: {} features in a line, and shape={} has {}", wanted.file.string(),
                             width, fmt::join(task.shape, "/"), task.features())};
  if (classes < 2 || classes > kClassesMax)
    return Error{"class", fmt::format("{}: {} classes; there are 2 to {}. Is label= right?",
                                      wanted.file.string(), classes, kClassesMax)};
  return task;
}

Result<Samples> read_test(const CsvOptions& wanted, Samples& train,
                          std::span<const std::string> classes) {
  if (wanted.test.path.empty())
    return split_off(train, draw_held_out(train.targets.size(), wanted.test.fraction,
                                          Random(wanted.seed).fork("csv")));
  Result<CsvTable> table = read_table(wanted.test.path, wanted.label);
  if (!table) return table.error();
  if (table->width != train.table.width)
    return Error{"csv",
                 fmt::format("{}: {} features in a line, and {} in {}", wanted.test.path.string(),
                             table->width, train.table.width, wanted.file.string())};
  Result<std::vector<float>> targets = numbers_of(table->labels, classes);
  if (!targets) return in_file(wanted.test.path, targets.error());
  return Samples{std::move(*table), std::move(*targets)};
}

Result<DecodedData> decode(const CsvOptions& wanted) {
  Result<CsvTable> table = read_table(wanted.file, wanted.label);
  if (!table) return table.error();
  const std::vector<std::string> classes =
      wanted.classes.empty() ? classes_of(table->labels) : wanted.classes;
  const Result<Task> task = task_of(wanted, table->width, classes.size());
  if (!task) return task.error();
  Result<std::vector<float>> targets = numbers_of(table->labels, classes);
  if (!targets) return in_file(wanted.file, targets.error());
  Samples train{std::move(*table), std::move(*targets)};
  Result<Samples> test = read_test(wanted, train, classes);
  if (!test) return test.error();
  return DecodedData{.name = "csv",
                     .task = *task,
                     .train = std::move(train).decoded(),
                     .test = std::move(*test).decoded(),
                     .class_names = classes};
}

}  // namespace

Result<CsvTable> parse_csv(std::string_view text, std::string_view label) {
  const std::vector<std::string_view> names = split(take_line(text), ',');
  const Result<std::size_t> column = column_of(names, label);
  if (!column) return column.error();
  CsvTable table{.width = names.size() - 1};
  for (std::size_t line = 2; !text.empty(); ++line) {
    const std::string_view sample = take_line(text);
    if (sample.empty()) continue;
    const std::vector<std::string_view> fields = split(sample, ',');
    if (fields.size() != names.size())
      return bad_line(line, fmt::format("{} fields, not {}", fields.size(), names.size()));
    if (const Result<void> taken = take_sample(fields, *column, table); !taken)
      return bad_line(line, taken.error().message);
  }
  return table;
}

// Reading a table takes no longer than reading what would be kept of it: there are no folders whose
// decoded form is worth keeping.
DataSource csv_source(Options& options) {
  return {{}, [wanted = read_options(options)] { return decode(wanted); }};
}

}  // namespace tessera
