#include "data/sets/csv.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "data/loading.h"
#include "data/own_samples.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

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

struct CsvOptions {
  fs::path file{};
  std::string label{};
  OwnOptions own{};
};

Result<OwnSamples> read_table(const fs::path& file, std::string_view label) {
  const Result<std::string> text = read_text_file(file);
  if (!text) return text.error();
  Result<CsvTable> table = parse_csv(*text, label);
  if (!table) return in_file(file, table.error());
  return OwnSamples{.place = file,
                    .width = table->width,
                    .floats = std::move(table->features),
                    .labels = std::move(table->labels)};
}

Result<DecodedData> decode(const CsvOptions& wanted) {
  Result<OwnSamples> train = read_table(wanted.file, wanted.label);
  if (!train) return train.error();
  const std::array<std::uint32_t, 1> extents = {static_cast<std::uint32_t>(train->width)};
  Result<SampleForm> form = form_of(extents, wanted.own);
  if (!form) return in_file(wanted.file, form.error());
  std::optional<OwnSamples> test;
  if (!wanted.own.test.path.empty()) {
    Result<OwnSamples> read = read_table(wanted.own.test.path, wanted.label);
    if (!read) return read.error();
    test = std::move(*read);
  }
  return own_set("csv", std::move(form->shape), wanted.own, std::move(*train), std::move(test));
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
  const CsvOptions wanted{.file = options.text("file"),
                          .label = options.text("label", ""),
                          .own = own_options(options)};
  options.done();
  return {{}, [=] { return decode(wanted); }};
}

}  // namespace tessera
