#include "sim/network_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera {
namespace {

// The paper's seven slow links of about 12 Mbit/s differ by about 1.
constexpr double kDefaultNoise = 1.0 / 12;
// A draw below this part of its mean is twelve deviations away by default; with more noise it would
// be a link that hardly carries anything, or runs backwards.
constexpr double kSlowestDraw = 0.01;

double read_rate(Options& options, std::string_view key, double fallback) {
  const double rate = options.rate_bytes_per_s(key, fallback);
  if (!(rate > 0)) options.refuse(key, "a rate must be above zero");
  return rate;
}

}  // namespace

std::vector<double> read_speeds(Options& options, std::uint32_t nodes, const Random& random) {
  const std::int64_t count = options.integer("stragglers", 0, at_least(0));
  if (count > nodes)
    options.refuse("stragglers", fmt::format("{} of {} nodes cannot be slow", count, nodes));
  const double slowdown = options.number("slowdown", 5, between(1, 1e6));
  const double noise = options.number("noise", kDefaultNoise, between(0, 1));
  std::vector<double> speeds(nodes, 1.0);
  for (NodeId id = 0; id < static_cast<std::uint64_t>(count); ++id) {
    const double draw = 1 + noise * random.fork("straggler", id).normal();
    speeds[id] = std::max(draw, kSlowestDraw) / slowdown;
  }
  return speeds;
}

HalfSent read_half_sent(Options& options) {
  constexpr std::array<std::string_view, 2> kWords = {"lost", "finished"};
  return options.choice("half_sent", kWords, "lost") == "lost" ? HalfSent::kLost
                                                               : HalfSent::kFinished;
}

NodeRates::NodeRates(std::vector<double> up, std::vector<double> down, Trace trace)
    : up_(std::move(up)), down_(std::move(down)), on_(up_.size(), true), trace_(std::move(trace)) {
  advance(Instant{});
}

NodeRates NodeRates::read(Options& options, const NetworkContext& context, double fallback) {
  const double up_rate = read_rate(options, "up", fallback);
  const double down_rate = read_rate(options, "down", up_rate);
  constexpr std::array<std::string_view, 3> kDirections = {"both", "up", "down"};
  const std::string slow = options.choice("slow", kDirections, "both");
  std::vector<double> up, down;
  for (const double speed : read_speeds(options, context.nodes, context.random)) {
    up.push_back(slow == "down" ? up_rate : up_rate * speed);
    down.push_back(slow == "up" ? down_rate : down_rate * speed);
  }
  return {std::move(up), std::move(down), read_trace(options, context.nodes)};
}

bool NodeRates::advance(Instant now) {
  const std::size_t before = position_;
  while (next_change() <= now && position_ < trace_.size()) make_next_change();
  return position_ != before;
}

void NodeRates::make_next_change() {
  const TraceChange& change = trace_[position_++];
  if (change.up) up_[change.node] = *change.up;
  if (change.down) down_[change.node] = *change.down;
  if (change.on) on_[change.node] = *change.on;
}

void NodeRates::fields(Archive& archive) {
  std::uint64_t position = position_;
  archive(position);
  if (!archive.loading()) return;
  if (position < position_ || position > trace_.size())
    return archive.refuse("the trace was read further than it goes; is it the same file?");
  while (position_ < position) make_next_change();
}

}  // namespace tessera
