#include "live/link/options.h"

#include <fmt/format.h>

#include <stdexcept>

#include "live/link/frame.h"

namespace tessera {

void refuse_impossible(const TransportOptions& options) {
  if (options.chunk_bytes_max < 1024 || options.chunk_bytes_max > kChunkBytesMax)
    throw std::invalid_argument(fmt::format("chunk_bytes_max = {}: between 1 KiB and 1 MiB will do",
                                            options.chunk_bytes_max));
  const HeartbeatOptions& heartbeat = options.heartbeat;
  if (heartbeat.interval <= Duration(0) || heartbeat.silence_min <= Duration(0) ||
      heartbeat.silence_max < heartbeat.silence_min)
    throw std::invalid_argument(
        "heartbeats need an interval above zero, and "
        "silence a minimum above zero and no higher "
        "than its maximum");
  if (options.retry.pause_min <= Duration(0))
    throw std::invalid_argument("retry: a pause above zero is needed");
}

}  // namespace tessera
