// The network `links` beside SimGrid (simgrid.org), which solves max-min sharing with code that has
// nothing in common with ours. Hundreds of small stars with random rates, sizes and starting times:
// every transfer must end within 1% of SimGrid's time, with the default tolerance, and within a
// millionth with a tight one.
//
// SimGrid's model is CM02 without what it adds to fair sharing: no cross traffic, no TCP window,
// factors 1 for bandwidth and latency, and every rate computed anew at every event: with its lazy
// updating, SimGrid 3.32 disagrees with itself where transfers begin together. It has the latency
// before a transfer and we have it after; where all latencies are equal that is the same. A program
// of its own, since SimGrid brings its own kind of threads, which sanitizers do not follow.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/links.h"

namespace tessera {
namespace {

namespace s4u = simgrid::s4u;

struct Transfer {
  NodeId from = 0, to = 0;
  std::uint64_t bytes = 0;
  double start_s = 0;
};

struct Star {
  std::vector<double> up{}, down{};
  double latency_s = 0;
  std::vector<Transfer> transfers{};  // In the order of their starts; no pair twice.
};

Star random_star(Random random) {
  Star star;
  const auto nodes = static_cast<std::uint32_t>(2 + random.below(12));
  const bool even = random.below(3) == 0;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    star.up.push_back(even ? 1e6 : 1e6 * static_cast<double>(1 + random.below(10)));
    star.down.push_back(even ? 1e6 : 1e6 * static_cast<double>(1 + random.below(10)));
  }
  star.latency_s = 1e-3 * static_cast<double>(random.below(20));
  const bool together = random.below(3) == 0;
  double start_s = 0;
  const std::uint32_t pairs = nodes * (nodes - 1);
  const auto count = static_cast<std::uint32_t>(1 + random.below(std::min(pairs, 40u)));
  for (const std::uint32_t pair : random.sample(pairs, count)) {
    const NodeId from = pair / (nodes - 1);
    const NodeId to = (from + 1 + pair % (nodes - 1)) % nodes;
    star.transfers.push_back({from, to, 50'000 + random.below(500'000), start_s});
    // Whole microseconds: our clock and SimGrid's then mean the same instant.
    if (!together) start_s += 1e-6 * static_cast<double>(random.below(50'000));
  }
  return star;
}

std::vector<Star> stars() {
  std::vector<Star> all;
  for (std::uint64_t i = 0; i < 400; ++i) all.push_back(random_star(Random(1).fork("star", i)));
  return all;
}

using Ends = std::vector<std::vector<double>>;  // Seconds, by star and transfer.

std::string host_name(std::size_t star, std::size_t node) {
  return "s" + std::to_string(star) + "n" + std::to_string(node);
}

void build_hosts(s4u::NetZone* zone, const Star& star, std::size_t number) {
  for (std::size_t node = 0; node < star.up.size(); ++node) {
    const std::string name = host_name(number, node);
    const s4u::Host* host = zone->create_host(name, 1e9)->seal();
    const s4u::Link* up =
        zone->create_link(name + "up", star.up[node])->set_latency(star.latency_s)->seal();
    const s4u::Link* down = zone->create_link(name + "down", star.down[node])->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {s4u::LinkInRoute(up)}, false);
    zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(down)},
                    false);
  }
}

// One engine per process is all SimGrid allows, so the stars run side by side: they share nothing.
Ends simgrid_ends(const std::vector<Star>& all) {
  int argc = 1;
  std::string program = "simgrid_test";
  std::vector<char*> argv{program.data(), nullptr};
  s4u::Engine engine(&argc, argv.data());
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                              "network/bandwidth-factor:1", "network/latency-factor:1",
                              "network/weight-S:0", "network/optim:Full"})
    s4u::Engine::set_config(setting);
  s4u::NetZone* zone = s4u::create_star_zone("stars");
  for (std::size_t i = 0; i < all.size(); ++i) build_hosts(zone, all[i], i);
  zone->seal();

  Ends ends(all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    s4u::Actor::create("star" + std::to_string(i), engine.host_by_name(host_name(i, 0)),
                       [&star = all[i], &out = ends[i], i] {
                         std::vector<s4u::CommPtr> comms;
                         for (const Transfer& transfer : star.transfers) {
                           s4u::this_actor::sleep_until(transfer.start_s);
                           comms.push_back(s4u::Comm::sendto_async(
                               s4u::Host::by_name(host_name(i, transfer.from)),
                               s4u::Host::by_name(host_name(i, transfer.to)), transfer.bytes));
                         }
                         for (const s4u::CommPtr& comm : comms) {
                           comm->wait();
                           out.push_back(comm->get_finish_time());
                         }
                       });
  engine.run();
  return ends;
}

Instant instant_of(double seconds) {
  return Instant(Duration(std::llround(seconds * 1e9)));
}

std::vector<double> our_ends(const Star& star, std::string_view spec) {
  Options options(parse_spec(spec));
  const Duration latency = instant_of(star.latency_s).time_since_epoch();
  const auto network = make_shared_links(
      options, {.rates = NodeRates(star.up, star.down, {}),
                .path = [latency](NodeId, NodeId) { return PathTraits{.latency = latency}; }});
  std::vector<double> ends(star.transfers.size());
  std::vector<Receipt> receipts;
  const auto advance = [&](Instant until) {
    while (network->next() <= until && network->next() != kNever) {
      const Instant now = network->next();
      receipts.clear();
      network->advance(now, receipts);
      for (const Receipt& receipt : receipts) ends[receipt.id] = to_seconds(now - Instant{});
    }
  };
  for (std::size_t i = 0; i < star.transfers.size(); ++i) {
    const Transfer& transfer = star.transfers[i];
    const Instant start = instant_of(transfer.start_s);
    advance(start - Duration(1));
    network->offer(start,
                   {.id = i, .from = transfer.from, .to = transfer.to, .bytes = transfer.bytes});
  }
  advance(kNever);
  return ends;
}

double worst_difference(const std::vector<Star>& all, const Ends& theirs, std::string_view spec) {
  double worst = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<double> ours = our_ends(all[i], spec);
    for (std::size_t t = 0; t < ours.size(); ++t) {
      const double took = theirs[i][t] - all[i].transfers[t].start_s;
      worst = std::max(worst, std::abs(ours[t] - theirs[i][t]) / took);
    }
  }
  return worst;
}

TEST(Simgrid, TransfersEndWhenSimgridSaysTheyDo) {
  const std::vector<Star> all = stars();
  const Ends theirs = simgrid_ends(all);
  std::size_t transfers = 0;
  for (const Star& star : all) transfers += star.transfers.size();
  const double exact = worst_difference(all, theirs, "links:parallel=all,tolerance=0.000000001");
  const double usual = worst_difference(all, theirs, "links:parallel=all");
  const double loose = worst_difference(all, theirs, "links:parallel=all,tolerance=0.1");
  std::printf("%zu stars, %zu transfers: worst difference %.2e exactly, %.2e by default\n",
              all.size(), transfers, exact, usual);
  EXPECT_LT(exact, 1e-6);
  EXPECT_LT(usual, 0.01);
  EXPECT_GT(loose, exact);  // The tolerance does something.
}

}  // namespace
}  // namespace tessera
