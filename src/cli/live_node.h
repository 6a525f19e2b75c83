// One live node, from its settings to its records.
#pragma once

#include "cli/live_settings.h"
#include "live/runtime.h"

namespace tessera {

// Runs until the node has finished, or until SIGTERM or SIGINT. What is left in its folder: a
// run's records (config.toml, metrics.jsonl, checkpoint/), and once it has finished summary.json
// and model.bin, the final model as it lies in memory.
RunEnd run_live_node(const LiveSettings& settings, const std::string& command);

}  // namespace tessera
