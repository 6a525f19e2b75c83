#include "live/peer_log.h"

#include <fmt/format.h>

#include <utility>

namespace tessera {
namespace {

constexpr std::uint32_t kLinesPerMinute = 10;

}  // namespace

LogLevel level_of(PeerCondition condition) {
  const bool wrong = condition == PeerCondition::kSilent || condition == PeerCondition::kLost ||
                     condition == PeerCondition::kRefused;
  return wrong ? LogLevel::kWarning : LogLevel::kInfo;
}

std::optional<std::string> PeerLog::line(const PeerState& peer, Instant now) {
  Minute& minute = minutes_.try_emplace(peer.id, Minute{.since = now}).first->second;
  if (peer.condition == PeerCondition::kIdle || peer.condition == PeerCondition::kConnecting) {
    minute.rested = minute.rested || peer.last_heard != Instant{};
    return std::nullopt;
  }
  const bool rested = std::exchange(minute.rested, false);
  if (rested && peer.alive() && peer.reason.empty()) return std::nullopt;
  if (now - minute.since >= std::chrono::minutes(1))
    minute = {.since = now, .left_out = minute.left_out};
  if (minute.said >= kLinesPerMinute) {
    ++minute.left_out;
    return std::nullopt;
  }
  ++minute.said;
  std::string text = fmt::format("{} is {}{}{}", peer.name, to_string(peer.condition),
                                 peer.reason.empty() ? "" : ": ", peer.reason);
  if (minute.left_out > 0)
    text += fmt::format(" ({} changes before this one were not told)", minute.left_out);
  minute.left_out = 0;
  return text;
}

}  // namespace tessera
