#include "sim/flights.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/hash.h"

namespace tessera {
namespace {

// Places that will soon be given to new messages are asked for so many messages ahead.
constexpr std::size_t kPlacesAhead = 4;

void count(Traffic& traffic, const Payload& payload) {
  ++traffic.messages;
  traffic.bytes += payload.size();
  traffic.value_bytes += payload.value_bytes;
}

// The values' part of the last `bytes` of a message.
std::uint64_t values_in(const Payload& payload, std::uint64_t bytes) {
  const double fraction = static_cast<double>(bytes) / static_cast<double>(payload.size());
  return static_cast<std::uint64_t>(fraction * static_cast<double>(payload.value_bytes));
}

}  // namespace

void Flight::fields(Archive& archive) {
  archive(from, to, payload.value_bytes, sent_at, sender_age);
  archive.shared(payload.letter);
}

void MessageCounts::fields(Archive& archive) {
  archive(offered, taken_back, delivered, dropped_bytes, dropped_messages, heard, staleness, delay);
}

MessageId Flights::board(Flight flight) {
  count(counts_[flight.from].offered, flight.payload);
  if (free_.empty()) {
    CHECK(flights_.size() < kPlaces);
    free_.push_back(static_cast<std::uint32_t>(flights_.size()));
    flights_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  flights_[place] = std::move(flight);
  if (free_.size() >= kPlacesAhead) prefetch(flights_[free_[free_.size() - kPlacesAhead]]);
  return serial_++ << kPlaceBits | place;
}

MessageId Flights::copy(MessageId id) {
  return board(Flight(find(id)));
}

void Flights::release(MessageId id) {
  flights_[id % kPlaces] = {};
  free_.push_back(static_cast<std::uint32_t>(id % kPlaces));
}

Payload Flights::land(MessageId id, Instant now, std::uint64_t sender_age_now) {
  const Flight& landing = find(id);
  count(counts_[landing.from].delivered, landing.payload);
  MessageCounts& receiver = counts_[landing.to];
  ++receiver.heard;
  // A sender that came back from a crash may be younger than what it sent before.
  receiver.staleness += sender_age_now - std::min(sender_age_now, landing.sender_age);
  receiver.delay = later(Instant(receiver.delay), now - landing.sent_at).time_since_epoch();
  Payload payload = std::move(flights_[id % kPlaces].payload);
  release(id);
  return payload;
}

void Flights::drop(MessageId id, std::uint64_t bytes_sent) {
  const Flight& lost = find(id);
  MessageCounts& sender = counts_[lost.from];
  const std::uint64_t bytes = lost.payload.size();
  ++sender.dropped_messages;
  sender.dropped_bytes += bytes;
  if (bytes_sent < bytes) {
    const std::uint64_t unsent = bytes - bytes_sent;
    ++sender.taken_back.messages;
    sender.taken_back.bytes += unsent;
    sender.taken_back.value_bytes += values_in(lost.payload, unsent);
  }
  release(id);
}

Traffic Flights::sent(NodeId node, const Traffic& waiting) const {
  const Traffic& offered = counts_[node].offered;
  const Traffic& taken_back = counts_[node].taken_back;
  Traffic sent{.messages = offered.messages - taken_back.messages - waiting.messages,
               .bytes = offered.bytes - taken_back.bytes,
               .value_bytes = offered.value_bytes - taken_back.value_bytes};
  if (waiting.bytes == 0) return sent;
  // Of what still waits, values and the rest are taken to stand in the same proportion as in all.
  const double left = 1 - static_cast<double>(waiting.bytes) / static_cast<double>(sent.bytes);
  sent.value_bytes = static_cast<std::uint64_t>(left * static_cast<double>(sent.value_bytes));
  sent.bytes -= waiting.bytes;
  return sent;
}

Ledger Flights::ledger() const {
  Ledger ledger;
  for (const MessageCounts& counts : counts_) {
    ledger.offered += counts.offered.bytes;
    ledger.delivered += counts.delivered.bytes;
    ledger.dropped += counts.dropped_bytes;
  }
  for (const Flight& flying : flights_) ledger.on_their_way += flying.payload.size();
  return ledger;
}

bool Flights::holds(MessageId id) const {
  const std::uint64_t place = id % kPlaces;
  return place < flights_.size() && flights_[place].payload.size() > 0 && serial_of(id) < serial_;
}

void Flights::prefetch_counts(MessageId id) const {
  const Flight& coming = find(id);
  if (coming.payload.letter) prefetch(*coming.payload.letter);
  prefetch(counts_[coming.from].delivered);
  prefetch(counts_[coming.to].heard);
}

void Flights::prefetch_bytes(MessageId id) const {
  if (const Flight& coming = find(id); coming.payload.letter)
    prefetch_at(coming.payload.letter->bytes().data());
}

// To who writes them, for a while: a message lies with the one who holds its receiver. Many nodes
// have the same one, some of them here and some elsewhere: it becomes one letter.
void Flights::bring_messages(Holders& holders) {
  std::map<std::pair<NodeId, std::uint64_t>, std::shared_ptr<const Letter>> letters;
  for (Flight& flight : flights_) {
    if (flight.payload.size() == 0) continue;
    const bool here = flight.payload.letter != nullptr;
    Bytes bytes = holders.bring(flight.to, here ? flight.payload.letter->bytes() : Bytes());
    if (!here && bytes.empty()) continue;
    auto& letter =
        letters[{flight.from, hash_bytes(here ? flight.payload.letter->bytes() : bytes)}];
    if (!letter)
      letter = here ? flight.payload.letter : std::make_shared<const Letter>(std::move(bytes));
    flight.payload.letter = letter;
  }
}

void Flights::let_go_of_others(const Holders& holders) {
  for (Flight& flight : flights_) {
    if (flight.payload.size() == 0 || holders.hold(flight.to)) continue;
    flight.payload.elsewhere = flight.payload.size();
    flight.payload.letter = nullptr;
  }
}

void Flights::fields(Archive& archive) {
  Holders* const holders = archive.holders();
  if (holders && !archive.loading()) bring_messages(*holders);
  archive(serial_, flights_, free_);
  if (holders) let_go_of_others(*holders);
  for (MessageCounts& counts : counts_) archive(counts);
  if (!archive.loading()) return;
  if (const char* why = fault()) archive.refuse(why);
}

// What cannot be, in words, of flights that were loaded.
const char* Flights::fault() const {
  if (flights_.size() > kPlaces || serial_ >= 1ull << (64 - kPlaceBits))
    return "it holds more messages than a run can";
  for (const Flight& flight : flights_) {
    if (flight.payload.size() == 0) continue;
    if (flight.from >= counts_.size() || flight.to >= counts_.size())
      return "it holds a message of a node that does not exist";
    if (flight.payload.value_bytes > flight.payload.size() || flight.sent_at < Instant{})
      return "it holds a message that cannot be";
  }
  std::vector<bool> free(flights_.size(), false);
  for (const std::uint32_t place : free_) {
    if (place >= flights_.size() || flights_[place].payload.size() > 0 || free[place])
      return "the messages on their way do not hold together";
    free[place] = true;
  }
  const auto taken = std::count_if(flights_.begin(), flights_.end(),
                                   [](const Flight& flight) { return flight.payload.size() > 0; });
  if (static_cast<std::size_t>(taken) + free_.size() != flights_.size())
    return "the messages on their way do not hold together";
  for (const MessageCounts& counts : counts_)
    if (counts.delay < Duration::zero() || counts.taken_back.bytes > counts.offered.bytes ||
        counts.taken_back.value_bytes > counts.offered.value_bytes)
      return "it counts more messages taken back than were sent";
  return ledger().balances() ? nullptr
                             : "the bytes sent are not those delivered, lost or on their way";
}

}  // namespace tessera
