// Worked examples of each network, and of what all have in common.
#include "sim/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "base/files.h"
#include "base/random.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kNodes = 10;

std::string source_file(std::string_view path) {
  return std::string(TESSERA_SOURCE_DIR) + "/" + std::string(path);
}

// A file that lasts as long as the test program.
std::string table_file(std::string_view name, std::string_view text) {
  const std::string path = testing::TempDir() + "network_test_" + std::string(name) + ".csv";
  EXPECT_TRUE(write_file(path, bytes_of(text)).ok());
  return path;
}

std::unique_ptr<Network> network_of(std::string_view spec, std::uint32_t nodes = kNodes) {
  return make_network(spec, {.nodes = nodes, .random = Random(5)});
}

std::vector<Receipt> advance(Network& network, Instant now) {
  std::vector<Receipt> receipts;
  network.advance(now, receipts);
  return receipts;
}

// Runs a network on its own until nothing will happen any more: when each message arrived.
std::map<MessageId, Instant> arrivals(Network& network) {
  std::map<MessageId, Instant> when;
  while (network.next() != kNever) {
    const Instant now = network.next();
    for (const Receipt& receipt : advance(network, now)) when[receipt.id] = now;
  }
  return when;
}

TEST(Ideal, DeliversAtOnce) {
  const auto network = network_of("ideal");
  network->offer(Instant(3s), {.id = 1, .from = 0, .to = 1, .bytes = 10});
  network->offer(Instant(3s), {.id = 2, .from = 2, .to = 1, .bytes = 10});
  EXPECT_EQ(network->next(), Instant(3s));
  EXPECT_EQ(advance(*network, Instant(3s)).size(), 2u);
  EXPECT_EQ(network->next(), kNever);
}

// 1 MB/s, latency 5 ms. Node 0 sends 1,000 bytes to 1 and then 2,000 to 2; node 3 sends 1,000 to 1.
// One at a time and without crowding: 1 + 5, 1 + 2 + 5, and 1 + 5 ms.
TEST(Fifo, SendsOneAfterTheOther) {
  const auto network = network_of("fifo:up=1MB/s,latency=5ms");
  network->offer(Instant{}, {.id = 0, .from = 0, .to = 1, .bytes = 1000});
  network->offer(Instant{}, {.id = 1, .from = 0, .to = 2, .bytes = 2000});
  network->offer(Instant{}, {.id = 2, .from = 3, .to = 1, .bytes = 1000});
  EXPECT_EQ(network->queued(0, Instant{}), 2u);
  EXPECT_EQ(network->queued_bytes(0, Instant(500us)), 2500u);
  EXPECT_EQ(arrivals(*network), (std::map<MessageId, Instant>{
                                    {0, Instant(6ms)}, {1, Instant(8ms)}, {2, Instant(6ms)}}));
}

// The receiver's down-link counts where it is the slower one: 1,000 bytes at 0.5 MB/s.
TEST(Fifo, IsNoFasterThanTheReceiver) {
  const auto network = network_of("fifo:up=1MB/s,down=500kB/s,latency=0");
  network->offer(Instant{}, {.id = 0, .from = 0, .to = 1, .bytes = 1000});
  EXPECT_EQ(arrivals(*network).at(0), Instant(2ms));
}

// The same three messages as above, shared: until 2 ms nodes 0 and 3 send 1,000 bytes to node 1 at
// 0.5 MB/s each, while node 0 sends to node 2 at the other half of its up-link: 1,000 of 2,000.
// Then that one has the link to itself: 1 ms more.
TEST(Links, SharesBothEnds) {
  const auto network = network_of("links:up=1MB/s,latency=5ms");
  network->offer(Instant{}, {.id = 0, .from = 0, .to = 1, .bytes = 1000});
  network->offer(Instant{}, {.id = 1, .from = 0, .to = 2, .bytes = 2000});
  network->offer(Instant{}, {.id = 2, .from = 3, .to = 1, .bytes = 1000});
  EXPECT_EQ(arrivals(*network), (std::map<MessageId, Instant>{
                                    {0, Instant(7ms)}, {1, Instant(8ms)}, {2, Instant(7ms)}}));
}

