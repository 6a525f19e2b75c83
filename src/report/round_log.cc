#include "report/round_log.h"

#include <utility>

#include "base/check.h"
#include "node/divergence.h"

namespace tessera {
RoundLog::RoundLog(Evaluator& evaluator, Measured measured, Round every, Round last, OnRow on_row)
    : evaluator_(evaluator),
      measured_(std::move(measured)),
      every_(every),
      last_(last),
      start_due_(measured_.starts),
      on_row_(std::move(on_row)),
      watch_(measured_.all) {
  CHECK(every_ > 0);
}

void RoundLog::sample(const Simulation& simulation) {
  std::vector<RoundDone> begun;
  for (const NodeId id : measured_.nodes) begun.push_back({id, 0});
  start_due_ = false;
  on_rounds_done(simulation, begun);
}

void RoundLog::on_rounds_done(const Simulation& simulation, std::span<const RoundDone> done) {
  std::vector<RoundDone> due;
  std::vector<NodeId> nodes;
  std::vector<std::span<const float>> models;
  for (const RoundDone& one : done) {
    if (!measured_.counts(one.node)) continue;
    // Training tells first, and tells every round: nothing more is averaged with a model that is
    // lost.
    refuse_divergence(one.node, one.round, simulation.progress().loss(one.node), "training");
    if (one.round % every_ != 0 && one.round != last_) continue;
    due.push_back(one);
    nodes.push_back(one.node);
    models.emplace_back(simulation.model(one.node));
  }
  if (due.empty()) return;
  const std::vector<Score> scores = evaluator_.evaluate(nodes, models);
  for (std::size_t i = 0; i < due.size(); ++i) {
    const auto [node, round] = due[i];
    if (scores[i].tested()) refuse_divergence(node, round, scores[i].loss, "test");
    Pending& pending = pending_[round];
    if (pending.nodes.empty()) pending.nodes = measured_.no_rows();
    pending.nodes[node] = node_row(simulation, due[i], scores[i]);
    if (round == 0) pending.nodes[node].train_loss = kNoLoss;
    if (measured_.merged_dimension > 0) pending.models.add(simulation.model_of_any(node));
    if (++pending.nodes_done < measured_.nodes.size()) continue;
    complete(std::move(pending), simulation);
    pending_.erase(round);
  }
}

void RoundLog::complete(Pending round, const Simulation& simulation) {
  latest_.nodes = std::move(round.nodes);
  latest_.row = measured_.row(latest_.nodes);
  latest_.row.merged = merged_figures(round.models, measured_.nodes, evaluator_);
  // On an ideal network there is nothing to say.
  if (simulation.network().up_rate(0) > 0) latest_.row.network = watch_.look(simulation);
  latest_.figures = watch_.by_node();
  on_row_(latest_.row);
}

void RoundLog::fields(Archive& archive) {
  if (measured_.starts) archive(start_due_);
  archive(pending_, watch_);
  latest_.fields(archive, measured_);
  const bool merged = measured_.merged_dimension > 0;
  for (const auto& [round, pending] : pending_) {
    archive.require(pending.nodes.size() == measured_.all, "a round is of another number of nodes");
    archive.require(pending.models.count() == (merged ? pending.nodes_done : 0) &&
                        pending.models.dimension() == measured_.merged_dimension,
                    "a round's models are others");
  }
}

}  // namespace tessera
