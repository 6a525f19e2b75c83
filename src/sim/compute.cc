#include "sim/compute.h"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/table.h"
#include "sim/network_rates.h"

namespace tessera {
namespace {

class Constant final : public Compute {
 public:
  explicit Constant(std::vector<Duration> times) : times_(std::move(times)) {}
  Duration training_time(NodeId node, std::uint64_t, Instant) const override {
    CHECK(node < times_.size());
    return times_[node];
  }

 private:
  std::vector<Duration> times_;  // By node.
};

// One training of a node at full speed: step= times the number of local steps, or round=.
Duration read_training_time(Options& options, const ComputeContext& context) {
  if (options.has("step") && options.has("round"))
    options.refuse("round", "say how long a step takes or how long a round takes, not both");
  const Duration step = options.duration("step", Duration::zero());
  if (options.has("step")) return step * context.steps;
  return options.duration("round", std::chrono::seconds(1));
}

std::unique_ptr<Compute> make_constant(Options& options, const ComputeContext& context) {
  const Duration time = read_training_time(options, context);
  std::vector<Duration> times;
  for (const double speed : read_speeds(options, context.nodes, context.random))
    times.push_back(Duration(static_cast<std::int64_t>(static_cast<double>(time.count()) / speed)));
  return std::make_unique<Constant>(std::move(times));
}

constexpr std::array kComputes = {
    ComputeKind{"constant", "constant:step=5.86ms,stragglers=0,slowdown=5",
                "every training takes equally long; round=0.75s sets it whatever the steps",
                make_constant},
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
