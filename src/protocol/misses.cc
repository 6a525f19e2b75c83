#include "protocol/misses.h"

#include <algorithm>

namespace tessera {

bool Misses::waited_for(NodeId peer, Round round) const {
  const auto found = misses_.find(peer);
  return found == misses_.end() || round >= found->second.again;
}

bool Misses::add(NodeId peer, Round round, Instant told) {
  if (!waited_for(peer, round)) return false;
  const auto [miss, is_first] = misses_.try_emplace(peer);
  const Round pause = miss->second.pause;
  miss->second = {.round = round, .told = told};
  if (!is_first) miss->second.pause = std::clamp<Round>(2 * pause, 1, kPauseMax);
  return true;
}

std::optional<Instant> Misses::late(NodeId peer, Round round, Round now) {
  const auto found = misses_.find(peer);
  if (found == misses_.end()) return std::nullopt;
  Miss& miss = found->second;
  if (round < miss.round || miss.again != kNotAgain) return std::nullopt;
  miss.again = now + miss.pause;
  return round == miss.round ? std::optional(miss.told) : std::nullopt;
}

}  // namespace tessera
