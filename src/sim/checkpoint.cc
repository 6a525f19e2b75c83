// Saving and restoring a Simulation between two instants: nodes, what is in flight, what is being
// trained, what will happen.
#include <fmt/format.h>

#include <array>
#include <unordered_map>

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

void save_bytes(const Bytes& bytes, ByteWriter& writer) {
  writer.put<std::uint64_t>(bytes.size());
  writer.put_bytes(bytes);
}

Bytes load_bytes(ByteReader& in) {
  const ByteSpan bytes = in.get_bytes(in.get<std::uint64_t>());
  return Bytes(bytes.begin(), bytes.end());
}

// All numbers of a Mail, in one order for both ways.
template <typename Do>
void each_number(Do&& number, auto& mail) {
  for (auto* traffic : {&mail.offered, &mail.taken_back, &mail.delivered}) {
    number(traffic->messages);
    number(traffic->bytes);
    number(traffic->value_bytes);
  }
  for (auto* one : {&mail.dropped_bytes, &mail.dropped_messages, &mail.heard, &mail.staleness})
    number(*one);
}

}  // namespace

void Simulation::save(Bytes& out) const {
  ByteWriter writer(out);
  writer.put<std::uint64_t>(nodes_.size());
  writer.put(now_.time_since_epoch().count());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    save_fields(*nodes_[id], out);
    each_number([&](std::uint64_t count) { writer.put(count); }, mail_[id]);
    writer.put(mail_[id].delay.count());
    writer.put(rounds_told_[id]);
    writer.put(lives_[id].number);
    writer.put<std::uint8_t>(lives_[id].up);
    save_bytes(lives_[id].snapshot, writer);
    writer.put<std::uint8_t>(trainings_[id].has_value());
    if (!trainings_[id]) continue;
    save_vector(trainings_[id]->model, out);
    save_random(trainings_[id]->random, writer);
    writer.put(trainings_[id]->loss);
    writer.put<std::uint8_t>(trainings_[id]->computed);
  }
  save_flights(out);
  network_->save(out);
  const auto waiting = queue_.waiting();
  writer.put<std::uint64_t>(waiting.size());
  for (const auto& [at, happening] : waiting) {
    writer.put(at.time_since_epoch().count());
    writer.put(happening->node);
    writer.put(happening->life);
    writer.put<std::uint8_t>(static_cast<std::uint8_t>(happening->what.index()));
    const auto* landed = std::get_if<Landed>(&happening->what);
    writer.put<std::uint64_t>(landed ? landed->message : 0);
  }
}

// A message goes to several receivers as one buffer; it is saved once.
void Simulation::save_flights(Bytes& out) const {
  ByteWriter writer(out);
  writer.put(serial_);
  std::unordered_map<const Bytes*, std::uint64_t> numbers;
  std::vector<const Bytes*> payloads;
  for (const Flight& flight : flights_)
    if (flight.payload.bytes && numbers.emplace(flight.payload.bytes.get(), payloads.size()).second)
      payloads.push_back(flight.payload.bytes.get());
  writer.put<std::uint64_t>(payloads.size());
  for (const Bytes* payload : payloads) save_bytes(*payload, writer);
  writer.put<std::uint64_t>(flights_.size());
  for (const Flight& flight : flights_) {
    writer.put<std::uint8_t>(flight.payload.bytes != nullptr);
    if (!flight.payload.bytes) continue;
    writer.put(flight.from);
    writer.put(flight.to);
    writer.put(numbers[flight.payload.bytes.get()]);
    writer.put<std::uint64_t>(flight.payload.value_bytes);
    writer.put(flight.sent_at.time_since_epoch().count());
    writer.put(flight.sender_age);
  }
  writer.put<std::uint64_t>(free_flights_.size());
  for (const std::uint32_t place : free_flights_) writer.put(place);
}

