// Saving and restoring a Simulation between two instants: nodes, what is in flight, what is being
// trained.
#include <fmt/format.h>

#include "base/archive.h"
#include "base/check.h"
#include "sim/simulation.h"

namespace tessera {
namespace {

void save_random(const Random& random, ByteWriter& writer) {
  writer.put(random.state().key);
  writer.put(random.state().position);
}

Random load_random(ByteReader& in) {
  const auto key = in.get<std::uint64_t>();
  return Random(Random::State{key, in.get<std::uint64_t>()});
}

// Events as they wait in the queue: a Trained has no model yet, so kind, sender and bytes are all
// there is.
void save_event(const Event& event, Bytes& out) {
  ByteWriter writer(out);
  writer.put<std::uint8_t>(static_cast<std::uint8_t>(event.index()));
  const auto* arrived = std::get_if<Arrived>(&event);
  if (!arrived) return;
  writer.put(arrived->from);
  writer.put<std::uint64_t>(arrived->payload.value_bytes);
  writer.put<std::uint64_t>(arrived->payload.bytes->size());
  writer.put_bytes(*arrived->payload.bytes);
}

Event load_event(ByteReader& in) {
  switch (in.get<std::uint8_t>()) {
    case 0:
      return Started{};
    case 1: {
      Arrived arrived{.from = in.get<NodeId>()};
      arrived.payload.value_bytes = in.get<std::uint64_t>();
      const ByteSpan bytes = in.get_bytes(in.get<std::uint64_t>());
      arrived.payload.bytes = std::make_shared<const Bytes>(bytes.begin(), bytes.end());
      return arrived;
    }
    case 2:
      return Woke{};
    default:
      return Trained{};
  }
}

}  // namespace

void Simulation::save(Bytes& out) const {
  ByteWriter writer(out);
  writer.put<std::uint64_t>(nodes_.size());
  writer.put(now_.time_since_epoch().count());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    nodes_[id]->save(out);
    for (const std::uint64_t count : {sent_[id].messages, sent_[id].bytes, sent_[id].value_bytes})
      writer.put(count);
    writer.put(rounds_seen_[id]);
    writer.put<std::uint8_t>(trainings_[id].has_value());
    if (!trainings_[id]) continue;
    save_vector(trainings_[id]->model, out);
    save_random(trainings_[id]->random, writer);
    writer.put(trainings_[id]->loss);
    writer.put<std::uint8_t>(trainings_[id]->computed);
  }
  const auto waiting = queue_.waiting();
  writer.put<std::uint64_t>(waiting.size());
  for (const auto& [at, happening] : waiting) {
    writer.put(at.time_since_epoch().count());
    writer.put(happening->node);
    save_event(happening->event, out);
  }
}

Result<void> Simulation::load(ByteReader& in) {
  CHECK(queue_.empty());
  if (in.get<std::uint64_t>() != nodes_.size())
    return Error{"checkpoint", "it was saved by a run with another number of nodes"};
  now_ = Instant(Duration(in.get<std::int64_t>()));
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (auto loaded = nodes_[id]->load(in); !loaded.ok()) return loaded;
    for (std::uint64_t* count : {&sent_[id].messages, &sent_[id].bytes, &sent_[id].value_bytes})
      *count = in.get<std::uint64_t>();
    rounds_seen_[id] = in.get<Round>();
    trainings_[id].reset();
    if (in.get<std::uint8_t>() == 0) continue;
    Training training{.model = Vector(nodes_[id]->model().size())};
    if (auto loaded = load_vector(in, training.model); !loaded.ok()) return loaded;
    training.random = load_random(in);
    training.loss = in.get<float>();
    training.computed = in.get<std::uint8_t>() != 0;
    trainings_[id] = std::move(training);
  }
  for (auto left = in.get<std::uint64_t>(); left > 0 && !in.ran_short(); --left) {
    const Instant at{Duration(in.get<std::int64_t>())};
    const auto node = in.get<NodeId>();
    Event event = load_event(in);
    if (node >= nodes_.size())
      return Error{"checkpoint", fmt::format("it holds an event for node {}", node)};
    queue_.push(at, {node, std::move(event)});
  }
  if (in.ran_short()) return Error{"checkpoint", "it is cut short"};
  return {};
}

}  // namespace tessera
