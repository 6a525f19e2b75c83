#include "report/network_watch.h"

#include <algorithm>

namespace tessera {
namespace {

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

NetworkFigures NetworkWatch::look(const Simulation& simulation) {
  NetworkFigures all;
  const double seconds = to_seconds(simulation.now() - at_);
  const double nodes = static_cast<double>(before_.size());
  double offered = 0, delivered = 0, heard = 0, staleness = 0, delay = 0;
  for (NodeId id = 0; id < before_.size(); ++id) {
    const MessageCounts& counts = simulation.counts(id);
    const std::uint64_t sent_bytes = simulation.sent(id).bytes;
    Before& before = before_[id];
    NodeFigures& own = figures_[id];
    const double own_heard = static_cast<double>(counts.heard - before.heard);
    const double own_staleness = static_cast<double>(counts.staleness - before.staleness);
    own.rounds = simulation.progress().rounds(id);
    own.bytes = static_cast<double>(sent_bytes);
    own.staleness = ratio(own_staleness, own_heard);
    own.queue = static_cast<double>(simulation.network().queued(id, simulation.now()));
    own.link_use = ratio(static_cast<double>(sent_bytes) - static_cast<double>(before.sent_bytes),
                         simulation.network().up_rate(id) * seconds);
    offered += static_cast<double>(counts.offered.messages - before.offered);
    delivered += static_cast<double>(counts.delivered.messages - before.delivered);
    heard += own_heard;
    staleness += own_staleness;
    delay += to_seconds(counts.delay - before.delay);
    all.rounds_min = id == 0 ? own.rounds : std::min(all.rounds_min, own.rounds);
    all.rounds_max = std::max(all.rounds_max, own.rounds);
    all.staleness_max = std::max(all.staleness_max, own.staleness);
    all.queue += own.queue / nodes;
    all.queue_max = std::max(all.queue_max, own.queue);
    all.link_use += own.link_use / nodes;
    all.link_use_max = std::max(all.link_use_max, own.link_use);
    before = {.sent_bytes = sent_bytes,
              .offered = counts.offered.messages,
              .delivered = counts.delivered.messages,
              .heard = counts.heard,
              .staleness = counts.staleness,
              .delay = counts.delay};
  }
  all.delivered_fraction = ratio(delivered, offered);
  all.staleness = ratio(staleness, heard);
  all.delay_seconds = ratio(delay, heard);
  at_ = simulation.now();
  return all;
}

void NetworkWatch::fields(Archive& archive) {
  archive(at_, before_);
  archive.require(is_plausible(at_), "the measurements were made at no moment");
  for (const Before& before : before_)
    archive.require(before.delay >= Duration::zero(), "the measurements have a negative delay");
  archive.require(before_.size() == figures_.size(),
                  "the measurements are of another number of nodes");
}

}  // namespace tessera
