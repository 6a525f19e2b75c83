// The simulation's messages: from the node that sends one to the node that is given it, and every
// byte accounted for on the way.
#include <algorithm>

#include "base/check.h"
#include "sim/simulation.h"

namespace tessera {
namespace {

// A message's id: its serial number, and below it its place among the flights.
constexpr unsigned kPlaceBits = 24;
constexpr std::uint64_t kPlaces = 1ull << kPlaceBits;

void count(Traffic& traffic, std::uint64_t bytes, std::uint64_t value_bytes) {
  ++traffic.messages;
  traffic.bytes += bytes;
  traffic.value_bytes += value_bytes;
}

// The values' part of the last `bytes` of a message.
std::uint64_t values_in(const Payload& payload, std::uint64_t bytes) {
  const double fraction = static_cast<double>(bytes) / static_cast<double>(payload.bytes->size());
  return static_cast<std::uint64_t>(fraction * static_cast<double>(payload.value_bytes));
}

// In a world of thousands of nodes nothing of a message is in the cache when its turn comes, and
// most of the time would pass in waiting for memory. Memory that will soon be needed is therefore
// asked for so many messages ahead.
constexpr std::size_t kAhead = 4;
constexpr std::size_t kLine = 64;  // Bytes of a line of the cache.
void fetch(const void* address) {
  __builtin_prefetch(address);
}

}  // namespace

std::uint64_t Simulation::serial_of(MessageId id) {
  return id >> kPlaceBits;
}

Simulation::Flight& Simulation::flight(MessageId id) {
  Flight& found = flights_[id % kPlaces];
  CHECK(found.payload.bytes != nullptr);
  return found;
}

MessageId Simulation::board(Flight flight) {
  if (free_flights_.empty()) {
    CHECK(flights_.size() < kPlaces);
    free_flights_.push_back(static_cast<std::uint32_t>(flights_.size()));
    flights_.emplace_back();
  }
  const std::uint32_t place = free_flights_.back();
  free_flights_.pop_back();
  flights_[place] = std::move(flight);
  if (free_flights_.size() >= kAhead)
    fetch(&flights_[free_flights_[free_flights_.size() - kAhead]]);
  return serial_++ << kPlaceBits | place;
}

void Simulation::release(MessageId id) {
  flights_[id % kPlaces] = {};
  free_flights_.push_back(static_cast<std::uint32_t>(id % kPlaces));
}

void Simulation::offer(NodeId from, NodeId to, Payload payload) {
  const std::uint64_t bytes = payload.bytes->size();
  count(mail_[from].offered, bytes, payload.value_bytes);
  const MessageId id = board({.from = from,
                              .to = to,
                              .payload = std::move(payload),
                              .sent_at = now_,
                              .sender_age = nodes_[from]->age()});
  network_->offer(now_, {.id = id, .from = from, .to = to, .bytes = bytes});
}

MessageId Simulation::copy_flight(MessageId id) {
  const Flight original = flight(id);
  count(mail_[original.from].offered, original.payload.bytes->size(), original.payload.value_bytes);
  return board(original);
}

void Simulation::land(MessageId id, std::vector<NodeEvent>& batch) {
  Flight& landing = flight(id);
  const NodeId to = landing.to;
  if (!lives_[to].up) return drop(id, landing.payload.bytes->size());
  count(mail_[landing.from].delivered, landing.payload.bytes->size(), landing.payload.value_bytes);
  Mail& inbox = mail_[to];
  ++inbox.heard;
  // A sender that came back from a crash may be younger than what it sent before.
  const std::uint64_t age = ages_[landing.from];
  inbox.staleness += age - std::min(age, landing.sender_age);
  inbox.delay += now_ - landing.sent_at;
  batch.push_back({to, Arrived{landing.from, std::move(landing.payload)}});
  release(id);
}

// What is on its way is known before it lands: each thing is fetched a little after what points to
// it.
void Simulation::fetch_ahead() {
  if (const auto third = network_->arriving_after(3 * kAhead)) fetch(&flights_[*third % kPlaces]);
  if (const auto second = network_->arriving_after(2 * kAhead)) {
    const Flight& coming = flight(*second);
    fetch(coming.payload.bytes.get());
    fetch(&mail_[coming.from].delivered);
    fetch(&mail_[coming.to].heard);
    const auto* node = reinterpret_cast<const std::byte*>(nodes_[coming.to].get());
    for (std::size_t i = 0; i < sizeof(Node); i += kLine) fetch(node + i);
  }
  if (const auto first = network_->arriving_after(kAhead))
    fetch(flight(*first).payload.bytes->data());
}

void Simulation::drop(MessageId id, std::uint64_t bytes_sent) {
  const Flight& lost = flight(id);
  Mail& mail = mail_[lost.from];
  const std::uint64_t bytes = lost.payload.bytes->size();
  ++mail.dropped_messages;
  mail.dropped_bytes += bytes;
  if (bytes_sent < bytes)
    count(mail.taken_back, bytes - bytes_sent, values_in(lost.payload, bytes - bytes_sent));
  release(id);
}

void Simulation::withdraw_all(NodeId from) {
  outcomes_.clear();
  if (lives_[from].up)
    network_->withdraw(now_, from, outcomes_);
  else
    network_->cut_off(now_, from, outcomes_);
  for (const Outcome& outcome : outcomes_) {
    CHECK(!outcome.delivered);
    drop(outcome.id, outcome.bytes_sent);
  }
}

Traffic Simulation::sent(NodeId id) const {
  const Mail& mail = mail_[id];
  const std::uint64_t queued = network_->queued_bytes(id, now_);
  Traffic sent{
      .messages = mail.offered.messages - mail.taken_back.messages - network_->queued(id, now_),
      .bytes = mail.offered.bytes - mail.taken_back.bytes,
      .value_bytes = mail.offered.value_bytes - mail.taken_back.value_bytes};
  if (queued == 0) return sent;
  // Of what still waits, values and the rest are taken to stand in the same proportion as in all.
  const double left = 1 - static_cast<double>(queued) / static_cast<double>(sent.bytes);
  sent.value_bytes = static_cast<std::uint64_t>(left * static_cast<double>(sent.value_bytes));
  sent.bytes -= queued;
  return sent;
}

Simulation::Ledger Simulation::ledger() const {
  Ledger ledger;
  for (const Mail& mail : mail_) {
    ledger.offered += mail.offered.bytes;
    ledger.delivered += mail.delivered.bytes;
    ledger.dropped += mail.dropped_bytes;
  }
  for (const Flight& flying : flights_)
    if (flying.payload.bytes) ledger.on_their_way += flying.payload.bytes->size();
  return ledger;
}

}  // namespace tessera
