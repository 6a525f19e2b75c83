// Numbers with units, as spec.h promises them.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/spec.h"

namespace tessera {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kDurations = {Unit{"ns", 1},  Unit{"us", 1e3},   Unit{"ms", 1e6},
                                   Unit{"s", 1e9}, Unit{"min", 60e9}, Unit{"h", 3600e9}};
constexpr std::array kSizes = {Unit{"", 1},         Unit{"B", 1},        Unit{"kB", 1e3},
                               Unit{"MB", 1e6},     Unit{"GB", 1e9},     Unit{"TB", 1e12},
                               Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30},
                               Unit{"TiB", 0x1p40}};
constexpr std::array kRates = {
    Unit{"B/s", 1},          Unit{"kB/s", 1e3},      Unit{"MB/s", 1e6},
    Unit{"GB/s", 1e9},       Unit{"KiB/s", 0x1p10},  Unit{"MiB/s", 0x1p20},
    Unit{"GiB/s", 0x1p30},   Unit{"bit/s", 1.0 / 8}, Unit{"kbit/s", 1e3 / 8},
    Unit{"Mbit/s", 1e6 / 8}, Unit{"Gbit/s", 1e9 / 8}};

[[noreturn]] void refuse(std::string_view text, std::string_view wanted) {
  throw std::invalid_argument(fmt::format("'{}' is not {}", text, wanted));
}

// The number at the front of the text; what follows it is left in `text`.
bool take_number(std::string_view& text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

double parse_quantity(std::string_view text, std::span<const Unit> units, std::string_view wanted) {
  std::string_view rest = text;
  double number = 0;
  if (!take_number(rest, number)) refuse(text, wanted);
  if (number < 0) refuse(text, std::string(wanted) + " (it is negative)");
  for (const Unit& unit : units)
    if (rest == unit.name) return number * unit.factor;
  std::vector<std::string_view> names;
  for (const Unit& unit : units)
    if (!unit.name.empty()) names.push_back(unit.name);
  refuse(text, fmt::format("{}; units are {}", wanted, join(names, ", ")));
}

// Doubles above this are not whole numbers of anything; it keeps the casts below defined.
constexpr double kWholeMax = 9.0e18;

double whole(double amount, std::string_view text, std::string_view wanted) {
  const double rounded = std::round(amount);
  if (rounded > kWholeMax) refuse(text, std::string(wanted) + " (it is too large)");
  return rounded;
}

}  // namespace

double parse_number(std::string_view text) {
  std::string_view rest = text;
  double number = 0;
  if (!take_number(rest, number) || !rest.empty()) refuse(text, "a number");
  return number;
}

std::int64_t parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::result_out_of_range) refuse(text, "a whole number of at most 64 bits");
  if (error != std::errc{} || stopped != end) refuse(text, "a whole number");
  return number;
}

Duration parse_duration(std::string_view text) {
  constexpr std::string_view kWanted = "a duration such as 20ms";
  if (text == "0") return Duration::zero();
  const double nanoseconds = parse_quantity(text, kDurations, kWanted);
  return Duration(static_cast<std::int64_t>(whole(nanoseconds, text, kWanted)));
}

std::uint64_t parse_size(std::string_view text) {
  constexpr std::string_view kWanted = "a size such as 64MiB";
  return static_cast<std::uint64_t>(whole(parse_quantity(text, kSizes, kWanted), text, kWanted));
}

double parse_rate(std::string_view text) {
  return parse_quantity(text, kRates, "a rate such as 60Mbit/s");
}

}  // namespace tessera
