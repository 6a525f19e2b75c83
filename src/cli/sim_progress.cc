#include "cli/sim_progress.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tessera {

SimProgress::SimProgress(const Plan& plan, bool quiet)
    : line_(quiet),
      nodes_(plan.nodes),
      by_time_(plan.protocol.prepared.until != kNever),
      end_(by_time_ ? to_seconds(plan.protocol.prepared.until.time_since_epoch())
                    : plan.protocol.prepared.rounds) {}

void SimProgress::begins_at(const Simulation& simulation) {
  first_round_ = simulation.rounds_done();
  first_ = by_time_ ? to_seconds(simulation.now().time_since_epoch()) : first_round_;
}

void SimProgress::show(const MetricsRow& row) {
  const double seconds = watch_.seconds();
  const double at = by_time_ ? row.seconds : row.round;
  const double left = at > first_ ? seconds / (at - first_) * (end_ - at) : 0;
  line_.show(fmt::format(
      "{}  accuracy {:.1f}%  loss {:.3f}  sent {} per node  {:.0f} node-rounds/s{}",
      by_time_ ? fmt::format("{:g}/{:g} s", at, end_) : fmt::format("round {:g}/{:g}", at, end_),
      100 * row.accuracy.mean, row.loss.mean, show_bytes(row.bytes_per_node),
      (row.round - first_round_) * nodes_ / seconds,
      left > 0 ? "  " + show_duration(Duration(static_cast<std::int64_t>(left * 1e9))) + " left"
               : ""));
}

}  // namespace tessera
