// What every network of the table must show, and worked examples of each.
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

std::string trace_file() {
  return table_file("trace",
                    "time,node,up,down,on\n0s,0,1MB/s,,\n20ms,all,500kB/s,,\n30ms,3,,,no\n"
                    "45ms,2,8MB/s,100kB/s,\n70ms,3,,,yes\n90ms,all,5MB/s,5MB/s,\n");
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

// ---- Worked examples ---------------------------------------------------------------------------

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
  EXPECT_EQ(stragglers_of("fifo:up=60Mbit/s,stragglers=3,slowdown=5", 60),
            (std::vector<NodeId>{0, 1, 2}));
  EXPECT_TRUE(stragglers_of("ideal", 60).empty());
}

TEST(Stragglers, AreTheSameForTheSameSeedOnly) {
  const auto rate = [](std::uint64_t seed) {
    return make_network("links:stragglers=1", {.nodes = 2, .random = Random(seed)})->up_rate(0);
  };
  EXPECT_EQ(rate(1), rate(1));
  EXPECT_NE(rate(1), rate(2));
}

// ---- What every network must show --------------------------------------------------------------

std::vector<std::string> every_network() {
  std::vector<std::string> specs;
  for (const NetworkKind& kind : networks())
    specs.push_back(
        std::string(kind.name) +
        (kind.name == "matrix" ? ":file=" + source_file("experiments/regions10.csv") : ""));
  const std::string matrix = "matrix:file=" + source_file("experiments/regions10.csv");
  for (const std::string spec :
       {"fifo:up=1MB/s,stragglers=4", "links:up=1MB/s,parallel=all,stragglers=4,slow=up",
        "links:up=1MB/s,parallel=1,latency=0", "links:up=2MB/s,parallel=3,tolerance=0.000001",
        "fifo:up=1MB/s,half_sent=finished", "links:up=1MB/s,stragglers=4,half_sent=finished"})
    specs.push_back(spec);
  specs.push_back(matrix + ",up=2MB/s,parallel=2");
  for (const std::string spec : {"fifo:trace=", "links:trace="})
    specs.push_back(spec + trace_file());
  return specs;
}

// Random offers, withdrawals and steps of the clock; remembers what became of every message.
class Rehearsal {
 public:
  Rehearsal(std::string_view spec, std::uint64_t seed)
      : network(network_of(spec)),
        finishes_(spec.find("half_sent=finished") != spec.npos),
        random_(seed) {}

  void step() {
    const Instant next = network->next();
    ASSERT_GE(next, now_);
    const Instant pause = now_ + Duration(static_cast<std::int64_t>(random_.below(2'000'000)));
    if (next != kNever && next <= pause) {
      now_ = next;
      record([&](auto& receipts) { network->advance(now_, receipts); });
    } else {
      now_ = pause;
      act();
    }
  }

  void finish() {
    while (network->next() != kNever) {
      ASSERT_GE(network->next(), now_);
      now_ = network->next();
      record([&](auto& receipts) { network->advance(now_, receipts); });
    }
  }

  // What was offered was delivered, was dropped, or is still there; no more of that is in queues
  // than is still there.
  void expect_balance() const {
    std::size_t queued = 0;
    std::uint64_t queued_bytes = 0;
    for (NodeId node = 0; node < kNodes; ++node) {
      queued += network->queued(node, now_);
      queued_bytes += network->queued_bytes(node, now_);
    }
    std::uint64_t open_bytes = 0;
    for (const auto& entry : open_) open_bytes += entry.second;
    ASSERT_LE(queued, open_.size());
    ASSERT_LE(queued_bytes, open_bytes);
    ASSERT_EQ(offered_bytes, delivered_bytes + dropped_bytes + open_bytes);
  }

  const std::map<MessageId, std::uint64_t>& open() const { return open_; }
  Instant now() const { return now_; }
  std::vector<Receipt> told{};
  std::vector<Instant> told_at{};
  std::uint64_t offered_bytes = 0, delivered_bytes = 0, dropped_bytes = 0;
  std::unique_ptr<Network> network;

 private:
  template <typename Call>
  void record(Call call) {
    std::vector<Receipt> receipts;
    call(receipts);
    for (std::size_t i = 0; i < receipts.size(); ++i) {
      const Receipt& receipt = receipts[i];
      ASSERT_TRUE(i == 0 || receipts[i - 1].id < receipt.id);
      ASSERT_EQ(open_.count(receipt.id), 1u) << "told twice";
      const std::uint64_t bytes = open_[receipt.id];
      ASSERT_LE(receipt.bytes_sent, bytes);
      ASSERT_TRUE(!receipt.delivered || receipt.bytes_sent == bytes);
      (receipt.delivered ? delivered_bytes : dropped_bytes) +=
          receipt.delivered ? receipt.bytes_sent : bytes;
      open_.erase(receipt.id);
      told.push_back(receipt);
      told_at.push_back(now_);
    }
  }

