// The one-line grammar of everything a user can choose:
//
//   name:key=value,key=value,...        jwins:wavelet=sym2,levels=4,budget=0.1/0.2/1
//
// Values are numbers, words, lists (parts between slashes), durations (5ms), sizes (64MiB) and
// rates (60Mbit/s). A value with a comma in it stands between single quotes: file='a,b.csv'.
// Whatever is wrong throws std::invalid_argument before a run begins, in a sentence that names the
// option, the value and what would do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"

namespace tessera {

struct Spec {
  std::string name{};
  std::vector<std::pair<std::string, std::string>>
      options{};  // In the order written, no key twice.
};

Spec parse_spec(std::string_view text);
std::string to_string(const Spec& spec);  // parse_spec's inverse.

// The numbers an option accepts, printed as mathematicians write it: (0, 1].
struct Interval {
  double low = 0;
  double high = 0;
  bool open_low = false;
  bool contains(double x) const { return (open_low ? x > low : x >= low) && x <= high; }
  std::string to_string() const;
};
Interval at_least(double low);
Interval above(double low);
Interval between(double low, double high);
Interval above_up_to(double low, double high);

// Reads a spec's options by type. Every key asked for counts as known; done() refuses the
// others.
class Options {
 public:
  explicit Options(Spec spec) : spec_(std::move(spec)), used_(spec_.options.size(), false) {}

  const std::string& name() const { return spec_.name; }
  bool has(std::string_view key);

  std::string text(std::string_view key);  // Without a fallback an option is required.
  std::string text(std::string_view key, std::string_view fallback);
  std::string choice(std::string_view key, std::span<const std::string_view> words,
                     std::string_view fallback);
  bool yes(std::string_view key, bool fallback);
  double number(std::string_view key, double fallback, Interval accepted);
  std::int64_t integer(std::string_view key, std::int64_t fallback, Interval accepted);
  std::vector<double> numbers(std::string_view key, std::vector<double> fallback,
                              Interval accepted);
  std::vector<std::string> words(std::string_view key, std::vector<std::string> fallback);
  Duration duration(std::string_view key, Duration fallback);
  std::uint64_t size_bytes(std::string_view key, std::uint64_t fallback);
  double rate_bytes_per_s(std::string_view key, double fallback);

  void done() const;

  // A number that is a part of the value of `key`.
  double number_in(std::string_view key, std::string_view part) const;

  // For checks an Options cannot know of: throws "jwins: levels=40: too many ..." in the same form.
  [[noreturn]] void refuse(std::string_view key, std::string_view why) const;

 private:
  const std::string* find(std::string_view key);

  Spec spec_;
  std::vector<bool> used_;
  std::vector<std::string> known_;
};

// The same values outside a spec, for flags and TOML keys. They throw std::invalid_argument with
// the reason.
double parse_number(std::string_view text);
std::int64_t parse_integer(std::string_view text);
Duration parse_duration(
    std::string_view text);  // "1.5s", "20ms", "3min", "2h"; a bare 0 is allowed
std::uint64_t parse_size(std::string_view text);  // "4096", "64MiB", "10kB"
double parse_rate(std::string_view text);         // "60Mbit/s", "2MB/s", in bytes per second

}  // namespace tessera
