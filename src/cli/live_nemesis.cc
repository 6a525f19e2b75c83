#include "cli/live_nemesis.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>

#include "base/output.h"
#include "base/spec.h"

namespace tessera {

Nemesis::Nemesis(std::string_view line) {
  if (line.empty()) return;
  Options options(parse_spec(fmt::format("nemesis:{}", line)));
  for_s_ = to_seconds(options.duration("for", std::chrono::minutes(2)));
  every_s_ = to_seconds(options.duration("every", std::chrono::seconds(1)));
  frozen_s_ = to_seconds(options.duration("frozen", std::chrono::seconds(3)));
  random_ = Random(static_cast<std::uint64_t>(options.integer("seed", 1, at_least(0))));
  options.done();
  next_at_ = every_s_;
}

void Nemesis::act(Cluster& cluster) {
  const double now = watch_.seconds();
  for (Child& child : cluster.children()) {
    const auto frozen = thaws_at_.find(child.name);
    if (frozen == thaws_at_.end() || (now < frozen->second && now < for_s_)) continue;
    if (child.pid > 0) ::kill(child.pid, SIGCONT);
    thaws_at_.erase(frozen);
  }
  if (now >= for_s_ || now < next_at_) return;
  next_at_ = now + every_s_ * (0.5 + random_.uniform());
  strike(cluster.children()[random_.below(cluster.children().size())]);
}

void Nemesis::strike(Child& child) {
  const std::uint64_t how = random_.below(3);
  if (child.pid == 0) return;
  if (how == 0) {
    ::kill(child.pid, SIGSTOP);
    thaws_at_[child.name] = watch_.seconds() + frozen_s_ * 2 * random_.uniform();
    ++frozen_;
  } else {
    // Killed in the middle of whatever it does, frozen or not.
    ::kill(child.pid, SIGKILL);
    ++killed_;
  }
}

void Nemesis::report() const {
  if (for_s_ > 0)
    print_out("nemesis: {} times killed, {} times frozen, in {:.0f} s\n", killed_, frozen_, for_s_);
}

}  // namespace tessera