Result<void> Simulation::load_flights(ByteReader& in) {
  const Error torn{"checkpoint", "the messages on their way do not hold together"};
  serial_ = in.get<std::uint64_t>();
  std::vector<std::shared_ptr<const Bytes>> payloads;
  for (auto left = in.get<std::uint64_t>(); left > 0 && !in.ran_short(); --left)
    payloads.push_back(std::make_shared<const Bytes>(load_bytes(in)));
  flights_.clear();
  for (auto left = in.get<std::uint64_t>(); left > 0 && !in.ran_short(); --left) {
    Flight& flight = flights_.emplace_back();
    if (in.get<std::uint8_t>() == 0) continue;
    flight.from = in.get<NodeId>();
    flight.to = in.get<NodeId>();
    const auto number = in.get<std::uint64_t>();
    if (number >= payloads.size() || flight.from >= nodes_.size() || flight.to >= nodes_.size())
      return torn;
    flight.payload.bytes = payloads[number];
    flight.payload.value_bytes = in.get<std::uint64_t>();
    flight.sent_at = Instant(Duration(in.get<std::int64_t>()));
    flight.sender_age = in.get<std::uint64_t>();
  }
  free_flights_.clear();
  for (auto left = in.get<std::uint64_t>(); left > 0 && !in.ran_short(); --left) {
    const auto place = in.get<std::uint32_t>();
    if (place >= flights_.size() || flights_[place].payload.bytes) return torn;
    free_flights_.push_back(place);
  }
  return {};
}

Result<void> Simulation::load_nodes(ByteReader& in) {
  nodes_at_.clear();
  nodes_finished_ = 0;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (auto loaded = load_fields(*nodes_[id], in); !loaded.ok()) return loaded;
    each_number([&](std::uint64_t& count) { count = in.get<std::uint64_t>(); }, mail_[id]);
    mail_[id].delay = Duration(in.get<std::int64_t>());
    rounds_told_[id] = in.get<Round>();
    rounds_seen_[id] = nodes_[id]->rounds_done();
    ages_[id] = nodes_[id]->age();
    ++nodes_at_[rounds_seen_[id]];
    finished_seen_[id] = nodes_[id]->finished();
    if (finished_seen_[id]) ++nodes_finished_;
    lives_[id].number = in.get<std::uint32_t>();
    lives_[id].up = in.get<std::uint8_t>() != 0;
    lives_[id].snapshot = load_bytes(in);
    trainings_[id].reset();
    if (in.get<std::uint8_t>() == 0) continue;
    Training training{.model = Vector(nodes_[id]->model().size())};
    if (auto loaded = load_vector(in, training.model); !loaded.ok()) return loaded;
    training.random = load_random(in);
    training.loss = in.get<float>();
    training.computed = in.get<std::uint8_t>() != 0;
    trainings_[id] = std::move(training);
  }
  return {};
}

Result<void> Simulation::load(ByteReader& in) {
  CHECK(queue_.empty());
  if (in.get<std::uint64_t>() != nodes_.size())
    return Error{"checkpoint", "it was saved by a run with another number of nodes"};
  now_ = Instant(Duration(in.get<std::int64_t>()));
  if (auto loaded = load_nodes(in); !loaded.ok()) return loaded;
  if (auto loaded = load_flights(in); !loaded.ok()) return loaded;
  if (auto loaded = network_->load(in); !loaded.ok()) return loaded;
  // By their number in What.
  const std::array<What, 6> kinds = {Started{}, Woke{}, Trained{}, Landed{}, Crashed{}, Snapshot{}};
  for (auto left = in.get<std::uint64_t>(); left > 0 && !in.ran_short(); --left) {
    const Instant at{Duration(in.get<std::int64_t>())};
    const auto node = in.get<NodeId>();
    const auto life = in.get<std::uint32_t>();
    const auto kind = in.get<std::uint8_t>();
    const auto message = in.get<std::uint64_t>();
    if (node >= nodes_.size() || kind >= kinds.size())
      return Error{"checkpoint", fmt::format("it holds event {} of node {}", kind, node)};
    What what = kinds[kind];
    if (auto* landed = std::get_if<Landed>(&what)) landed->message = message;
    queue_.push(at, {node, life, std::move(what)});
  }
  if (in.ran_short()) return Error{"checkpoint", "it is cut short"};
  return {};
}

}  // namespace tessera
