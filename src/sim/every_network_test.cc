// What every network of the table must show: rehearsals of random offers, withdrawals and crashes.
#include <gtest/gtest.h>

#include <map>

#include "base/files.h"
#include "base/random.h"
#include "sim/network.h"

namespace tessera {
namespace {

constexpr std::uint32_t kNodes = 10;

const std::string& trace_path() {
  static const std::string path = testing::TempDir() + "every_network_trace.csv";
  return path;
}

// The file lasts as long as the test program, and is written by who needs it: every test is a
// process, and most need none.
std::unique_ptr<Network> new_network(std::string_view spec) {
  constexpr std::string_view kTrace =
      "time,node,up,down,on\n0s,0,1MB/s,,\n20ms,all,500kB/s,,\n30ms,3,,,no\n"
      "45ms,2,8MB/s,100kB/s,\n70ms,3,,,yes\n90ms,all,5MB/s,5MB/s,\n";
  if (spec.find("trace=") != spec.npos) {
    static const bool written = write_file(trace_path(), bytes_of(kTrace)).ok();
    EXPECT_TRUE(written);
  }
  return make_network(spec, {.nodes = kNodes, .random = Random(5)});
}

std::vector<std::string> every_network() {
  const std::string matrix =
      "matrix:file=" + std::string(TESSERA_SOURCE_DIR) + "/experiments/regions10.csv";
  std::vector<std::string> specs;
  for (const NetworkKind& kind : networks())
    specs.push_back(kind.name == "matrix" ? matrix : std::string(kind.name));
  for (const std::string spec :
       {"fifo:up=1MB/s,stragglers=4", "links:up=1MB/s,parallel=all,stragglers=4,slow=up",
        "links:up=1MB/s,parallel=1,latency=0", "links:up=2MB/s,parallel=3,tolerance=0.000001",
        "fifo:up=1MB/s,half_sent=finished", "links:up=1MB/s,stragglers=4,half_sent=finished"})
    specs.push_back(spec);
  specs.push_back(matrix + ",up=2MB/s,parallel=2");
  for (const std::string spec : {"fifo:trace=", "links:trace="})
    specs.push_back(spec + trace_path());
  return specs;
}

// Random offers, withdrawals and steps of the clock; remembers what became of every message.
class Rehearsal {
 public:
  Rehearsal(std::string_view spec, std::uint64_t seed)
      : network(new_network(spec)),
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
        resumed.network = new_network(GetParam());
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
    EXPECT_FALSE(load_fields(*new_network(GetParam()), reader).ok()) << size;
  }
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    Bytes broken = saved;
    broken[random.below(broken.size())] ^= static_cast<std::byte>(1 + random.below(255));
    ByteReader reader(broken);
    (void)load_fields(*new_network(GetParam()), reader).ok();
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, EveryNetwork, testing::ValuesIn(every_network()));

}  // namespace
}  // namespace tessera
