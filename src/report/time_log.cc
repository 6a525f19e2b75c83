#include "report/time_log.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "node/divergence.h"
#include "report/model_sum.h"

namespace tessera {

TimeLog::TimeLog(Evaluator& evaluator, Measured measured, Duration every, Instant last,
                 OnRow on_row)
    : evaluator_(evaluator),
      measured_(std::move(measured)),
      every_(every),
      first_(measured_.starts ? Instant() : std::min(Instant(every), last)),
      next_(first_),
      last_(last),
      on_row_(std::move(on_row)),
      watch_(measured_.all) {
  CHECK(every_ > Duration::zero());
}

// Training tells first, and tells every round: nothing more is averaged with a model that is lost.
void TimeLog::on_rounds_done(const Simulation& simulation, std::span<const RoundDone> done) {
  for (const RoundDone& one : done)
    if (measured_.counts(one.node))
      refuse_divergence(one.node, one.round, simulation.progress().loss(one.node), "training");
}

void TimeLog::sample(const Simulation& simulation) {
  std::vector<std::span<const float>> models;
  for (const NodeId id : measured_.nodes) models.emplace_back(simulation.model(id));
  const std::vector<Score> scores = evaluator_.evaluate(measured_.nodes, models);
  latest_.nodes = measured_.no_rows();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const NodeId id = measured_.nodes[i];
    const RoundDone done{id, simulation.progress().rounds(id)};
    if (scores[i].tested()) refuse_divergence(id, done.round, scores[i].loss, "test");
    latest_.nodes[id] = node_row(simulation, done, scores[i]);
    latest_.nodes[id].seconds = to_seconds(next_.time_since_epoch());
    if (next_ == Instant()) latest_.nodes[id].train_loss = kNoLoss;
  }
  latest_.row = measured_.row(latest_.nodes);
  latest_.row.merged = merged(simulation);
  latest_.row.network = watch_.look(simulation);
  latest_.figures = watch_.by_node();
  next_ = next_ >= last_ ? kNever : std::min(next_ + every_, last_);
  on_row_(latest_.row);
}

// Of the nodes that are up.
std::optional<MergedFigures> TimeLog::merged(const Simulation& simulation) {
  ModelSum models;
  std::vector<NodeId> nodes;
  if (measured_.merged_dimension == 0) return std::nullopt;
  for (const NodeId id : measured_.nodes) {
    if (!simulation.is_up(id)) continue;
    models.add(simulation.model_of_any(id));
    nodes.push_back(id);
  }
  return merged_figures(models, nodes, evaluator_);
}

// Only where the protocol counts rounds was it not known when that would be.
void TimeLog::finish(const Simulation& simulation) {
  if (last_ != kNever) return;
  next_ = last_ = simulation.now();
  sample(simulation);
}

void TimeLog::fields(Archive& archive) {
  archive(next_, watch_);
  latest_.fields(archive, measured_);
  archive.require(next_ >= first_ && (next_ <= last_ || next_ == kNever),
                  "the next row is due at no moment of this run");
  // A run that was to end sooner had its last row at that end.
  if (archive.loading() && next_ < last_ && last_ != kNever)
    next_ = std::min(last_,
                     Instant((next_.time_since_epoch() + every_ - Duration(1)) / every_ * every_));
}

}  // namespace tessera
