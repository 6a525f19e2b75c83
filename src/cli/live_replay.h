// The half of `tessera replay` that needs live/.
#pragma once

#include <string>

namespace tessera {

// The exit code: 0 when every event led to the same bits as in the live run.
int replay_live_log(const std::string& file);

}  // namespace tessera