// Two messages to one node go one after the other, and the second waits although the link would
// hold it; a third, to another node, does not wait for them.
TEST(Links, KeepsTheOrderWithinAPair) {
  const auto network = network_of("links:up=2MB/s,down=1MB/s,latency=0");
  for (const auto& [id, to] : {std::pair(0u, 1u), {1u, 1u}, {2u, 2u}})
    network->offer(Instant{}, {.id = id, .from = 0, .to = to, .bytes = 1000});
  EXPECT_EQ(arrivals(*network), (std::map<MessageId, Instant>{
                                    {0, Instant(1ms)}, {1, Instant(2ms)}, {2, Instant(1ms)}}));
}

// With parallel=1 a sender is as orderly as under fifo, but receivers can be crowded.
TEST(Links, SendsNoMoreThanParallelAtATime) {
  const auto network = network_of("links:up=1MB/s,latency=0,parallel=1");
  for (MessageId id = 0; id < 3; ++id)
    network->offer(Instant{},
                   {.id = id, .from = 0, .to = static_cast<NodeId>(3 - id), .bytes = 1000});
  EXPECT_EQ(arrivals(*network), (std::map<MessageId, Instant>{
                                    {0, Instant(1ms)}, {1, Instant(2ms)}, {2, Instant(3ms)}}));
}

// Three messages of 1,000 bytes at 1 MB/s, from node 0 at 0, as they are after 1.4 ms.
std::unique_ptr<Network> one_sent_one_begun_one_waiting(std::string_view spec) {
  auto network = network_of(spec);
  for (MessageId id = 0; id < 3; ++id)
    network->offer(Instant{},
                   {.id = id, .from = 0, .to = static_cast<NodeId>(1 + id), .bytes = 1000});
  std::vector<Receipt> receipts;
  while (network->next() <= Instant(1400us)) network->advance(network->next(), receipts);
  EXPECT_TRUE(receipts.empty());
  return network;
}

// 1,000 bytes at 1 MB/s, taken back after 0.4 ms: 400 are lost. One queued behind loses nothing,
// and one that has left arrives.
TEST(Withdrawing, CountsWhatWasSentInVain) {
  for (const char* spec : {"fifo:up=1MB/s,latency=9ms", "links:up=1MB/s,latency=9ms,parallel=1"}) {
    const auto network = one_sent_one_begun_one_waiting(spec);
    std::vector<Receipt> receipts;
    network->withdraw(Instant(1400us), 0, receipts);
    ASSERT_EQ(receipts.size(), 2u) << spec;
    EXPECT_EQ(receipts[0].id, 1u);
    EXPECT_FALSE(receipts[0].delivered);
    EXPECT_EQ(receipts[0].bytes_sent, 400u);
    EXPECT_EQ(receipts[1].bytes_sent, 0u);
    EXPECT_EQ(network->queued(0, Instant(1400us)), 0u);
    EXPECT_EQ(arrivals(*network), (std::map<MessageId, Instant>{{0, Instant(10ms)}}));
  }
}

// The same where what was begun goes through: it leaves at 2 ms. A node that is no more finishes
// nothing.
TEST(Withdrawing, LetsWhatWasBegunGoThroughWhereAsked) {
  for (const char* spec : {"fifo:up=1MB/s,latency=9ms,half_sent=finished",
                           "links:up=1MB/s,latency=9ms,parallel=1,half_sent=finished"})
    for (const bool crashed : {false, true}) {
      const auto network = one_sent_one_begun_one_waiting(spec);
      std::vector<Receipt> receipts;
      crashed ? network->cut_off(Instant(1400us), 0, receipts)
              : network->withdraw(Instant(1400us), 0, receipts);
      EXPECT_EQ(receipts.size(), crashed ? 2u : 1u) << spec;
      EXPECT_EQ(receipts.back().id, 2u);
      EXPECT_EQ(network->queued(0, Instant(1400us)), crashed ? 0u : 1u);
      EXPECT_EQ(network->queued_bytes(0, Instant(1400us)), crashed ? 0u : 600u);
      network->offer(Instant(1400us), {.id = 3, .from = 0, .to = 1, .bytes = 1000});
      const std::map<MessageId, Instant> rest =
          crashed ? std::map<MessageId, Instant>{{0, Instant(10ms)}, {3, Instant(11400us)}}
                  : std::map<MessageId, Instant>{
                        {0, Instant(10ms)}, {1, Instant(11ms)}, {3, Instant(12ms)}};
      EXPECT_EQ(arrivals(*network), rest) << spec;
    }
}

