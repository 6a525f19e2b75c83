#include "sim/shard.h"

#include <algorithm>
#include <utility>

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
    : make_node_(std::move(parts.make_node)),
      trainings_(*parts.trainer, parts.nodes),
      workers_(parts.threads) {
  for (NodeId id = 0; id < parts.nodes; ++id) {
    nodes_.push_back(make_node_(id));
    CHECK(nodes_.back()->id() == id);
  }
}

std::uint64_t Shard::model_digest() const {
  std::uint64_t digest = 0;
  for (const auto& node : nodes_)
    digest = hash_bytes(bytes_of(std::span<const float>(node->model())), digest);
  return digest;
}

Node::Counts Shard::refusals() const {
  Node::Counts all;
  for (const auto& node : nodes_)
    for (const auto& [reason, count] : node->refusals()) all[reason] += count;
  return all;
}

Standing Shard::standing(NodeId id) const {
  const Node& node = *nodes_[id];
  return {.rounds = node.rounds_done(),
          .age = node.age(),
          .loss = node.last_loss(),
          .finished = node.finished()};
}

void Shard::refuse_divergence(Instant now) const {
  for (const NodeId id : touched_)
    if (nodes_[id]->diverged()) tessera::refuse_divergence(*nodes_[id], now);
}

void Shard::handle(std::vector<NodeEvent>& batch, Instant now) {
  sort_by_node(batch);
  while (effects_.size() < touched_.size()) effects_.emplace_back();
  const auto handle_one_nodes = [&](std::size_t group) {
    effects_[group].begin(now);
    for (std::size_t i = begins_[group]; i < begins_[group + 1]; ++i)
      nodes_[touched_[group]]->handle(std::move(batch[order_[i] & 0xffffffffu].event),
                                      effects_[group]);
  };
  if (touched_.size() == 1 || workers_.threads() == 1)
    for (std::size_t group = 0; group < touched_.size(); ++group) handle_one_nodes(group);
  else
    workers_.for_each(touched_.size(), handle_one_nodes);
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
  save_fields(*nodes_[id], state);
  return state;
}

void Shard::renew(NodeId id, const Bytes& snapshot) {
  nodes_[id] = make_node_(id);
  if (snapshot.empty()) return;
  const Result<void> loaded = load_node(*nodes_[id], snapshot);
  CHECK(loaded.ok());
}

bool Shard::can_renew(NodeId id, const Bytes& snapshot) const {
  return snapshot.empty() || load_node(*make_node_(id), snapshot).ok();
}

void Shard::fields(Archive& archive) {
  for (const auto& node : nodes_) archive(*node);
  archive(trainings_);
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Vector* model = trainings_.model(id);
    archive.require(!model || model->size() == node(id).model().size(),
                    "a model in training has another length than this run's");
  }
}

}  // namespace tessera
