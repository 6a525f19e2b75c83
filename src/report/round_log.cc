#include "report/round_log.h"

#include <utility>

#include "base/check.h"
#include "node/divergence.h"

namespace tessera {
namespace {

void save_doubles(std::span<const double> values, ByteWriter& writer) {
  writer.put_bytes(bytes_of(values));
}

void load_doubles(ByteReader& in, std::vector<double>& values) {
  for (double& v : values) v = in.get<double>();
}

}  // namespace

RoundLog::RoundLog(Evaluator& evaluator, std::uint32_t nodes, Round every, Round last, OnRow on_row)
    : evaluator_(evaluator),
      nodes_(nodes),
      every_(every),
      last_(last),
      on_row_(std::move(on_row)),
      watch_(nodes) {
  CHECK(every_ > 0);
}

void RoundLog::on_rounds_done(const Simulation& simulation, std::span<const RoundDone> done) {
  std::vector<RoundDone> due;
  std::vector<NodeId> nodes;
  std::vector<std::span<const float>> models;
  for (const RoundDone& one : done) {
    // Training tells first, and tells every round: nothing more is averaged with a model that is
    // lost.
    refuse_divergence(one.node, one.round, simulation.node(one.node).last_loss(), "training");
    if (one.round % every_ != 0 && one.round != last_) continue;
    due.push_back(one);
    nodes.push_back(one.node);
    models.emplace_back(simulation.node(one.node).model());
  }
  if (due.empty()) return;
  const std::vector<Score> scores = evaluator_.evaluate(nodes, models);
  for (std::size_t i = 0; i < due.size(); ++i) {
    const auto [node, round] = due[i];
    refuse_divergence(node, round, scores[i].loss, "test");
    Pending& pending = pending_[round];
    if (pending.nodes_done == 0)
      pending = {Pending{.accuracy = std::vector<double>(nodes_),
                         .loss = std::vector<double>(nodes_),
                         .train_loss = std::vector<double>(nodes_)}};
    pending.accuracy[node] = scores[i].accuracy;
    pending.loss[node] = scores[i].loss;
    pending.train_loss[node] = simulation.node(node).last_loss();
    const Traffic& sent = simulation.sent(node);
    pending.bytes += sent.bytes;
    pending.value_bytes += sent.value_bytes;
    pending.messages += sent.messages;
    if (++pending.nodes_done < nodes_) continue;
    complete(round, pending, simulation);
    pending_.erase(round);
  }
}

void RoundLog::complete(Round round, const Pending& pending, const Simulation& simulation) {
  const auto per_node = [&](std::uint64_t count) { return static_cast<double>(count) / nodes_; };
  latest_.row = {.round = round,
                 .virtual_seconds = to_seconds(simulation.now().time_since_epoch()),
                 .accuracy = spread_of(pending.accuracy),
                 .loss = spread_of(pending.loss),
                 .train_loss = spread_of(pending.train_loss).mean,
                 .bytes_per_node = per_node(pending.bytes),
                 .value_bytes_per_node = per_node(pending.value_bytes),
                 .messages = pending.messages};
  // On an ideal network there is nothing to say.
  if (simulation.network().up_rate(0) > 0) latest_.row.network = watch_.look(simulation);
  latest_.accuracy = pending.accuracy;
  latest_.loss = pending.loss;
  latest_.figures = watch_.by_node();
  on_row_(latest_.row);
}

void RoundLog::save(Bytes& out) const {
  ByteWriter writer(out);
  writer.put<std::uint32_t>(static_cast<std::uint32_t>(pending_.size()));
  for (const auto& [round, pending] : pending_) {
    writer.put(round);
    writer.put(pending.nodes_done);
    for (const std::uint64_t count : {pending.bytes, pending.value_bytes, pending.messages})
      writer.put(count);
    for (const auto* values : {&pending.accuracy, &pending.loss, &pending.train_loss})
      save_doubles(*values, writer);
  }
  watch_.save(out);
}

Result<void> RoundLog::load(ByteReader& in) {
  pending_.clear();
  for (auto left = in.get<std::uint32_t>(); left > 0 && !in.ran_short(); --left) {
    Pending& pending = pending_[in.get<Round>()];
    pending.nodes_done = in.get<std::uint32_t>();
    for (std::uint64_t* count : {&pending.bytes, &pending.value_bytes, &pending.messages})
      *count = in.get<std::uint64_t>();
    for (auto* values : {&pending.accuracy, &pending.loss, &pending.train_loss}) {
      values->resize(nodes_);
      load_doubles(in, *values);
    }
  }
  if (in.ran_short()) return Error{"checkpoint", "the saved measurements are cut short"};
  return watch_.load(in);
}

}  // namespace tessera
