#include "cli/live_nemesis.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>

#include "base/output.h"
#include "base/spec.h"

namespace tessera {
namespace {

enum class Files { kNone, kAnySize };

// A process that may write no file any longer than it is gets EFBIG, as from a full disk ENOSPC.
void limit_files(const Child& child, Files files) {
  rlimit limit{};
  if (::prlimit(child.pid, RLIMIT_FSIZE, nullptr, &limit) != 0) return;  // It has just ended.
  limit.rlim_cur = files == Files::kNone ? 0 : limit.rlim_max;
  ::prlimit(child.pid, RLIMIT_FSIZE, &limit, nullptr);
}

}  // namespace

Nemesis::Nemesis(std::string_view line) {
  if (line.empty()) return;
  Options options(parse_spec(fmt::format("nemesis:{}", line)));
  for_s_ = to_seconds(options.duration("for", std::chrono::minutes(2)));
  const Duration every = options.duration("every", std::chrono::seconds(1));
  every_s_ = to_seconds(every);
  next_at_ = to_seconds(options.duration("after", every));
  frozen_s_ = to_seconds(options.duration("frozen", std::chrono::seconds(3)));
  full_s_ = to_seconds(options.duration("full", Duration::zero()));
  absent_ = static_cast<std::uint32_t>(options.integer("absent", 0, between(0, 100)));
  random_ = Random(static_cast<std::uint64_t>(options.integer("seed", 1, at_least(0))));
  options.done();
}

void Nemesis::act(LiveCluster& cluster) {
  const double now = watch_.seconds();
  relieve(cluster, now);
  if (now >= for_s_ || now < next_at_) return;
  next_at_ = now + every_s_ * (0.5 + random_.uniform());
  strike(cluster.children()[random_.below(cluster.children().size())]);
}

void Nemesis::relieve(LiveCluster& cluster, double now) {
  const auto is_over = [&](std::map<std::string, double>& until, const Child& child) {
    const auto found = until.find(child.name);
    if (found == until.end() || (now < found->second && now < for_s_)) return false;
    until.erase(found);
    return child.pid > 0;
  };
  for (const Child& child : cluster.children()) {
    if (is_over(thaws_at_, child)) ::kill(child.pid, SIGCONT);
    if (is_over(has_room_at_, child)) limit_files(child, Files::kAnySize);
  }
}

void Nemesis::strike(Child& child) {
  const std::uint64_t how = random_.below(full_s_ > 0 ? 4 : 3);
  if (child.pid == 0) return;
  if (how == 0) {
    ::kill(child.pid, SIGSTOP);
    thaws_at_[child.name] = watch_.seconds() + frozen_s_ * 2 * random_.uniform();
    ++frozen_;
  } else if (how == 3) {
    limit_files(child, Files::kNone);
    has_room_at_[child.name] = watch_.seconds() + full_s_ * 2 * random_.uniform();
    ++filled_;
  } else {
    // Killed in the middle of whatever it does, frozen or not.
    ::kill(child.pid, SIGKILL);
    ++killed_;
  }
}

void Nemesis::report() const {
  if (for_s_ > 0)
    print_out("nemesis: {} times killed, {} times frozen, {} times without a disk, in {:.0f} s\n",
              killed_, frozen_, filled_, for_s_);
}

}  // namespace tessera
