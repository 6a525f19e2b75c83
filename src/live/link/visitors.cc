#include "live/link/visitors.h"

#include <utility>

namespace tessera {

Visitors::ByTurn& Visitors::line_of(const Visitor& visitor) {
  return visitor.key ? members_[*visitor.key] : silent_;
}

Visitors::Visitor& Visitors::find(int descriptor) {
  const auto [place, is_new] = visitors_.try_emplace(descriptor);
  if (is_new) {
    place->second.turn = ++turns_;
    silent_.emplace(place->second.turn, descriptor);
  }
  return place->second;
}

void Visitors::came(int descriptor) {
  find(descriptor);  // It may have been heard before it was announced.
}

void Visitors::spoke(int descriptor, std::size_t key) {
  Visitor& visitor = find(descriptor);
  visitor.spoke = true;
  if (visitor.key == key) return;
  const bool counted = line_of(visitor).erase(visitor.turn) > 0;
  visitor.key = key;
  if (counted) line_of(visitor).emplace(visitor.turn, descriptor);
}

bool Visitors::left(int descriptor) {
  const auto place = visitors_.find(descriptor);
  if (place == visitors_.end()) return false;
  const bool had_spoken = place->second.key.has_value();
  line_of(place->second).erase(place->second.turn);
  visitors_.erase(place);
  return had_spoken;
}

void Visitors::take_oldest(ByTurn& line, std::size_t most, std::vector<int>& out) {
  for (; line.size() > most; line.erase(line.begin())) out.push_back(line.begin()->second);
}

std::vector<int> Visitors::take_surplus() {
  std::vector<int> surplus;
  take_oldest(silent_, limits_.silent_max, surplus);
  for (auto& [key, line] : members_) take_oldest(line, limits_.member_max, surplus);
  return surplus;
}

std::vector<int> Visitors::take_all_of(std::size_t key) {
  std::vector<int> all;
  take_oldest(members_[key], 0, all);
  return all;
}

std::vector<int> Visitors::take_endless(const std::function<std::uint64_t(int)>& received) {
  std::vector<int> endless;
  for (auto& [descriptor, visitor] : visitors_) {
    const std::uint64_t bytes = received(descriptor);
    if (std::exchange(visitor.spoke, false))
      visitor.bytes = bytes;
    else if (bytes > visitor.bytes + limits_.frameless_bytes_max &&
             line_of(visitor).erase(visitor.turn) > 0)
      endless.push_back(descriptor);
  }
  return endless;
}

}  // namespace tessera
