#include "live/run_clock.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/files.h"
#include "base/hash.h"

namespace tessera {
namespace {

double system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Duration from_seconds(double seconds) {
  return Duration(static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace

MachineMoment machine_now() {
  timespec since{};
  ::clock_gettime(CLOCK_BOOTTIME, &since);
  const Result<std::string> boot = read_text_file("/proc/sys/kernel/random/boot_id");
  return {.boot = boot.ok() ? hash_bytes(bytes_of(*boot)) : 0,
          .since = std::chrono::seconds(since.tv_sec) + std::chrono::nanoseconds(since.tv_nsec)};
}

RunClock::RunClock(double began_at, std::function<MachineMoment()> machine)
    : machine_(std::move(machine)), began_at_(began_at) {}

Duration RunClock::age_at_start() const {
  if (began_at_ > 0) return std::max(Duration::zero(), from_seconds(system_seconds() - began_at_));
  const Duration saved = saved_.age.time_since_epoch();
  const MachineMoment machine = machine_();
  if (machine.boot == 0 || machine.boot != saved_.at.boot || machine.since < saved_.at.since)
    return saved;
  return saved + (machine.since - saved_.at.since);
}

void RunClock::start() {
  offset_ = age_at_start() - clock_.now().time_since_epoch();
}

bool RunClock::take_wake_up() {
  if (wake_ups_.empty() || wake_ups_.top() > now()) return false;
  wake_ups_.pop();
  return true;
}

Duration RunClock::until_wake_up(Duration at_most) const {
  if (wake_ups_.empty()) return at_most;
  return std::clamp(wake_ups_.top() - now(), Duration::zero(), at_most);
}

void RunClock::fields(Archive& archive) {
  Saved saved = {.age = now(), .at = machine_()};
  archive(saved.age, saved.at.boot, saved.at.since);
  if (!archive.loading()) return;
  archive.require(
      saved.age >= Instant{} && is_plausible(saved.age) && is_plausible(Instant(saved.at.since)),
      "how long the run has lasted makes no sense");
  saved_ = saved;
}

}  // namespace tessera
