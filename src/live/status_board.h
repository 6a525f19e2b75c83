// What the event loop last said of itself, for those who ask from other threads.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/word_counts.h"
#include "live/runtime_observer.h"
#include "live/status.h"

namespace tessera {

class StatusBoard {
 public:
  // What is posted is old after a twentieth of a second.
  bool is_old(Instant now) const { return now - posted_at_ >= kAgeMax; }
  // The last evaluation stays, and the time left is worked out; all else is as `status` says.
  void post(Instant now, NodeStatus status);
  // The run goes on from here in this process. `until` is when it ends, whatever its round.
  void begin(Instant now, Round round, Instant until);
  void post_evaluation(const RuntimeRow& row);
  // Of what processes say besides shares, by the reason's one word.
  void count_refusal(std::string_view word) { ++refusals_[std::string(word)]; }

  NodeStatus read() const;  // From any thread; the others from the loop's.

 private:
  std::optional<double> seconds_left(Instant now, const NodeStatus& status) const;
  void note_jump(Instant now, const NodeStatus& status);

  static constexpr Duration kAgeMax = std::chrono::milliseconds(50);

  Instant posted_at_{};
  WordCounts refusals_;
  struct Beginning {
    Instant at{};
    Round round = 0;
    Instant until = kNever;
  };
  std::optional<Beginning> begun_;
  struct Last {
    Round round = 0;
    std::uint64_t age = 0;
  };
  Last last_;  // As posted.
  mutable std::mutex mutex_;
  NodeStatus status_;
};

}  // namespace tessera
