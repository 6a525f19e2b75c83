#include "sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/consistency.h"

namespace tessera {

namespace {

ShardParts with_faults(ShardParts parts, const Faults& faults) {
  parts.computes_early = !faults.any();
  return parts;
}

}  // namespace

Simulation::Simulation(SimulationParts parts)
    : network_(std::move(parts.network)),
      compute_(std::move(parts.compute)),
      faults_(std::move(parts.faults)),
      flights_(parts.shard.nodes),
      lives_(faults_, parts.shard.nodes),
      shard_(with_faults(std::move(parts.shard), faults_)),
      progress_(shard_.size()),
      liars_(faults_, node_count(), std::move(parts.graph)) {
  if (!network_) network_ = make_network("ideal", {.nodes = node_count()});
  if (!compute_) compute_ = make_compute("constant:round=1s", {.nodes = node_count()});
}

void Simulation::start() {
  for (NodeId id = 0; id < node_count(); ++id) {
    schedule(id, now_, Happening::Kind::kStart);
    schedule_life(id);
  }
}

Instant Simulation::next() const {
  if (finished()) return kNever;
  return std::min(network_->next(), agenda_.empty() ? kNever : agenda_.next_at());
}

bool Simulation::step_for(Observer* observer) {
  const Instant next_at = next();
  if (next_at == kNever) return false;
  now_ = next_at;
  batch_.clear();
  gather_arrivals();
  gather_what_is_due();
  // A node that crashed just now handles nothing any more.
  std::erase_if(batch_, [&](const NodeEvent& event) { return !lives_.up(event.node); });
  shard_.handle(batch_, now_,
                [this](NodeId node, Trained& trained) { liars_.mend(node, trained); });
  liars_.retell(shard_);
  shard_.tell_effects();
  const std::span<const NodeId> touched = shard_.touched();
  for (std::size_t i = 0; i < touched.size(); ++i) {
    progress_.note(touched[i], shard_.standing(touched[i]));
    carry_out(touched[i], shard_.effects(i));
  }
  tell(observer);
  return true;
}

void Simulation::gather_arrivals() {
  if (network_->next() != now_) return;
  receipts_.clear();
  network_->advance(now_, receipts_);
  prefetch_arrivals();
  for (const Receipt& receipt : receipts_) arrive(receipt);
}

void Simulation::arrive(const Receipt& receipt) {
  if (!receipt.delivered) return flights_.drop(receipt.id, receipt.bytes_sent);
  if (!faults_.any()) return land(receipt.id);
  const NodeId from = flights_.find(receipt.id).from, to = flights_.find(receipt.id).to;
  const Faults::Fate fate = faults_.of_message(Flights::serial_of(receipt.id), from, to, now_);
  if (fate.lost) return flights_.drop(receipt.id, receipt.bytes_sent);
  const auto land_later = [&](MessageId id) {
    agenda_.push(later(now_, fate.held_back),
                 {.node = to, .kind = Happening::Kind::kLanding, .message = id});
  };
  if (fate.doubled) land_later(flights_.copy(receipt.id));
  fate.held_back > Duration::zero() ? land_later(receipt.id) : land(receipt.id);
}

void Simulation::land(MessageId id) {
  const Flight& landing = flights_.find(id);
  const NodeId from = landing.from, to = landing.to;
  if (!lives_.up(to)) return flights_.drop(id, landing.payload.size());
  NodeEvent& landed = batch_.emplace_back();
  landed.node = to;
  landed.event = Arrived{from, flights_.land(id, now_, progress_.age(from))};
}

// In a world of thousands of nodes nothing of a message is in the cache when its turn comes, and
// most of the time would pass in waiting for memory. So what arrives soon is looked up now: each
// thing a few messages after what points to it.
void Simulation::prefetch_arrivals() const {
  constexpr std::size_t kAhead = 4;
  if (const auto third = network_->upcoming(3 * kAhead)) flights_.prefetch_flight(*third);
  if (const auto second = network_->upcoming(2 * kAhead)) {
    flights_.prefetch_counts(*second);
    shard_.prefetch_node(flights_.find(*second).to);
  }
  if (const auto first = network_->upcoming(kAhead)) flights_.prefetch_bytes(*first);
}

void Simulation::gather_what_is_due() {
  using Kind = Happening::Kind;
  while (!agenda_.empty() && agenda_.next_at() == now_) {
    const Happening due = agenda_.pop();
    const NodeId node = due.node;
    // A message reaches the node as it is now; all else belongs to the life that asked for it.
    if (due.kind != Kind::kLanding && due.life != lives_.number(node)) continue;
    switch (due.kind) {
      case Kind::kStart:
        if (!lives_.up(node)) come_back(node);
        batch_.push_back({node, Started{}});
        break;
      case Kind::kWake:
        batch_.push_back({node, Woke{}});
        break;
      case Kind::kTrained:
        shard_.end_training(node);
        batch_.push_back({node, Trained{}});
        break;
      case Kind::kLanding:
        land(due.message);
        break;
      case Kind::kCrash:
        crash(node);
        break;
      case Kind::kSnapshot:
        take_snapshot(node);
        break;
    }
  }
}

void Simulation::carry_out(NodeId node, Effects& effects) {
  if (effects.forget_unsent) withdraw_all(node);
  for (auto& [to, payload] : effects.sends) offer(node, to, std::move(payload));
  for (const Duration delay : effects.wakes)
    schedule(node, later(now_, delay), Happening::Kind::kWake);
  if (!effects.training) return;
  shard_.begin_training(node, *std::move(effects.training));
  const Duration takes = compute_->training_time(node, progress_.age(node), now_);
  // On a machine that is switched off for good a training never ends.
  if (const Instant end = later(now_, takes); end != kNever)
    schedule(node, end, Happening::Kind::kTrained);
}

void Simulation::offer(NodeId from, NodeId to, Payload payload) {
  CHECK(to < node_count());
  const std::uint64_t bytes = payload.size();
  const MessageId id = flights_.board({.from = from,
                                       .to = to,
                                       .payload = std::move(payload),
                                       .sent_at = now_,
                                       .sender_age = progress_.age(from)});
  network_->offer(now_, {.id = id, .from = from, .to = to, .bytes = bytes});
}

void Simulation::withdraw_all(NodeId from) {
  receipts_.clear();
  lives_.up(from) ? network_->withdraw(now_, from, receipts_)
                  : network_->cut_off(now_, from, receipts_);
  for (const Receipt& receipt : receipts_) {
    CHECK(!receipt.delivered);
    flights_.drop(receipt.id, receipt.bytes_sent);
  }
}

void Simulation::schedule(NodeId node, Instant at, Happening::Kind kind) {
  agenda_.push(at, {.node = node, .life = lives_.number(node), .kind = kind});
}

void Simulation::schedule_life(NodeId node) {
  const Lives::Plan plan = lives_.begin(node, now_);
  if (plan.crash_at) schedule(node, *plan.crash_at, Happening::Kind::kCrash);
  if (plan.snapshot_at) schedule(node, *plan.snapshot_at, Happening::Kind::kSnapshot);
}

// What it had not sent is gone, and so is the training under way. Its events die with its life.
void Simulation::crash(NodeId node) {
  if (progress_.finished(node)) return;
  const Instant back_at = lives_.end(node, now_);
  shard_.cancel_training(node);
  withdraw_all(node);
  schedule(node, back_at, Happening::Kind::kStart);
}

void Simulation::come_back(NodeId node) {
  shard_.renew(node, lives_.snapshot(node));
  schedule_life(node);
}

void Simulation::take_snapshot(NodeId node) {
  const Instant next_at = lives_.keep_snapshot(node, shard_.snapshot(node), now_);
  schedule(node, next_at, Happening::Kind::kSnapshot);
}

void Simulation::tell(Observer* observer) {
  shard_.refuse_divergence(now_);
  std::vector<RoundDone> done;
  for (const NodeId id : shard_.touched())
    if (progress_.tell(id)) done.push_back({id, progress_.rounds(id)});
  if (observer && !done.empty()) observer->on_rounds_done(*this, done);
}

Traffic Simulation::sent(NodeId id) const {
  return flights_.sent(
      id, {.messages = network_->queued(id, now_), .bytes = network_->queued_bytes(id, now_)});
}

std::string Simulation::why_stuck() const {
  constexpr std::size_t kNamed = 5;
  std::string why = fmt::format("after {:.3f} s and {} rounds no node can go on",
                                to_seconds(now_.time_since_epoch()), rounds_done());
  std::size_t stuck = 0;
  for (NodeId id = 0; id < node_count(); ++id) {
    if (progress_.finished(id) || ++stuck > kNamed) continue;
    const std::string waiting = shard_.waiting_for(id);
    why += fmt::format("; node {} waits for {}", id,
                       waiting.empty() ? "something that never comes" : waiting);
  }
  if (stuck > kNamed) why += fmt::format("; and {} more", stuck - kNamed);
  if (faults_.cut_for_ever(now_))
    why +=
        ". The network is cut in two and never mended: end the partition, or give the protocol a "
        "patience";
  else if (faults_.any())
    why += ". Messages were lost: a synchronous protocol needs a patience to go on without them";
  else if (!faults_.hostile().empty())
    why += ". Hostile nodes tell nothing of use: a synchronous protocol needs a patience to go on";
  return why;
}

std::string Simulation::contradiction() const {
  return tessera::contradiction({shard_, lives_, flights_, *network_, agenda_, now_});
}

// In a run that was to end at `to` they would have been asked for first of all that happens then.
void Simulation::postpone_wakes(Instant from, Instant to) {
  const auto all = agenda_.waiting();
  const auto moves = [&](Instant at, const Happening& what) {
    return at == from && what.kind == Happening::Kind::kWake;
  };
  agenda_ = {};
  for (const auto& [at, what] : all)
    if (moves(at, what)) agenda_.push(to, what);
  for (const auto& [at, what] : all)
    if (!moves(at, what)) agenda_.push(at, what);
}

void Simulation::fields(Archive& archive) {
  std::uint64_t nodes = node_count();
  archive(nodes);
  if (nodes != node_count())
    return archive.refuse("it was saved by a run with another number of nodes");
  archive(now_, shard_, lives_, flights_, *network_, agenda_, progress_, liars_);
  if (archive.loading()) believe(archive);
}

// What was read, if no rank has found anything wrong with it.
void Simulation::believe(Archive& archive) {
  const Result<void> read = archive.ok();
  std::string why = shard_.blocks().first_of(read.ok() ? "" : read.error().message);
  if (why.empty()) {
    shard_.tell_standings();
    for (NodeId id = 0; id < node_count(); ++id) progress_.note(id, shard_.standing(id));
    why = shard_.blocks().first_of(contradiction());
  }
  if (!why.empty()) archive.refuse(std::move(why));
}

}  // namespace tessera
