// How much to have on the wire to a peer, learnt from when chunks arrive there and when that is
// confirmed: what keeps the path busy, and `slack` more. Anything beyond that would only wait in
// sockets and routers, where it can no longer be taken back, grows old, and holds up the heartbeats
// behind it.
//
// A chunk after which `outstanding` bytes were on the wire and which was confirmed a round trip
// later says that the path carries outstanding / round trip. It has waited on its way for as much
// longer as it took than the quickest one; how far the peer's clock is from ours does not matter to
// that. So
//
//   window = outstanding / round trip x (round trip - waited + slack)
//
// grows while the path is not full, and then leaves a queue of `slack` on it. (FAST TCP, by Wei,
// Jin, Low and Hegde, 2006, does so with round trips alone. Here confirmations themselves wait, in
// the queue of a peer with a slow link, and that is no reason to send less.)
//
//   A path of 1 MB/s, 10 ms each way, slack 100 ms: 120 kB are in the window once it has settled.
//   They take 120 ms to be confirmed, and 100 of them are spent waiting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"

namespace tessera {

class Window {
 public:
  Window(Duration slack, std::size_t bytes_max) : slack_(slack), bytes_max_(bytes_max) {}

  // While less than this is on the wire, another chunk may go.
  std::size_t bytes() const { return bytes_; }

  // A chunk was sent when `before` bytes were on the wire, and `outstanding` are with it.
  void sent(Instant now, std::uint64_t chunk, std::size_t before, std::size_t outstanding) {
    under_way_.push_back({chunk, before, outstanding, now});
  }

  // Chunks up to this one have arrived, it at `at` nanoseconds by the peer's clock. What a peer
  // says of its clock is not believed further than to let this window be small or large.
  void confirmed(Instant now, std::uint64_t chunk, std::uint64_t at) {
    std::optional<Sent> newest;
    while (!under_way_.empty() && under_way_.front().chunk <= chunk) {
      newest = under_way_.front();
      under_way_.pop_front();
    }
    if (newest) learn(now, *newest, at);
  }

  // The connection is new, and the path may be: chunks on the old one say nothing any more.
  void forget() { *this = Window(slack_, bytes_max_); }

 private:
  // A path can become longer, and clocks drift. When for so long chunks have waited longer than the
  // slack that had no more than one other before them, it was not for us that they waited.
  static constexpr Duration kChanged = std::chrono::seconds(10);
  static constexpr std::size_t kFirst = 64 << 10;

  struct Sent {
    std::uint64_t chunk = 0;
    std::size_t before = 0, outstanding = 0;
    Instant at{};
  };

  // On its way, and the difference of the clocks.
  static std::int64_t way_of(const Sent& sent, std::uint64_t at) {
    return static_cast<std::int64_t>(
        at - static_cast<std::uint64_t>(sent.at.time_since_epoch().count()));
  }

  void learn(Instant now, const Sent& sent, std::uint64_t at) {
    const double slack_s = to_seconds(slack_), trip_s = std::max(to_seconds(now - sent.at), 1e-9);
    const double waited_s = std::min(waited(now, sent, way_of(sent, at)), trip_s);
    const auto outstanding = static_cast<double>(sent.outstanding);
    double fits = outstanding * std::min(2.0, (trip_s - waited_s + slack_s) / trip_s);
    if (waited_s > slack_s) fits = std::min(fits, static_cast<double>(sent.before));
    const auto now_is = static_cast<double>(bytes_);
    // Where there was little to send and it went well, the path was not asked what it can carry.
    if (waited_s <= slack_s && fits < now_is && outstanding < now_is / 2) return;
    bytes_ = std::clamp<std::size_t>(static_cast<std::size_t>((now_is + fits) / 2), 1, bytes_max_);
  }

  double waited(Instant now, const Sent& sent, std::int64_t way) {
    if (!quickest_ || way < *quickest_) quickest_ = way;
    const double waited_s = 1e-9 * (static_cast<double>(way) - static_cast<double>(*quickest_));
    if (waited_s <= to_seconds(slack_) || sent.before > sent.outstanding / 2) {
      as_expected_at_ = now;
      quickest_since_.reset();
    } else {
      quickest_since_ = std::min(way, quickest_since_.value_or(way));
      if (now - as_expected_at_ > kChanged) quickest_ = quickest_since_;
    }
    return waited_s;
  }

  Duration slack_;
  std::size_t bytes_max_;
  std::size_t bytes_ = std::min(kFirst, bytes_max_);
  std::optional<std::int64_t> quickest_;
  Instant as_expected_at_{};  // When quickest_ last explained how long a chunk waited.
  std::optional<std::int64_t> quickest_since_;  // Since as_expected_at_.
  std::deque<Sent> under_way_;
};

}  // namespace tessera
