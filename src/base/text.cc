#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tessera {
namespace {

// Levenshtein's distance, one row at a time.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

struct Unit {
  double size;
  std::string_view name;
};

std::string in_largest_unit(double amount, std::span<const Unit> units) {
  const auto fits = [&](const Unit& unit) { return std::abs(amount) >= unit.size; };
  const auto found = std::find_if(units.begin(), units.end() - 1, fits);
  const double number = amount / found->size;
  // Three digits, but no powers of ten: there are 1,023 KiB before there is a MiB.
  return std::abs(number) < 999.5 ? fmt::format("{:.3g} {}", number, found->name)
                                  : fmt::format("{:.0f} {}", number, found->name);
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t edits = edits_between(word, candidate);
    if (edits < fewest) fewest = edits, best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest(word, candidates);
  if (!near.empty()) return fmt::format(" Did you mean '{}'?", near);
  if (candidates.empty()) return " None are known.";
  return fmt::format(" Known: {}.", join(candidates, ", "));
}

std::string join(std::span<const std::string_view> words, std::string_view between) {
  return fmt::format("{}", fmt::join(words.begin(), words.end(), between));
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string show_bytes(double bytes) {
  constexpr std::array units = {Unit{0x1p40, "TiB"}, Unit{0x1p30, "GiB"}, Unit{0x1p20, "MiB"},
                                Unit{0x1p10, "KiB"}, Unit{1, "B"}};
  return in_largest_unit(bytes, units);
}

std::string show_duration(Duration d) {
  constexpr std::array units = {Unit{3600, "h"},  Unit{60, "min"},  Unit{1, "s"},
                                Unit{1e-3, "ms"}, Unit{1e-6, "us"}, Unit{1e-9, "ns"}};
  return in_largest_unit(to_seconds(d), units);
}

}  // namespace tessera
