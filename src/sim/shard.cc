#include "sim/shard.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/hash.h"
#include "node/divergence.h"

namespace tessera {
namespace {

Result<void> load_node(Node& node, const Bytes& state) {
  ByteReader in(state);
  return load_fields(node, in);
}

}  // namespace

Shard::Shard(ShardParts parts)
    : blocks_(parts.ranks, parts.nodes),
      make_node_(std::move(parts.make_node)),
      trainings_(*parts.trainer, parts.nodes),
      computes_early_(parts.computes_early),
      workers_(parts.threads) {
  for (NodeId id = 0; id < parts.nodes; ++id) {
    nodes_.push_back(blocks_.hold(id) ? make_node_(id) : nullptr);
    CHECK((!nodes_.back() || nodes_.back()->id() == id));
  }
  if (!blocks_.alone()) standings_.resize(parts.nodes);
}

const Node& Shard::node(NodeId id) const {
  CHECK(holds(id));
  return *nodes_[id];
}

std::span<const float> Shard::model(NodeId id) const {
  if (holds(id)) return nodes_[id]->model();
  return lent_.empty() ? std::span<const float>() : lent_[id];
}

Vector Shard::model_of_any(NodeId id) const {
  if (blocks_.alone()) return nodes_[id]->model();
  const Bytes told = blocks_.hear(id, bytes_of(model(id)));
  Vector model(told.size() / sizeof(float));
  std::memcpy(model.data(), told.data(), told.size());
  return model;
}

std::string Shard::waiting_for(NodeId id) const {
  const std::string mine = holds(id) ? nodes_[id]->waiting_for() : "";
  return blocks_.first_of(mine);
}

// The digest goes from rank to rank, and each adds its models.
std::uint64_t Shard::model_digest() const {
  std::uint64_t digest = 0;
  for (NodeId id = 0; id < nodes_.size();) {
    const std::uint32_t rank = blocks_.holder(id);
    const NodeId first = id;
    for (; id < nodes_.size() && blocks_.holder(id) == rank; ++id)
      if (holds(id)) digest = hash_bytes(bytes_of(model(id)), digest);
    if (blocks_.alone()) continue;
    const Bytes told = blocks_.hear(first, std::as_bytes(std::span(&digest, 1)));
    std::memcpy(&digest, told.data(), sizeof digest);
  }
  return digest;
}

WordCounts Shard::refusals() const {
  struct Mine {
    WordCounts counts{};
    void fields(Archive& archive) { archive(counts); }
  } mine;
  for (const auto& node : nodes_)
    if (node)
      for (const auto& [reason, count] : node->refusals()) mine.counts[reason] += count;
  if (blocks_.alone()) return mine.counts;
  Bytes told;
  save_fields(mine, told);
  WordCounts all;
  for (const Bytes& heard : blocks_.gather(told)) {
    ByteReader in(heard);
    CHECK(load_fields(mine, in).ok());
    for (const auto& [reason, count] : mine.counts) all[reason] += count;
  }
  return all;
}

Standing Shard::standing(NodeId id) const {
  if (!holds(id)) return standings_[id];
  const Node& node = *nodes_[id];
  return {.rounds = node.rounds_done(),
          .age = node.age(),
          .loss = node.last_loss(),
          .finished = node.finished(),
          .diverged = node.diverged()};
}

void Shard::refuse_divergence(Instant now) const {
  for (const NodeId id : touched_)
    if (holds(id) ? nodes_[id]->diverged() : standings_[id].diverged)
      throw_divergence(id, standing(id).rounds, now);
}

void Shard::borrow_models() {
  if (blocks_.alone()) return;
  lent_.resize(nodes_.size());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    Vector model = model_of_any(id);
    if (!holds(id)) lent_[id] = std::move(model);
  }
}

void Shard::tell_effects() {
  if (blocks_.alone()) return;
  for (const NodeId id : touched_)
    if (holds(id)) standings_[id] = standing(id);
  blocks_.tell(touched_, std::span(effects_).first(touched_.size()), standings_);
}

void Shard::tell_standings() {
  if (blocks_.alone()) return;
  for (NodeId id = 0; id < nodes_.size(); ++id)
    if (holds(id)) standings_[id] = standing(id);
  blocks_.tell(standings_);
}

void Shard::handle(std::vector<NodeEvent>& batch, Instant now, const Mend& mend) {
  sort_by_node(batch);
  while (effects_.size() < touched_.size()) effects_.emplace_back();
  const bool early = computes_early_ && touched_.size() > 1 && trainings_.open(held_and_touched());
  const auto handle_one_nodes = [&](std::size_t group) {
    const NodeId id = touched_[group];
    effects_[group].begin(now);
    for (std::size_t i = begins_[group]; i < begins_[group + 1]; ++i) {
      Event& event = batch[order_[i] & 0xffffffffu].event;
      complete(id, event, mend);
      if (holds(id)) nodes_[id]->handle(std::move(event), effects_[group]);
    }
    if (early && holds(id) && effects_[group].training)
      trainings_.join(id, *effects_[group].training);
  };
  if (touched_.size() == 1 || workers_.threads() == 1)
    for (std::size_t group = 0; group < touched_.size(); ++group) handle_one_nodes(group);
  else
    workers_.for_each(touched_.size(), handle_one_nodes);
  if (early) trainings_.close();
}

std::size_t Shard::held_and_touched() const {
  if (blocks_.alone()) return touched_.size();
  const auto held = [this](NodeId id) { return holds(id); };
  return static_cast<std::size_t>(std::count_if(touched_.begin(), touched_.end(), held));
}

void Shard::complete(NodeId id, Event& event, const Mend& mend) {
  auto* const trained = std::get_if<Trained>(&event);
  if (!trained) return;
  if (trained->model.empty()) *trained = trainings_.take(id);
  if (mend) mend(id, *trained);
}

void Shard::sort_by_node(const std::vector<NodeEvent>& batch) {
  order_.clear();
  for (std::size_t i = 0; i < batch.size(); ++i)
    order_.push_back(std::uint64_t{batch[i].node} << 32 | i);
  std::sort(order_.begin(), order_.end());
  const auto node_at = [&](std::size_t i) { return static_cast<NodeId>(order_[i] >> 32); };
  touched_.clear();
  begins_.clear();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (i > 0 && node_at(i) == node_at(i - 1)) continue;
    begins_.push_back(i);
    touched_.push_back(node_at(i));
  }
  begins_.push_back(order_.size());
}

Bytes Shard::snapshot(NodeId id) const {
  Bytes state;
  if (!holds(id)) return state;
  save_fields(*nodes_[id], state);
  return state;
}

void Shard::renew(NodeId id, const Bytes& snapshot) {
  if (!holds(id)) return;
  nodes_[id] = make_node_(id);
  if (snapshot.empty()) return;
  const Result<void> loaded = load_node(*nodes_[id], snapshot);
  CHECK(loaded.ok());
}

bool Shard::can_renew(NodeId id, const Bytes& snapshot) const {
  return snapshot.empty() || load_node(*make_node_(id), snapshot).ok();
}

void Shard::fields(Archive& archive) {
  for (NodeId id = 0; id < nodes_.size(); ++id)
    holds(id) ? archive.of_node(id, *nodes_[id]) : archive.of_node(id);
  archive(trainings_);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Vector* model = trainings_.model(id);
    archive.require(!model || !holds(id) || model->size() == node(id).model().size(),
                    "a model in training has another length than this run's");
  }
}

}  // namespace tessera