  // What is taken back is what was queued and is no more, message for message and byte for byte.
  void take_back(NodeId from, bool crashed) {
    if (network->next() <= now_) record([&](auto& receipts) { network->advance(now_, receipts); });
    const std::size_t queued = network->queued(from, now_), before = told.size();
    const std::uint64_t queued_bytes = network->queued_bytes(from, now_);
    const std::uint64_t dropped_before = dropped_bytes;
    record([&](auto& receipts) {
      crashed ? network->cut_off(now_, from, receipts) : network->withdraw(now_, from, receipts);
    });
    if (crashed || !finishes_) {
      ASSERT_EQ(network->queued(from, now_), 0u);
      ASSERT_EQ(network->queued_bytes(from, now_), 0u);
    }
    ASSERT_EQ(told.size() - before, queued - network->queued(from, now_));
    std::uint64_t in_vain = 0;
    for (std::size_t i = before; i < told.size(); ++i) in_vain += told[i].bytes_sent;
    ASSERT_EQ(dropped_bytes - dropped_before - in_vain,
              queued_bytes - network->queued_bytes(from, now_));
  }

  void act() {
    const auto from = static_cast<NodeId>(random_.below(kNodes));
    if (random_.below(6) == 0) {
      take_back(from, random_.below(4) == 0);
      return;
    }
    for (std::uint64_t left = 1 + random_.below(8); left > 0; --left) {
      const auto to = static_cast<NodeId>((from + 1 + random_.below(kNodes - 1)) % kNodes);
      const std::uint64_t bytes = random_.below(5) == 0 ? 0 : random_.below(20'000);
      open_[next_id_] = bytes;
      offered_bytes += bytes;
      network->offer(now_, {.id = next_id_++, .from = from, .to = to, .bytes = bytes});
    }
  }

  bool finishes_;
  Random random_;
  Instant now_{};
  MessageId next_id_ = 0;
  std::map<MessageId, std::uint64_t> open_;  // Offered and not yet heard of again.
};

class EveryNetwork : public testing::TestWithParam<std::string> {};

TEST_P(EveryNetwork, LosesNothingAndInventsNothing) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rehearsal rehearsal(GetParam(), seed);
    for (int i = 0; i < 300; ++i) {
      ASSERT_NO_FATAL_FAILURE(rehearsal.step());
      ASSERT_NO_FATAL_FAILURE(rehearsal.expect_balance()) << "seed " << seed << ", step " << i;
    }
    ASSERT_NO_FATAL_FAILURE(rehearsal.finish());
    EXPECT_TRUE(rehearsal.open().empty()) << "seed " << seed;
    for (NodeId node = 0; node < kNodes; ++node)
      EXPECT_EQ(rehearsal.network->queued(node, rehearsal.now()), 0u);
  }
}

void expect_same(const Rehearsal& a, const Rehearsal& b) {
  ASSERT_EQ(a.told.size(), b.told.size());
  for (std::size_t i = 0; i < a.told.size(); ++i) {
    EXPECT_EQ(a.told[i].id, b.told[i].id);
    EXPECT_EQ(a.told[i].bytes_sent, b.told[i].bytes_sent);
    EXPECT_EQ(a.told_at[i], b.told_at[i]);
  }
}

TEST_P(EveryNetwork, GivesTheSameAnswersAgain) {
  Rehearsal first(GetParam(), 7), second(GetParam(), 7);
  for (int i = 0; i < 500; ++i) {
    first.step();
    second.step();
  }
  EXPECT_GT(first.told.size(), 100u);
  expect_same(first, second);
}

// At a random step the network is saved and replaced by one that loads: nothing may differ, to the
// nanosecond.
TEST_P(EveryNetwork, GoesOnFromWhereItWasSaved) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rehearsal straight(GetParam(), seed), resumed(GetParam(), seed);
    for (int i = 0; i < 200; ++i) {
      if (i == 40 || i == 90 + static_cast<int>(seed)) {
        Bytes saved;
        save_fields(*resumed.network, saved);
        resumed.network = network_of(GetParam());
        ByteReader reader(saved);
        ASSERT_TRUE(load_fields(*resumed.network, reader).ok());
        ASSERT_EQ(reader.left(), 0u);
        Bytes again;
        save_fields(*resumed.network, again);
        ASSERT_EQ(saved, again);
      }
      straight.step();
      resumed.step();
    }
    straight.finish();
    resumed.finish();
    ASSERT_NO_FATAL_FAILURE(expect_same(straight, resumed)) << "seed " << seed;
  }
}

// A checkpoint that was cut is refused, wherever; one with a flipped byte does no harm.
TEST_P(EveryNetwork, RefusesATornCheckpoint) {
  Rehearsal rehearsal(GetParam(), 3);
  for (int i = 0; i < 60; ++i) rehearsal.step();
  Bytes saved;
  save_fields(*rehearsal.network, saved);
  for (std::size_t size = 0; size < saved.size(); size += 1 + size / 7) {
    ByteReader reader(ByteSpan(saved).first(size));
    EXPECT_FALSE(load_fields(*network_of(GetParam()), reader).ok()) << size;
  }
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    Bytes broken = saved;
    broken[random.below(broken.size())] ^= static_cast<std::byte>(1 + random.below(255));
    ByteReader reader(broken);
    (void)load_fields(*network_of(GetParam()), reader).ok();
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, EveryNetwork, testing::ValuesIn(every_network()));

}  // namespace
}  // namespace tessera
