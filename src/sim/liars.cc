#include "sim/liars.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "math/vector_ops.h"
#include "sharing/doubt.h"

namespace tessera {

Liars::Liars(const Faults& faults, std::uint32_t nodes, std::shared_ptr<const Graph> graph)
    : neighbours_(
          [&] {
            std::vector<bool> hostile(nodes, false);
            for (const NodeId node : faults.hostile()) hostile[node] = true;
            return hostile;
          }(),
          std::move(graph)) {
  omniscient_ = !faults.hostile().empty() && faults.attack().kind->omniscient;
  for (const NodeId node : faults.hostile())
    liars_.emplace(node, Liar(node, faults.attack(), faults.random()));
}

void Liars::retell(Shard& shard) {
  if (liars_.empty()) return;
  const std::span<const NodeId> touched = shard.touched();
  if (std::none_of(touched.begin(), touched.end(), [&](NodeId id) { return liars_.contains(id); }))
    return;
  if (omniscient_) shard.borrow_models();
  for (std::size_t i = 0; i < touched.size(); ++i)
    if (shard.holds(touched[i])) retell(shard, touched[i], shard.effects(i));
  shard.return_models();
}

void Liars::retell(const Shard& shard, NodeId from, Effects& effects) {
  const auto liar = liars_.find(from);
  if (liar == liars_.end()) return;
  for (auto& [to, payload] : effects.sends) {
    const Scene scene{.self = from,
                      .to = to,
                      .neighbours = neighbours_,
                      .model = [&](NodeId id) { return shard.model(id); },
                      .told_of =
                          [&](std::span<const float> model, const Coordinates& coordinates) {
                            return shard.node(from).told_of(model, coordinates);
                          }};
    payload = liar->second.retell(payload, &scene);
  }
  liar->second.forget_told();
}

void Liars::mend(NodeId node, Trained& trained) const {
  if (!liars_.contains(node)) return;
  // The negation catches NaN.
  if (!(std::sqrt(squared_norm(trained.model)) <= kNormMax))
    std::fill(trained.model.begin(), trained.model.end(), 0.0f);
}

void Liars::fields(Archive& archive) {
  for (auto& [node, liar] : liars_) archive.of_node(node, liar);
}

}  // namespace tessera
