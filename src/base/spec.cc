#include "base/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace tessera {
namespace {

[[noreturn]] void malformed(std::string_view text, std::string_view why) {
  throw std::invalid_argument(fmt::format("'{}': {}; write name:key=value,key=value", text, why));
}

bool is_word(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '+' || c == '.';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

// One value off the front of `rest`, up to the next comma; quotes protect commas and are dropped.
std::string take_value(std::string_view& rest, std::string_view whole) {
  std::string value;
  if (rest.starts_with('\'')) {
    const std::size_t close = rest.find('\'', 1);
    if (close == std::string_view::npos) malformed(whole, "a quote is not closed");
    value = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
    if (!rest.empty() && rest.front() != ',')
      malformed(whole, "a closing quote must end the value");
  } else {
    const std::size_t end = std::min(rest.find(','), rest.size());
    value = rest.substr(0, end);
    rest.remove_prefix(end);
    if (value.empty()) malformed(whole, "a value is empty");
  }
  return value;
}

template <typename Parse>
auto parse_option(const Options& options, std::string_view key, std::string_view value,
                  Parse parse) {
  try {
    return parse(value);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}: {}", options.name(), key, error.what()));
  }
}

}  // namespace

Spec parse_spec(std::string_view text) {
  const std::string_view whole = text;
  Spec spec;
  const std::size_t colon = std::min(text.find(':'), text.size());
  spec.name = text.substr(0, colon);
  if (!is_word(spec.name)) malformed(whole, "the name is missing or has odd characters");
  std::string_view rest = text.substr(std::min(colon + 1, text.size()));
  if (colon < text.size() && rest.empty()) malformed(whole, "nothing follows the colon");
  while (!rest.empty()) {
    const std::size_t equals = rest.find('=');
    const std::string_view key = rest.substr(0, equals);
    if (equals == std::string_view::npos || !is_word(key))
      malformed(whole, fmt::format("'{}' is not key=value", rest.substr(0, rest.find(','))));
    rest.remove_prefix(equals + 1);
    for (const auto& option : spec.options)
      if (option.first == key) malformed(whole, fmt::format("'{}' is given twice", key));
    spec.options.emplace_back(std::string(key), take_value(rest, whole));
    if (rest.empty()) break;
    rest.remove_prefix(1);
    if (rest.empty()) malformed(whole, "it ends in a comma");
  }
  return spec;
}

std::string to_string(const Spec& spec) {
  std::string text = spec.name;
  char before = ':';
  for (const auto& [key, value] : spec.options) {
    const bool quoted =
        value.empty() || value.find(',') != std::string::npos || value.front() == '\'';
    text += fmt::format("{0}{1}={2}{3}{2}", before, key, quoted ? "'" : "", value);
    before = ',';
  }
  return text;
}

std::string Interval::to_string() const {
  if (high == std::numeric_limits<double>::infinity())
    return fmt::format("{} {}", open_low ? "above" : "at least", low);
  return fmt::format("in {}{}, {}]", open_low ? '(' : '[', low, high);
}

Interval at_least(double low) {
  return {low, std::numeric_limits<double>::infinity()};
}
Interval above(double low) {
  return {low, std::numeric_limits<double>::infinity(), true};
}
Interval between(double low, double high) {
  return {low, high};
}
Interval above_up_to(double low, double high) {
  return {low, high, true};
}

const std::string* Options::find(std::string_view key) {
  known_.emplace_back(key);
  for (std::size_t i = 0; i < spec_.options.size(); ++i) {
    if (spec_.options[i].first != key) continue;
    used_[i] = true;
    return &spec_.options[i].second;
  }
  return nullptr;
}

bool Options::has(std::string_view key) {
  return find(key) != nullptr;
}

std::string Options::text(std::string_view key) {
  const std::string* value = find(key);
  if (!value)
    throw std::invalid_argument(fmt::format("{0}: {1} is missing; write {0}:{1}=…", name(), key));
  return *value;
}

std::string Options::text(std::string_view key, std::string_view fallback) {
  const std::string* value = find(key);
  return value ? *value : std::string(fallback);
}

std::string Options::choice(std::string_view key, std::span<const std::string_view> words,
                            std::string_view fallback) {
  const std::string value = text(key, fallback);
  if (std::find(words.begin(), words.end(), value) == words.end())
    refuse(key, fmt::format("'{}' is not one of {}.{}", value, join(words, ", "),
                            nearest(value, words).empty() ? "" : suggestion(value, words)));
  return value;
}

bool Options::yes(std::string_view key, bool fallback) {
  constexpr std::array<std::string_view, 6> kWords = {"yes", "no", "true", "false", "on", "off"};
  const std::string value = choice(key, kWords, fallback ? "yes" : "no");
  return value == "yes" || value == "true" || value == "on";
}

double Options::number(std::string_view key, double fallback, Interval accepted) {
  const std::string* value = find(key);
  if (!value) return fallback;
  const double number = parse_option(*this, key, *value, parse_number);
  if (!accepted.contains(number))
    refuse(key, fmt::format("{} must be {}", *value, accepted.to_string()));
  return number;
}

double Options::number_in(std::string_view key, std::string_view part) const {
  return parse_option(*this, key, part, parse_number);
}

std::int64_t Options::integer(std::string_view key, std::int64_t fallback, Interval accepted) {
  const std::string* value = find(key);
  if (!value) return fallback;
  const std::int64_t number = parse_option(*this, key, *value, parse_integer);
  if (!accepted.contains(static_cast<double>(number)))
    refuse(key, fmt::format("{} must be {}", *value, accepted.to_string()));
  return number;
}

std::vector<double> Options::numbers(std::string_view key, std::vector<double> fallback,
                                     Interval accepted) {
  const std::string* value = find(key);
  if (!value) return fallback;
  std::vector<double> list;
  for (const std::string_view part : split(*value, '/')) {
    list.push_back(parse_option(*this, key, part, parse_number));
    if (!accepted.contains(list.back()))
      refuse(key, fmt::format("{} must be {}", part, accepted.to_string()));
  }
  if (list.empty()) refuse(key, "the list is empty");
  return list;
}

std::vector<std::string> Options::words(std::string_view key, std::vector<std::string> fallback) {
  const std::string* value = find(key);
  if (!value) return fallback;
  const std::vector<std::string_view> parts = split(*value, '/');
  return {parts.begin(), parts.end()};
}

Duration Options::duration(std::string_view key, Duration fallback) {
  const std::string* value = find(key);
  return value ? parse_option(*this, key, *value, parse_duration) : fallback;
}

std::uint64_t Options::size_bytes(std::string_view key, std::uint64_t fallback) {
  const std::string* value = find(key);
  return value ? parse_option(*this, key, *value, parse_size) : fallback;
}

double Options::rate_bytes_per_s(std::string_view key, double fallback) {
  const std::string* value = find(key);
  return value ? parse_option(*this, key, *value, parse_rate) : fallback;
}

void Options::done() const {
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) continue;
    const std::vector<std::string_view> known(known_.begin(), known_.end());
    const std::string& key = spec_.options[i].first;
    throw std::invalid_argument(
        fmt::format("{}: there is no option '{}'.{}", name(), key, suggestion(key, known)));
  }
}

void Options::refuse(std::string_view key, std::string_view why) const {
  throw std::invalid_argument(fmt::format("{}: {}: {}", name(), key, why));
}

}  // namespace tessera
