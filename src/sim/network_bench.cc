#include "sim/network_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "base/stopwatch.h"
#include "sim/event_queue.h"
#include "sim/network.h"

namespace tessera {
namespace {

struct Count {
  std::uint64_t offered = 0, delivered = 0, dropped = 0;
  double seconds = 0;
};

// DivShare as the network sees it: every 0.75 s or so a node takes back what it has not sent and
// offers 60 fragments of about 36 kB to nodes drawn at random. Sizes differ by a few per cent and
// rounds by a tenth, so that hardly any two transfers end at the same instant: the hard case.
class Scatter {
 public:
  Scatter(std::string_view spec, std::uint32_t nodes, int rounds)
      : nodes_(nodes),
        rounds_left_(nodes, rounds),
        network_(make_network(spec, {.nodes = nodes, .random = Random(1)})) {
    for (NodeId node = 0; node < nodes; ++node) rounds_.push(Instant{} + some_time(0.1), node);
  }

  Count run() {
    const Stopwatch watch;
    while (true) {
      const Instant round = rounds_.empty() ? kNever : rounds_.next_at();
      const Instant now = std::min(network_->next(), round);
      if (now == kNever) break;
      if (network_->next() == now) {
        receipts_.clear();
        network_->advance(now, receipts_);
        count_.delivered += receipts_.size();
      } else {
        begin_round(rounds_.pop(), now);
      }
    }
    count_.seconds = watch.seconds();
    return count_;
  }

 private:
  Duration some_time(double seconds) {
    return Duration(static_cast<std::int64_t>(seconds * 1e9 * random_.uniform()));
  }

  void begin_round(NodeId node, Instant now) {
    receipts_.clear();
    network_->withdraw(now, node, receipts_);
    count_.dropped += receipts_.size();
    if (rounds_left_[node]-- == 0) return;
    for (int i = 0; i < 60; ++i) {
      const auto away = static_cast<NodeId>(1 + random_.below(nodes_ - 1));
      network_->offer(now, {.id = count_.offered++,
                            .from = node,
                            .to = (node + away) % nodes_,
                            .bytes = 35'000 + random_.below(2'000)});
    }
    rounds_.push(now + std::chrono::milliseconds(700) + some_time(0.1), node);
  }

  std::uint32_t nodes_;
  std::vector<int> rounds_left_;
  std::unique_ptr<Network> network_;
  EventQueue<NodeId> rounds_;
  Random random_{2};
  std::vector<Receipt> receipts_;
  Count count_;
};

// The best of three where that is quick: the time counted is short, and whatever else the machine
// does only adds to it.
double ns_per_message(Bench& bench, const std::string& spec, std::uint32_t nodes, int rounds) {
  double best = 1e18;
  Count count;
  const int turns = nodes > 1'000 ? 1 : 3;
  for (int turn = 0; turn < turns; ++turn) {
    count = Scatter(spec, nodes, rounds).run();
    bench.verify(count.offered == count.delivered + count.dropped, spec);
    best = std::min(best, count.seconds * 1e9 / static_cast<double>(count.delivered));
  }
  bench.say(fmt::format(
      "{:<62} {:>6} nodes {:>9.0f} ns {:>11.0f} messages/s {:>5.1f}% dropped", spec, nodes, best,
      1e9 / best, 100.0 * static_cast<double>(count.dropped) / static_cast<double>(count.offered)));
  return best;
}

}  // namespace

void bench_networks(Bench& bench) {
  bench.section("DivShare's messages through a network, per delivered message");
  const bool quick = bench.options().seconds_per_contender < 0.1;
  for (const std::string_view spec :
       {"ideal", "fifo", "links", "links:parallel=1", "links:parallel=all"})
    for (const std::uint32_t nodes : {100u, 1'000u, 10'000u}) {
      if (quick && nodes > 100) continue;
      const double ns = ns_per_message(bench, std::string(spec), nodes, nodes > 1'000 ? 1 : 3);
      if (nodes == 1'000 && spec == "fifo") bench.limit("a message under fifo", ns, 200, "ns");
      if (nodes == 1'000 && spec == "links") bench.limit("a message under links", ns, 5'000, "ns");
    }
  bench.section("what arrives of it: 60 nodes, half of them stragglers, 100 rounds");
  for (const std::string_view half_sent : {"lost", "finished"})
    for (const std::string_view network :
         {"fifo:", "links:parallel=1,", "links:parallel=2,", "links:parallel=4,",
          "links:parallel=8,", "links:parallel=16,", "links:parallel=all,"})
      (void)ns_per_message(
          bench, fmt::format("{}half_sent={},stragglers=30,slowdown=5", network, half_sent), 60,
          quick ? 3 : 100);
}

}  // namespace tessera
