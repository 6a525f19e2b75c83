#include "live/peer_log.h"

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr std::uint32_t kLinesPerMinute = 10;

}  // namespace

std::optional<std::string> PeerLog::line(const PeerState& peer, Instant now) {
  Minute& minute = minutes_.try_emplace(peer.id, Minute{.since = now}).first->second;
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
