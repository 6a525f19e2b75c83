// A path with a rate, a length and a queue, and a sender that always has more: what the window
// makes of it.
#include "live/link/window.h"

#include <gtest/gtest.h>

#include <deque>

namespace tessera {
namespace {

using namespace std::chrono_literals;

struct Path {
  double bytes_per_s = 0;
  Duration length{};  // There and back.
  std::size_t chunk = 0;
  Duration back{};  // What a confirmation waits besides.
};

struct Ride {
  double used = 0;         // Of what the path can carry.
  Duration longest{};      // From sending to confirming.
  std::size_t window = 0;  // At the end.
};

class Sender {
 public:
  explicit Sender(Duration slack, std::size_t most = 1 << 30) : window(slack, most) {}

  // Keeps the path as full as the window allows for so long; the first half is for settling.
  Ride ride(const Path& path, Duration how_long) {
    const Instant begin = now_, end = now_ + how_long, half = now_ + how_long / 2;
    Ride ride;
    std::size_t delivered = 0;
    while (now_ < end) {
      while (in_flight_ == 0 || in_flight_ < window.bytes()) send(path);
      const OnTheWay first = wire_.front();
      wire_.pop_front();
      now_ = std::max(now_, first.confirmed_at);
      in_flight_ -= path.chunk;
      window.confirmed(now_, first.chunk, peers_clock(first.arrived_at));
      if (now_ < half) continue;
      delivered += path.chunk;
      ride.longest = std::max(ride.longest, now_ - first.sent_at);
    }
    EXPECT_GT(now_, begin);
    ride.used = static_cast<double>(delivered) / path.bytes_per_s / to_seconds(how_long / 2);
    ride.window = window.bytes();
    return ride;
  }

  Window window;

 private:
  struct OnTheWay {
    std::uint64_t chunk = 0;
    Instant sent_at{}, arrived_at{}, confirmed_at{};
  };

  void send(const Path& path) {
    const auto takes = Duration(
        static_cast<std::int64_t>(static_cast<double>(path.chunk) / path.bytes_per_s * 1e9));
    free_at_ = std::max(free_at_, now_) + takes;
    window.sent(now_, next_, in_flight_, in_flight_ + path.chunk);
    in_flight_ += path.chunk;
    const Instant arrived = free_at_ + path.length / 2;
    wire_.push_back({next_++, now_, arrived, arrived + path.length / 2 + path.back});
  }
  // It began to run on another day.
  static std::uint64_t peers_clock(Instant now) {
    return static_cast<std::uint64_t>(now.time_since_epoch().count() - 86'400'000'000'000);
  }

