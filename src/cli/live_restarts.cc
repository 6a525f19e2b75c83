#include "cli/live_restarts.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "base/output.h"
#include "cli/child_process.h"
#include "cli/command.h"

namespace tessera {
namespace {

constexpr int kFailedStarts = 5;  // In a row, until a node is given up.
constexpr double kFirstPauseSeconds = 0.2, kLongestPauseSeconds = 10;

// A wrong setting ends every start alike; anything else may go better the next time.
bool worth_restarting(const Child& child) {
  return *child.ended != 2 && *child.ended != 127;
}

// From outside, and no fault of the node: it may go on at once.
bool was_killed(const Child& child) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGHUP})
    if (*child.ended == 128 + signal) return true;
  return false;
}

std::string how_it_ended(const Child& child) {
  const std::string how = *child.ended > 128 ? fmt::format("signal {}", *child.ended - 128)
                                             : fmt::format("exit code {}", *child.ended);
  return fmt::format("{} ended with {} ({}): {}", child.name, how, child.log.string(),
                     was_killed(child) ? "killed" : last_line_of(child.log));
}

}  // namespace

void Restarts::take(LiveCluster& cluster, Child& child) {
  if (*child.ended == 0 || *child.ended == kWorkNotDone) return;
  const std::string why = how_it_ended(child);
  if (child.hostile && !was_killed(child))
    return print_err("{}; it is hostile, and the others go on\n", why);
  if (!allowed_ || !worth_restarting(child)) throw std::runtime_error(why);
  const double pause = was_killed(child) ? 0 : pause_after_failure(child);
  if (!quiet_) print_err("{}; starting it again\n", why);
  if (pause == 0) return cluster.start(child);
  start_at_[child.id] = watch_.seconds() + pause;
}

void Restarts::start_those_due(LiveCluster& cluster) {
  for (Child& child : cluster.children()) {
    const auto due = start_at_.find(child.id);
    if (due == start_at_.end() || watch_.seconds() < due->second) continue;
    start_at_.erase(due);
    cluster.start(child);
  }
}

double Restarts::pause_after_failure(const Child& child) {
  Failures& failures = failures_[child.id];
  const std::optional<Round> saved = saved_round(child);
  if (saved > failures.saved) failures = {.in_a_row = 0, .saved = saved};
  if (++failures.in_a_row >= kFailedStarts)
    throw std::runtime_error(fmt::format("given up after {} starts that saved no new round: {}",
                                         failures.in_a_row, how_it_ended(child)));
  return std::min(kLongestPauseSeconds, kFirstPauseSeconds * (1 << (failures.in_a_row - 1)));
}

}  // namespace tessera
