#include "live/link/conduct.h"

#include <utility>

namespace tessera {

std::string_view Conduct::fault(const Counts& counts, const Limits& limits) {
  if (std::exchange(framed_, false)) received_ = counts.received;
  if (counts.received > received_ + limits.frameless_bytes_max) return "endless";
  if (counts.all_arrived) {
    // What adds up from the handshake, or from a ZeroMQ that frames otherwise, is forgotten.
    said_ = 0;
    arrived_ = counts.arrived;
  }
  if (said_ > counts.arrived - arrived_ + limits.unread_bytes_max) return "unread";
  return {};
}

std::string_view explain_conduct(std::string_view word) {
  return word == "unread" ? "it does not read what it is told" : "it sent a message without an end";
}

}  // namespace tessera
