#include "sim/liars.h"

#include <utility>

#include "base/check.h"

namespace tessera {

Liars::Liars(const Faults& faults, std::uint32_t nodes, std::shared_ptr<const Graph> graph)
    : chosen_(faults.attack()),
      random_(faults.random().fork("lies")),
      neighbours_(
          [&] {
            std::vector<bool> hostile(nodes, false);
            for (const NodeId node : faults.hostile()) hostile[node] = true;
            return hostile;
          }(),
          std::move(graph)) {
  for (const NodeId node : faults.hostile()) states_[node];
}

void Liars::retell(const Shard& shard, NodeId from, Sends& sends) {
  const auto found = states_.find(from);
  if (found == states_.end() || chosen_.kind->flips_labels) return;
  State& state = found->second;
  std::map<const Bytes*, Payload> told;  // One message often goes to several peers.
  for (auto& [to, payload] : sends) {
    if (chosen_.kind->repeats) {
      if (!state.first.bytes) state.first = payload;
      payload = state.first;
      continue;
    }
    Payload& lie = told[payload.bytes.get()];
    if (!lie.bytes || chosen_.kind->aims) {
      const Scene scene{from, to, neighbours_, [&](NodeId id) { return shard.model(id); }};
      lie = make_lie(shard, scene, payload, random_.fork("node", from).fork("lie", state.told++));
    }
    payload = lie;
  }
}

Payload Liars::make_lie(const Shard& shard, const Scene& scene, const Payload& truth,
                        const Random& random) const {
  Result<Message> message = decode(*truth.bytes);
  CHECK(message.ok());
  const Vector model = chosen_.attack->model(scene);
  if (!model.empty())
    message->share.values = shard.node(scene.self).told_of(model, message->share.coordinates);
  chosen_.attack->change(*message, random.fork("change"));
  const Header header = peek(*truth.bytes).value();
  Encoded lie = encode(message->heading, message->share, {header.index_codec, header.value_codec},
                       message->envelope, random.fork("rounding"));
  return {std::make_shared<const Bytes>(std::move(lie.bytes)), lie.value_bytes};
}

void Liars::fields(Archive& archive) {
  for (auto& [node, state] : states_) archive(state);
}

}  // namespace tessera
