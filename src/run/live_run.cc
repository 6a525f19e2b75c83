#include "run/live_run.h"

#include <utility>

#include "run/live_insides.h"

namespace tessera {

LiveRun::LiveRun(LiveSettings settings, LiveParts parts)
    : insides_(std::make_unique<LiveInsides>(std::move(settings), std::move(parts))) {}

LiveRun::~LiveRun() = default;

RunEnd LiveRun::run(const std::string& command, const Made& made) {
  return insides_->run(command, made);
}

std::string LiveRun::shortfall() const {
  return insides_->shortfall();
}

void LiveRun::stop() {
  insides_->stop();
}

NodeStatus LiveRun::status() const {
  return insides_->status();
}

}  // namespace tessera
