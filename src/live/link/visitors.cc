#include "live/link/visitors.h"

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

void Visitors::spoke(int descriptor, std::size_t key, std::string_view route) {
  Visitor& visitor = find(descriptor);
  // Another connection has the descriptor now, where the former's end is not reported yet.
  if (visitor.route != route) {
    routes_.erase(visitor.route);
    visitor.route = route;
    visitor.conduct = {};
    routes_.insert_or_assign(visitor.route, descriptor);
  }
  visitor.conduct.frame_came();
  if (visitor.key == key) return;
  const bool counted = line_of(visitor).erase(visitor.turn) > 0;
  visitor.key = key;
  if (counted) line_of(visitor).emplace(visitor.turn, descriptor);
}

void Visitors::answered(std::string_view route, std::size_t bytes) {
  const auto found = routes_.find(route);
  if (found != routes_.end()) visitors_.at(found->second).conduct.frame_went(bytes);
}

bool Visitors::left(int descriptor) {
  const auto place = visitors_.find(descriptor);
  if (place == visitors_.end()) return false;
  const bool had_spoken = place->second.key.has_value();
  line_of(place->second).erase(place->second.turn);
  if (const auto route = routes_.find(place->second.route);
      route != routes_.end() && route->second == descriptor)
    routes_.erase(route);
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

std::vector<Visitors::Misbehaved> Visitors::take_misbehaved(
    const std::function<Conduct::Counts(int)>& counts) {
  std::vector<Misbehaved> misbehaved;
  for (auto& [descriptor, visitor] : visitors_) {
    const std::string_view word = visitor.conduct.fault(counts(descriptor), limits_.conduct);
    if (!word.empty() && line_of(visitor).erase(visitor.turn) > 0)
      misbehaved.push_back({descriptor, visitor.key, word});
  }
  return misbehaved;
}

}  // namespace tessera
