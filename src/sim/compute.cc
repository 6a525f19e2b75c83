#include "sim/compute.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/table.h"
#include "sim/network_rates.h"
#include "sim/trace.h"

namespace tessera {
namespace {

// A training may take this long before it counts as one that never ends: a century.
constexpr double kLongestNs = 3e18;
constexpr double kRoundMaxNs = 365 * 86400e9;

// From `at` on a node trains at this speed; 0 while it is off.
struct Pace {
  Instant at{};
  double speed = 1;
};

// How one training differs from the next, as a factor of its time with mean 1.
using Spread = double (*)(Random random, double deviation);

double no_spread(Random, double) {
  return 1;
}
// Cut at a twentieth: a training that takes no time, or less, does not exist.
double normal_spread(Random random, double deviation) {
  return std::max(1 + deviation * random.normal(), 0.05);
}
double lognormal_spread(Random random, double deviation) {
  return std::exp(deviation * random.normal() - deviation * deviation / 2);
}

class Machines final : public Compute {
 public:
  struct Parts {
    double time_ns = 0;                      // Of one training at speed 1.
    std::vector<double> speeds{};            // By node, stragglers' below 1.
    std::vector<std::vector<Pace>> paces{};  // By node, in the order of time.
    Spread spread = no_spread;
    double deviation = 0;
    Random random{0};
  };
  explicit Machines(Parts parts) : parts_(std::move(parts)) {}

  Duration training_time(NodeId node, std::uint64_t nth, Instant start) const override {
    CHECK(node < parts_.speeds.size());
    double work_ns = parts_.time_ns / parts_.speeds[node];
    if (parts_.spread != no_spread)
      work_ns *=
          parts_.spread(parts_.random.fork("node", node).fork("training", nth), parts_.deviation);
    return time_for(work_ns, parts_.paces[node], start);
  }

 private:
  // Follows the trace until the work is done. A training that never ends lasts until kNever.
  static Duration time_for(double work_ns, const std::vector<Pace>& paces, Instant start) {
    const auto change = std::upper_bound(paces.begin(), paces.end(), start,
                                         [](Instant at, const Pace& pace) { return at < pace.at; });
    double speed = change == paces.begin() ? 1 : std::prev(change)->speed;
    Instant at = start;
    for (auto next = change; next != paces.end(); ++next) {
      const double done_ns = speed * static_cast<double>((next->at - at).count());
      if (done_ns >= work_ns) break;
      work_ns -= done_ns;
      at = next->at;
      speed = next->speed;
    }
    const double rest_ns = std::ceil(work_ns / speed);
    if (!(rest_ns < kLongestNs)) return kNever - start;
    return later(at, Duration(static_cast<std::int64_t>(rest_ns))) - start;
  }

  Parts parts_;
};

// One training of a node at full speed: step= times the number of local steps, or round=.
double read_training_ns(Options& options, const ComputeContext& context) {
  if (options.has("step") && options.has("round"))
    options.refuse("round", "say how long a step takes or how long a round takes, not both");
  const auto step = static_cast<double>(options.duration("step", Duration::zero()).count());
  const auto round =
      static_cast<double>(options.duration("round", std::chrono::seconds(1)).count());
  const double time_ns = options.has("step") ? step * context.steps : round;
  if (time_ns > kRoundMaxNs)
    options.refuse(options.has("step") ? "step" : "round", "a round must take 365 days at most");
  return time_ns;
}

std::vector<std::vector<Pace>> paces_of(const Trace& trace, std::uint32_t nodes) {
  std::vector<std::vector<Pace>> paces(nodes);
  std::vector<double> speeds(nodes, 1);
  std::vector<bool> on(nodes, true);
  for (const TraceChange& change : trace) {
    if (!change.speed && !change.on) continue;
    if (change.speed) speeds[change.node] = *change.speed;
    if (change.on) on[change.node] = *change.on;
    paces[change.node].push_back({change.at, on[change.node] ? speeds[change.node] : 0});
  }
  return paces;
}

std::unique_ptr<Compute> make_machines(Options& options, const ComputeContext& context,
                                       Spread spread, double deviation) {
  Machines::Parts parts{.spread = spread, .deviation = deviation, .random = context.random};
  parts.time_ns = read_training_ns(options, context);
  parts.speeds = read_speeds(options, context.nodes, context.random);
  parts.paces = paces_of(read_trace(options, context.nodes), context.nodes);
  return std::make_unique<Machines>(std::move(parts));
}

std::unique_ptr<Compute> make_constant(Options& options, const ComputeContext& context) {
  return make_machines(options, context, no_spread, 0);
}
std::unique_ptr<Compute> make_normal(Options& options, const ComputeContext& context) {
  const double deviation = options.number("deviation", 0.1, between(0, 1));
  return make_machines(options, context, normal_spread, deviation);
}
std::unique_ptr<Compute> make_lognormal(Options& options, const ComputeContext& context) {
  const double sigma = options.number("sigma", 0.3, between(0, 3));
  return make_machines(options, context, lognormal_spread, sigma);
}

constexpr std::array kComputes = {
    ComputeKind{"constant", "constant:step=5.86ms,stragglers=0,slowdown=5,trace=FILE",
                "every training takes equally long; round=0.75s sets it whatever the steps",
                make_constant},
    ComputeKind{"normal", "normal:round=0.75s,deviation=0.1",
                "every training is drawn anew, around the time stated", make_normal},
    ComputeKind{"lognormal", "lognormal:round=0.75s,sigma=0.3",
                "likewise with a long tail; the mean is the time stated", make_lognormal},
};

}  // namespace

std::span<const ComputeKind> computes() {
  return kComputes;
}

std::unique_ptr<Compute> make_compute(std::string_view spec, const ComputeContext& context) {
  Options options(parse_spec(spec));
  std::unique_ptr<Compute> compute =
      require_entry(computes(), "compute model", options.name()).make(options, context);
  options.done();
  return compute;
}

}  // namespace tessera
