#include "sim/network_rates.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr double kDefaultRate = 60e6 / 8;  // DivShare's fast link, 60 Mbit/s.
// The paper's seven slow links of about 12 Mbit/s differ by about 1.
constexpr double kDefaultNoise = 1.0 / 12;
// A draw below this part of its mean is twelve deviations away by default; with more noise it would
// be a link that hardly carries anything, or runs backwards.
constexpr double kSlowestDraw = 0.01;

}  // namespace

double read_rate(Options& options, std::string_view key, double fallback) {
  const double rate = options.rate_bytes_per_s(key, fallback);
  if (!(rate > 0)) options.refuse(key, "a rate must be above zero");
  return rate;
}

std::vector<double> read_speeds(Options& options, std::uint32_t nodes, const Random& random) {
  const std::int64_t count = options.integer("stragglers", 0, at_least(0));
  if (count > nodes)
    options.refuse("stragglers", fmt::format("{} of {} nodes cannot be slow", count, nodes));
  const double slowdown = options.number("slowdown", 5, between(1, 1e9));
  const double noise = options.number("noise", kDefaultNoise, between(0, 1));
  std::vector<double> speeds(nodes, 1.0);
  for (NodeId id = 0; id < static_cast<std::uint64_t>(count); ++id) {
    const double draw = 1 + noise * random.fork("straggler", id).normal();
    speeds[id] = std::max(draw, kSlowestDraw) / slowdown;
  }
  return speeds;
}

NodeRates read_rates(Options& options, const NetworkContext& context) {
  const double up = read_rate(options, "up", kDefaultRate);
  const double down = read_rate(options, "down", up);
  NodeRates rates;
  for (const double speed : read_speeds(options, context.nodes, context.random)) {
    rates.up.push_back(up * speed);
    rates.down.push_back(down * speed);
  }
  return rates;
}

}  // namespace tessera
