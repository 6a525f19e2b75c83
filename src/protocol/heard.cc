#include "protocol/heard.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace tessera {

bool Heard::put(NodeId from, Round round, Told told) {
  return rounds_[round].emplace(from, std::move(told)).second;
}

std::size_t Heard::make_room(NodeId from, const Places& places) {
  const auto kept_max = static_cast<Round>(places.kept_max);
  const std::size_t contradicted = forget(from, places.told + kept_max, rounds_.size());
  const std::size_t kept = rounds_of(from);
  if (kept <= places.kept_max) return contradicted;
  return contradicted + forget(from, places.ours + 1, kept - places.kept_max);
}

std::size_t Heard::forget(NodeId from, Round first, std::size_t count_max) {
  std::size_t forgotten = 0;
  for (auto at = rounds_.lower_bound(first); at != rounds_.end() && forgotten < count_max;) {
    forgotten += at->second.erase(from);
    at = at->second.empty() ? rounds_.erase(at) : std::next(at);
  }
  return forgotten;
}

const Heard::BySender& Heard::of(Round round) const {
  static const BySender kNobody;
  const auto found = rounds_.find(round);
  return found == rounds_.end() ? kNobody : found->second;
}

bool Heard::has_after(NodeId from, Round round) const {
  return std::any_of(rounds_.upper_bound(round), rounds_.end(),
                     [from](const auto& later) { return later.second.count(from) > 0; });
}

std::size_t Heard::rounds_of(NodeId from) const {
  return static_cast<std::size_t>(
      std::count_if(rounds_.begin(), rounds_.end(),
                    [from](const auto& round) { return round.second.count(from) > 0; }));
}

std::optional<Round> Heard::reached_by_most(std::size_t voices) const {
  std::map<NodeId, Round> newest;
  for (const auto& [round, senders] : rounds_)
    for (const auto& [from, told] : senders) newest[from] = round;
  if (newest.size() <= voices / 2) return std::nullopt;
  std::vector<Round> reached;
  for (const auto& [from, round] : newest) reached.push_back(round);
  std::sort(reached.begin(), reached.end(), std::greater<>());
  return reached[voices / 2];
}

void Heard::sample_fields(Archive& archive) {
  for (auto& [round, senders] : rounds_)
    for (auto& [from, told] : senders) {
      archive(told.samples);
      archive.require(told.samples > 0, "a saved share is of a peer without samples");
    }
}

std::vector<const Share*> Heard::shares() const {
  std::vector<const Share*> all;
  for (const auto& [round, senders] : rounds_)
    for (const auto& [from, told] : senders) all.push_back(told.share.get());
  return all;
}

}  // namespace tessera