// The ten regions over 60 nodes: six each, Cape Town first. Nodes 0 and 59 are in Cape Town and
// Oregon (36 Mbit/s), 0 and 1 both in Cape Town (1 Gbit/s); latency 1 ms.
TEST(Matrix, DealsNodesToPlacesInBlocks) {
  const std::string spec = "matrix:file=" + source_file("experiments/regions10.csv");
  const auto network = network_of(spec, 60);
  network->offer(Instant{}, {.id = 0, .from = 0, .to = 59, .bytes = 36'000});
  network->offer(Instant{}, {.id = 1, .from = 0, .to = 1, .bytes = 1'000'000});
  EXPECT_EQ(arrivals(*network),
            (std::map<MessageId, Instant>{{0, Instant(8ms + 1ms)}, {1, Instant(8ms + 1ms)}}));
  // With an up-link of its own, node 0 shares 9 MB/s: the distant one gets 4.5, its whole path.
  const auto capped = network_of(spec + ",up=72Mbit/s", 60);
  capped->offer(Instant{}, {.id = 0, .from = 0, .to = 59, .bytes = 36'000});
  capped->offer(Instant{}, {.id = 1, .from = 0, .to = 1, .bytes = 36'000});
  EXPECT_EQ(arrivals(*capped).at(1), Instant(9ms));
}

// Half of 1,000 bytes have left at 1 MB/s when the rate halves: 1 ms more. A node that is away from
// 0.2 to 1.2 ms carries nothing meanwhile, up or down.
TEST(Traces, ChangeRatesInMidTransfer) {
  const std::string trace =
      table_file("midway", "time,node,up,on\n500us,0,500kB/s,\n200us,1,,no\n1200us,1,,yes\n");
  EXPECT_THROW(network_of("fifo:trace=" + trace), std::invalid_argument);
  const std::string sorted =
      table_file("sorted", "time,node,up,on\n200us,1,,no\n500us,0,500kB/s,\n1200us,1,,yes\n");
  for (const std::string spec :
       {"fifo:up=1MB/s,latency=0,trace=", "links:up=1MB/s,latency=0,trace="}) {
    const auto network = network_of(spec + sorted);
    network->offer(Instant{}, {.id = 0, .from = 0, .to = 2, .bytes = 1000});
    network->offer(Instant{}, {.id = 1, .from = 1, .to = 3, .bytes = 1000});
    network->offer(Instant{}, {.id = 2, .from = 4, .to = 1, .bytes = 1000});
    EXPECT_EQ(arrivals(*network),
              (std::map<MessageId, Instant>{
                  {0, Instant(1500us)}, {1, Instant(2000us)}, {2, Instant(2000us)}}))
        << spec;
  }
}

// ---- Stragglers --------------------------------------------------------------------------------

TEST(Stragglers, AreTheLowestIdsAndAboutAsSlowAsStated) {
  const auto network =
      make_network("fifo:up=60Mbit/s,stragglers=30,slowdown=5", {.nodes = 60, .random = Random(5)});
  double sum = 0, squares = 0;
  for (NodeId id = 0; id < 30; ++id) {
    const double mbit = network->up_rate(id) * 8e-6;
    sum += mbit;
    squares += mbit * mbit;
  }
  const double mean = sum / 30;
  EXPECT_NEAR(mean, 12, 0.6);
  EXPECT_NEAR(std::sqrt(squares / 30 - mean * mean), 1, 0.4);
  for (NodeId id = 30; id < 60; ++id) EXPECT_DOUBLE_EQ(network->up_rate(id), 60e6 / 8);
}

TEST(Stragglers, AreTheSameForTheSameSeedOnly) {
  const auto rate = [](std::uint64_t seed) {
    return make_network("links:stragglers=1", {.nodes = 2, .random = Random(seed)})->up_rate(0);
  };
  EXPECT_EQ(rate(1), rate(1));
  EXPECT_NE(rate(1), rate(2));
}

}  // namespace
}  // namespace tessera
