// Benchmarks that cannot flatter themselves. Contenders for one job are timed in turns, so that
// whatever else the machine does hits all of them alike, and what counts is their ratio in that one
// run. A contender's result is verified before its time is printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct BenchOptions {
  std::vector<std::size_t> sizes{89'834, 1'000'000, 10'000'000};  // Floats per vector.
  std::vector<std::uint32_t> nodes{100, 1'000, 10'000};           // Of a simulation.
  double seconds_per_contender = 0.4;
  bool python = true;  // Compare with PyWavelets and numpy where Python has them.
};

struct Contender {
  std::string name{};
  std::function<void()> run{};
};

struct Timing {
  double median_s = 0;
  double p90_s = 0;
};

class Bench {
 public:
  explicit Bench(BenchOptions options) : options_(std::move(options)) {}

  const BenchOptions& options() const { return options_; }

  // Runs each contender once to warm up, then all of them in turns until every one has had its
  // time.
  std::vector<Timing> time_in_turns(std::span<const Contender> contenders) const;
  Timing time(const std::function<void()>& run) const;

  // Runs `script` with Python and returns the "name seconds" lines it prints; nothing where Python
  // or a module it needs is missing. Slow references print the same medians we take here.
  std::optional<std::map<std::string, double>> python(std::string_view script,
                                                      std::string_view arguments) const;

  void section(std::string_view title);
  void row(std::string_view name, Timing timing, double bytes, std::string_view note = "");
  void say(std::string_view line);

  // A result that differs from its reference makes every number after it worthless: throws.
  void verify(bool equal, std::string_view what);

  // Records that `what` reached `measured` where `wanted` is asked for; printed together at the
  // end.
  void goal(std::string_view what, double measured, double wanted, std::string_view unit = "x");
  // The same for figures that should be small.
  void limit(std::string_view what, double measured, double measured_max, std::string_view unit);
  void print_goals() const;

 private:
  struct Goal {
    std::string text;
    bool reached;
  };
  BenchOptions options_;
  std::vector<Goal> goals_;
};

// Keeps the compiler from dropping work whose result nobody reads.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace tessera