  Instant now_{}, free_at_{};
  std::uint64_t next_ = 1;
  std::size_t in_flight_ = 0;
  std::deque<OnTheWay> wire_;
};

// The example of window.h: 120 kB, of which 20 are on the path and the rest waits for 100 ms.
TEST(Window, LeavesAQueueOfSlackOnAFullPath) {
  Sender sender(100ms);
  const Ride ride = sender.ride({1e6, 20ms, 1000}, 20s);
  EXPECT_GT(ride.used, 0.99);
  EXPECT_NEAR(static_cast<double>(ride.window), 121e3, 3e3);
  EXPECT_LT(ride.longest, 125ms);
}

// From a slow line that is busy with one message for 40 ms to a fast one around the world.
TEST(Window, FillsPathsOfEverySize) {
  for (const Path& path :
       {Path{500e3, 1ms, 20'000}, Path{2.5e6, 10ms, 20'000}, Path{125e6, 1ms, 1 << 20},
        Path{125e6, 200ms, 1 << 20}, Path{1.2e9, 100us, 1 << 20}, Path{500e3, 300ms, 36'000}}) {
    Sender sender(100ms);
    const Ride ride = sender.ride(path, 30s);
    EXPECT_GT(ride.used, 0.95) << path.bytes_per_s << " over " << path.length.count();
    const Duration alone =
        path.length + Duration(static_cast<std::int64_t>(static_cast<double>(path.chunk) /
                                                         path.bytes_per_s * 1e9));
    EXPECT_LT(ride.longest, 2 * alone + 110ms) << path.bytes_per_s;
  }
}

// A message that takes half a second: the next one waits until it is confirmed.
TEST(Window, LetsOneGoWhereOneIsLongerThanTheSlack) {
  Sender sender(100ms);
  const Ride ride = sender.ride({400e3, 1ms, 200'000}, 60s);
  EXPECT_GT(ride.used, 0.9);
  EXPECT_LT(ride.longest, 1100ms);
}

TEST(Window, FollowsAPathThatBecomesSlower) {
  Sender sender(100ms);
  sender.ride({10e6, 10ms, 10'000}, 10s);
  const Ride slow = sender.ride({1e6, 10ms, 10'000}, 10s);
  EXPECT_GT(slow.used, 0.95);
  EXPECT_LT(slow.longest, 150ms);
}

// 300 ms where there were 10: all of it looks like a queue at first.
TEST(Window, FollowsAPathThatBecomesLonger) {
  Sender sender(100ms);
  sender.ride({5e6, 10ms, 10'000}, 10s);
  const Ride longer = sender.ride({5e6, 300ms, 10'000}, 60s);
  EXPECT_GT(longer.used, 0.9);
}

// The peer's own link is full, and confirmations wait behind its data: not behind ours.
TEST(Window, IsNotDeceivedByLateConfirmations) {
  Sender sender(100ms);
  sender.ride({1e6, 20ms, 10'000}, 10s);
  const Ride ride = sender.ride({1e6, 20ms, 10'000, 300ms}, 10s);
  EXPECT_GT(ride.used, 0.98);
  EXPECT_LT(ride.longest, 460ms);
}

// Whatever it says, something can be sent, and no more than twice what there was.
TEST(Window, SurvivesAPeersWildestClock) {
  Window window(100ms, 1 << 30);
  Instant now{};
  const std::uint64_t wild[] = {0, ~0ull, 1ull << 63, (1ull << 63) - 1, 1, 42};
  for (std::uint64_t chunk = 1; chunk < 1000; ++chunk) {
    const std::size_t before = window.bytes();
    window.sent(now, chunk, 0, before);
    now += 1ms;
    window.confirmed(now, chunk, wild[chunk % std::size(wild)]);
    ASSERT_GE(window.bytes(), 1u);
    ASSERT_LE(window.bytes(), 2 * before);
    if (window.bytes() > (1u << 30)) window.forget();
  }
}

// Eight megabytes were fine until the path became slow; a round's message is a small part of them.
TEST(Window, ShrinksForMessagesFarSmallerThanItself) {
  Sender sender(50ms);
  sender.ride({500e6, 10ms, 1 << 20}, 10s);
  EXPECT_GT(sender.window.bytes(), 8u << 20);
  sender.window.forget();
  Window window(50ms, 4 << 20);
  Instant now(1s);
  const auto tell = [&](std::uint64_t chunk, std::size_t bytes, Duration waits) {
    window.sent(now, chunk, 0, bytes);
    const auto at = static_cast<std::uint64_t>((now + 5ms + waits).time_since_epoch().count());
    window.confirmed(now + 10ms + waits, chunk, at);
    now += 1s;
  };
  for (std::uint64_t chunk = 1; chunk < 10; ++chunk) tell(chunk, 4 << 20, 0s);
  EXPECT_EQ(window.bytes(), 4u << 20);
  for (std::uint64_t chunk = 10; chunk < 14; ++chunk) tell(chunk, 500'000, 900ms);
  EXPECT_LT(window.bytes(), 500'000u);
}

TEST(Window, LittleToSendTeachesNothing) {
  Sender sender(500ms);
  const std::size_t before = sender.ride({10e6, 20ms, 10'000}, 10s).window;
  Instant now = Instant(100s);
  for (std::uint64_t chunk = 1'000'000; chunk < 1'000'100; ++chunk, now += 1s) {
    sender.window.sent(now, chunk, 0, 100);
    const auto at = static_cast<std::uint64_t>((now + 200ms).time_since_epoch().count());
    sender.window.confirmed(now + 400ms, chunk, at);
  }
  EXPECT_EQ(sender.window.bytes(), before);
  sender.window.forget();
  EXPECT_LT(sender.window.bytes(), before);
}

}  // namespace
}  // namespace tessera
