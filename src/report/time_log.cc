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
  std::vector<double> accuracy, loss, train_loss;
  Traffic sent;
  for (NodeId id = 0; id < simulation.node_count(); ++id) {
    refuse_divergence(id, simulation.node(id).rounds_done(), scores[id].loss, "test");
    accuracy.push_back(scores[id].accuracy);
    loss.push_back(scores[id].loss);
    train_loss.push_back(simulation.node(id).last_loss());
    const Traffic own = simulation.sent(id);
    sent.messages += own.messages;
    sent.bytes += own.bytes;
    sent.value_bytes += own.value_bytes;
  }
  const auto per_node = [&](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(simulation.node_count());
  };
  latest_.row = {.round = simulation.rounds_done(),
                 .virtual_seconds = to_seconds(next_.time_since_epoch()),
                 .accuracy = spread_of(accuracy),
                 .loss = spread_of(loss),
                 .train_loss = spread_of(train_loss).mean,
                 .bytes_per_node = per_node(sent.bytes),
                 .value_bytes_per_node = per_node(sent.value_bytes),
                 .messages = sent.messages,
                 .network = watch_.look(simulation)};
  latest_.accuracy = std::move(accuracy);
  latest_.loss = std::move(loss);
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

void TimeLog::save(Bytes& out) const {
  ByteWriter(out).put(next_.time_since_epoch().count());
  watch_.save(out);
}

Result<void> TimeLog::load(ByteReader& in) {
  next_ = Instant(Duration(in.get<std::int64_t>()));
  return watch_.load(in);
}

}  // namespace tessera
