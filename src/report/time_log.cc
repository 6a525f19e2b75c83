#include "report/time_log.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "node/divergence.h"

namespace tessera {

TimeLog::TimeLog(Evaluator& evaluator, std::uint32_t nodes, Duration every, Instant last,
                 OnRow on_row)
    : evaluator_(evaluator),
      every_(every),
      next_(std::min(Instant(every), last)),
      last_(last),
      on_row_(std::move(on_row)),
      watch_(nodes) {
  CHECK(every_ > Duration::zero());
}

// Training tells first, and tells every round: nothing more is averaged with a model that is lost.
void TimeLog::on_rounds_done(const Simulation& simulation, std::span<const RoundDone> done) {
  for (const RoundDone& one : done)
    refuse_divergence(one.node, one.round, simulation.node(one.node).last_loss(), "training");
}

void TimeLog::sample(const Simulation& simulation) {
  std::vector<NodeId> nodes;
  std::vector<std::span<const float>> models;
  for (NodeId id = 0; id < simulation.node_count(); ++id) {
    nodes.push_back(id);
    models.emplace_back(simulation.node(id).model());
  }
  const std::vector<Score> scores = evaluator_.evaluate(nodes, models);
  latest_.nodes.clear();
  for (NodeId id = 0; id < simulation.node_count(); ++id) {
    const RoundDone done{id, simulation.node(id).rounds_done()};
    refuse_divergence(id, done.round, scores[id].loss, "test");
    latest_.nodes.push_back(node_row(simulation, done, scores[id]));
    latest_.nodes.back().seconds = to_seconds(next_.time_since_epoch());
  }
  latest_.row = row_of(latest_.nodes);
  latest_.row.network = watch_.look(simulation);
  latest_.figures = watch_.by_node();
  next_ = next_ >= last_ ? kNever : std::min(next_ + every_, last_);
  on_row_(latest_.row);
}

// Only where the protocol counts rounds was it not known when that would be.
void TimeLog::finish(const Simulation& simulation) {
  if (last_ != kNever) return;
  next_ = last_ = simulation.now();
  sample(simulation);
}

}  // namespace tessera
