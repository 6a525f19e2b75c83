#include "base/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "base/check.h"
#include "base/output.h"
#include "base/stopwatch.h"
#include "base/text.h"

namespace tessera {
namespace {

double seconds_of(const std::function<void()>& run) {
  const Stopwatch watch;
  run();
  return watch.seconds();
}

Timing summarize(std::vector<double>& samples) {
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples[samples.size() * 9 / 10]};
}

// A file that is gone when its owner is.
struct TemporaryFile {
  std::string path = "/tmp/tessera_bench_XXXXXX";
  explicit TemporaryFile(std::string_view content) {
    const int fd = ::mkstemp(path.data());
    if (fd < 0) throw std::runtime_error("bench: cannot create a temporary file under /tmp");
    std::FILE* file = ::fdopen(fd, "w");
    std::fwrite(content.data(), 1, content.size(), file);
    std::fclose(file);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::remove(path.c_str()); }
};

std::optional<std::string> output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return std::nullopt;
  std::string output;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe)) output += buffer;
  if (::pclose(pipe) != 0) return std::nullopt;
  return output;
}

std::string show_fixed(double figure, int digits) {
  return fmt::format("{:.{}f}", figure, digits);
}

std::string show_short(double figure, int digits) {
  return fmt::format("{:.{}g}", figure, digits);
}

// With as many digits as show on which side of `wanted` it lies.
std::string show_beside(double wanted, double measured, int digits,
                        std::string (*show)(double figure, int digits)) {
  constexpr int kDigitsMax = 9;
  while (digits < kDigitsMax && measured != wanted &&
         show(measured, digits) == show(wanted, digits))
    ++digits;
  return show(measured, digits);
}

}  // namespace

std::vector<Timing> Bench::time_in_turns(std::span<const Contender> contenders) const {
  CHECK(!contenders.empty());
  for (const Contender& contender : contenders) contender.run();
  std::vector<std::vector<double>> samples(contenders.size());
  std::vector<double> spent(contenders.size(), 0);
  constexpr std::size_t kSamplesMin = 3, kSamplesMax = 2000;
  const auto wants_more = [&](std::size_t i) {
    return samples[i].size() < kSamplesMin ||
           (spent[i] < options_.seconds_per_contender && samples[i].size() < kSamplesMax);
  };
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (!wants_more(i)) continue;
      samples[i].push_back(seconds_of(contenders[i].run));
      spent[i] += samples[i].back();
      more = true;
    }
  }
  std::vector<Timing> timings;
  for (auto& own : samples) timings.push_back(summarize(own));
  return timings;
}

Timing Bench::time(const std::function<void()>& run) const {
  const Contender only{.name = "", .run = run};
  return time_in_turns(std::span(&only, 1)).front();
}

std::optional<std::map<std::string, double>> Bench::python(std::string_view script,
                                                           std::string_view arguments) const {
  if (!options_.python) return std::nullopt;
  const TemporaryFile file(script);
  // A version manager may put a bare Python first on the PATH; Debian's modules belong to Debian's
  // Python.
  for (const char* interpreter : {"python3", "/usr/bin/python3"}) {
    const auto output =
        output_of(fmt::format("{} {} {} 2>/dev/null", interpreter, file.path, arguments));
    if (!output) continue;
    std::map<std::string, double> seconds;
    std::istringstream lines(*output);
    for (std::string name, value; lines >> name >> value;) seconds[name] = std::atof(value.c_str());
    return seconds;
  }
  return std::nullopt;
}

void Bench::section(std::string_view title) {
  print_out("\n{}\n{:-<{}}\n", title, "", title.size());
  print_out("{:<44} {:>10} {:>10} {:>8}\n", "", "median", "p90", "GB/s");
}

void Bench::row(std::string_view name, Timing timing, double bytes, std::string_view note) {
  const auto shown = [](double s) {
    return show_duration(Duration(static_cast<std::int64_t>(s * 1e9)));
  };
  const std::string rate = bytes > 0 ? fmt::format("{:.2f}", bytes / timing.median_s * 1e-9) : "";
  print_out("{:<44} {:>10} {:>10} {:>8}  {}\n", name, shown(timing.median_s), shown(timing.p90_s),
            rate, note);
  flush_out();
}

void Bench::say(std::string_view line) {
  print_out("{}\n", line);
}

void Bench::verify(bool equal, std::string_view what) {
  if (!equal)
    throw std::runtime_error(
        fmt::format("bench: {} differs from its reference; no time is worth printing", what));
}

void Bench::goal(std::string_view what, double measured, double wanted, std::string_view unit) {
  const bool reached = measured >= wanted;
  goals_.push_back(
      {fmt::format("{:<64} {:>8}{unit}  wanted {:>5.2f}{unit}", what,
                   show_beside(wanted, measured, 2, show_fixed), wanted, fmt::arg("unit", unit)),
       reached});
}

void Bench::limit(std::string_view what, double measured, double measured_max,
                  std::string_view unit) {
  const bool reached = measured <= measured_max;
  goals_.push_back(
      {fmt::format("{:<64} {:>8} {}  wanted at most {:.3g} {}", what,
                   show_beside(measured_max, measured, 3, show_short), unit, measured_max, unit),
       reached});
}

void Bench::print_goals() const {
  if (goals_.empty()) return;
  print_out("\ngoals, as measured in this run\n------------------------------\n");
  for (const Goal& goal : goals_)
    print_out("{:<8} {}\n", goal.reached ? "reached" : "MISSED", goal.text);
}

}  // namespace tessera
