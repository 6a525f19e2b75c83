// The part of the Runtime that is about other processes and records: newcomers, farewells,
// checkpoints, status.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "live/runtime.h"

namespace tessera {
namespace {

constexpr Duration kJoinWithin = std::chrono::seconds(5);
constexpr std::size_t kTooEarlyBytesMax = 64 << 20;
constexpr Duration kAskNap = std::chrono::milliseconds(20);

}  // namespace

void Runtime::watch_peers() {
  for (const PeerState& peer : parts_.transport->take_changes()) {
    parts_.observer->say(fmt::format("{} is {}{}{}", peer.name, to_string(peer.condition),
                                     peer.reason.empty() ? "" : ": ", peer.reason));
    if (!peer.alive()) continue;
    // It may have been started anew and not know.
    finished_peers_.erase(peer.id);
    if (node_->finished())
      parts_.transport->send(peer.id, encode_control(Finished{}), MessageClass::control);
  }
}

// Asks all helpers whether we are far behind, and begins with the model of the first that is ahead;
// some may have begun no earlier. What they say besides waits until the node is started.
void Runtime::join() {
  for (const PeerState& peer : parts_.transport->peers())
    if (peer.alive() && std::ranges::count(options_.helpers, peer.id) > 0 &&
        parts_.transport->send(peer.id, encode_control(ModelRequest{0}), MessageClass::control))
      asked_.insert(peer.id);
  const Instant until = parts_.transport->now() + kJoinWithin;
  std::size_t kept_bytes = 0;
  while (!asked_.empty() && parts_.transport->now() < until && !stop_asked_.load()) {
    std::optional<Incoming> incoming = parts_.transport->receive(kAskNap);
    if (!incoming) continue;
    if (is_control(incoming->bytes)) {
      hear(std::move(*incoming));
      continue;
    }
    kept_bytes += incoming->bytes.size();
    too_early_.push_back(std::move(*incoming));
    for (; kept_bytes > kTooEarlyBytesMax; too_early_.pop_front())
      kept_bytes -= too_early_.front().bytes.size();
  }
  asked_.clear();
}

void Runtime::on_control(NodeId from, const Control& control) {
  if (std::holds_alternative<Finished>(control)) {
    finished_peers_.insert(from);
  } else if (const auto* request = std::get_if<ModelRequest>(&control)) {
    answer(from, *request);
  } else if (const auto* offer = std::get_if<ModelOffer>(&control)) {
    if (!asked_.contains(from)) return;  // Unasked for, or too late.
    asked_.erase(from);
    if (offer->rounds < options_.far_behind || offer->model.empty()) return;
    asked_.clear();
    adopt(from, *offer);
  }
}

void Runtime::answer(NodeId from, const ModelRequest& request) {
  ModelOffer offer{.rounds = node_->rounds_done()};
  if (offer.rounds >= request.rounds + options_.far_behind) offer.model = node_->model();
  parts_.transport->send(from, encode_control(offer), MessageClass::control);
}

void Runtime::adopt(NodeId from, const ModelOffer& offer) {
  parts_.observer->say(fmt::format("begins with the model of {}, which has completed {} rounds",
                                   parts_.transport->peer(from).name, offer.rounds));
  ++adoptions_;
  node_ = parts_.make_node(offer.model);
  parts_.observer->on_adopted(clock(), offer.model);
}

bool Runtime::peers_are_done() const {
  const std::vector<PeerState> peers = parts_.transport->peers();
  return std::all_of(peers.begin(), peers.end(), [&](const PeerState& peer) {
    return finished_peers_.contains(peer.id) || peer.condition == PeerCondition::gone;
  });
}

void Runtime::checkpoint() {
  saved_at_ = clock();
  Bytes state;
  ByteWriter writer(state);
  writer.put(began_at_);
  count_left();
  for (const SentCounts* counts : {&sent_, &left_})
    for (const std::uint64_t count : {counts->messages, counts->bytes, counts->value_bytes})
      writer.put(count);
  // Whoever goes on from here knows nothing of their scores.
  writer.put<std::uint32_t>(static_cast<std::uint32_t>(owed_.size()));
  for (const RuntimeRow& row : owed_) {
    writer.put(row.round);
    writer.put(row.seconds);
  }
  save_last_told(state);
  save_fields(*node_, state);
  save_fields(*parts_.trainer, state);
  parts_.observer->on_checkpoint(node_->rounds_done(), state);
  ++checkpoints_;
}

// Peers are mostly told the same, so every message is written once and referred to by its place.
void Runtime::save_last_told(Bytes& out) const {
  std::vector<const Bytes*> messages;
  ByteWriter writer(out);
  writer.put<std::uint32_t>(static_cast<std::uint32_t>(last_told_.size()));
  for (const auto& [peer, told] : last_told_) {
    writer.put(peer);
    writer.put<std::uint32_t>(static_cast<std::uint32_t>(told.size()));
    for (const auto& message : told) {
      const auto found = std::find(messages.begin(), messages.end(), message.get());
      writer.put<std::uint32_t>(static_cast<std::uint32_t>(found - messages.begin()));
      if (found == messages.end()) messages.push_back(message.get());
    }
  }
  writer.put<std::uint32_t>(static_cast<std::uint32_t>(messages.size()));
  for (const Bytes* message : messages) {
    writer.put<std::uint64_t>(message->size());
    writer.put_bytes(*message);
  }
}

Result<void> Runtime::load_last_told(ByteReader& in) {
  std::map<NodeId, std::vector<std::uint32_t>> places;
  for (auto peers = in.get<std::uint32_t>(); peers > 0 && !in.ran_short(); --peers) {
    std::vector<std::uint32_t>& of_peer = places[in.get<NodeId>()];
    for (auto left = in.get<std::uint32_t>(); left > 0 && !in.ran_short(); --left)
      of_peer.push_back(in.get<std::uint32_t>());
  }
  std::vector<std::shared_ptr<const Bytes>> messages;
  for (auto left = in.get<std::uint32_t>(); left > 0 && !in.ran_short(); --left) {
    const ByteSpan bytes = in.get_bytes(in.get<std::uint64_t>());
    messages.push_back(std::make_shared<const Bytes>(bytes.begin(), bytes.end()));
  }
  last_told_.clear();
  for (const auto& [peer, of_peer] : places)
    for (const std::uint32_t place : of_peer) {
      if (place >= messages.size()) return Error{"checkpoint", "a saved live node is cut short"};
      last_told_[peer].push_back(messages[place]);
    }
  return {};
}

Result<void> Runtime::restore(ByteSpan state) {
  ByteReader in(state);
  const auto began_at = in.get<double>();
  for (SentCounts* counts : {&sent_, &left_})
    for (std::uint64_t* count : {&counts->messages, &counts->bytes, &counts->value_bytes})
      *count = in.get<std::uint64_t>();
  for (auto owed = in.get<std::uint32_t>(); owed > 0 && !in.ran_short(); --owed) {
    RuntimeRow row;
    row.round = in.get<Round>();
    row.seconds = in.get<double>();
    owed_.push_back(row);
  }
  if (auto loaded = load_last_told(in); !loaded.ok()) return loaded;
  if (auto loaded = load_fields(*node_, in); !loaded.ok()) return loaded;
  if (auto loaded = load_fields(*parts_.trainer, in); !loaded.ok()) return loaded;
  if (in.ran_short() || !std::isfinite(began_at))
    return Error{"checkpoint", "a saved live node is cut short"};
  if (options_.began_at == 0) began_at_ = began_at;
  restored_ = true;
  return {};
}

void Runtime::update_status() {
  const std::lock_guard lock(status_mutex_);
  status_at_ = clock();
  status_.name = parts_.name;
  status_.id = parts_.id;
  status_.state = node_->finished()       ? "finished"
                  : stopping_since_       ? "stopping"
                  : trainings_posted_ > 0 ? "training"
                                          : "waiting";
  status_.waiting_for = trainings_posted_ > 0 ? "" : node_->waiting_for();
  status_.round = node_->rounds_done();
  status_.rounds = options_.rounds;
  status_.age = node_->age();
  status_.seconds = to_seconds(status_at_.time_since_epoch());
  status_.train_loss = node_->last_loss();
  status_.sent = counted();
  status_.checkpoints = checkpoints_;
  status_.adoptions = adoptions_;
  status_.refusals = node_->refusals();
  if (refused_control_ > 0) status_.refusals["control"] = refused_control_;
  status_.notes = node_->notes();
}

NodeStatus Runtime::status() const {
  NodeStatus status;
  {
    const std::lock_guard lock(status_mutex_);
    status = status_;
  }
  status.peers = parts_.transport->peers();
  status.link_refusals = parts_.transport->refusals();
  status.asked_at = parts_.transport->now();
  return status;
}

}  // namespace tessera
