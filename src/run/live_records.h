// What a live node's run leaves and hears from outside while it goes on: rows, checkpoints, a
// recording of its events; and a roster that may change on disk.
//
// A record that cannot be written does not end the node. It is said once, counted, and tried again
// after pauses that grow; rows wait meanwhile.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "live/back_off.h"
#include "live/event_log.h"
#include "live/link/clock.h"
#include "live/membership.h"
#include "live/reception.h"
#include "live/runtime.h"
#include "report/metrics.h"
#include "report/run_folder.h"
#include "run/live_disk.h"
#include "run/live_roster.h"

namespace tessera {

// Which records failed, and when to try again.
class RecordFailures {
 public:
  explicit RecordFailures(Say say) : say_(std::move(say)) {}

  // Whether the pause after the last failure is over.
  bool may_try() const { return clock_.now() - failed_at_ >= pause_.length(); }
  // Whether `write` could write; it throws std::runtime_error when it could not.
  bool attempt(const std::function<void()>& write);
  void lose_row() { ++rows_lost_; }

  std::uint64_t rows_lost() const { return rows_lost_; }
  std::string alarm() const;  // Empty while nothing fails.

 private:
  Say say_;
  SteadyClock clock_;
  BackOff pause_;
  Instant failed_at_{};
  std::string why_;  // Of the last failure; empty: the last attempt worked.
  std::uint64_t failures_ = 0, rows_lost_ = 0;
};

struct LiveRecordsParts {
  RunFolder* folder = nullptr;
  RosterFile* roster = nullptr;
  Membership* membership = nullptr;
  Reception* reception = nullptr;
  Say say{};
  std::function<void()> on_progress{};  // May be empty, as the next.
  std::function<void(const Node&)> on_finished{};
};

class LiveRecords final : public RuntimeObserver {
 public:
  explicit LiveRecords(LiveRecordsParts parts);

  // Every event from here on, to `path` or a name beside it. Throws std::runtime_error.
  void record(std::filesystem::path path, EventLogHeader header);
  const MetricsRow& last() const { return last_; }
  std::uint64_t rows_lost() const { return failures_.rows_lost(); }

  void on_event(Instant at, const Event& event) override;
  void on_adopted(Instant at, std::span<const float> model) override;
  void on_round(Instant at, const Node& node) override;
  void on_row(const RuntimeRow& row) override;
  bool on_checkpoint(Round round, const Bytes& state) override;
  Bytes last_checkpoint() override;
  void on_went_back(const Node& node, const Trainer& trainer) override;
  void on_finished(const Node& node) override;
  void on_tick() override;
  std::vector<std::string> alarms() const override;
  void on_progress() override;
  void say(LogLevel level, std::string_view line) override { parts_.say(level, line); }

 private:
  bool write_rows();
  void log(const std::function<void(EventLogWriter&)>& write);

  LiveRecordsParts parts_;
  MetricsRow last_{};
  std::deque<std::string> rows_;  // Those not written yet, kRowsMax of them at most.
  RecordFailures failures_;
  SteadyClock clock_;
  DiskWatch disk_;
  std::filesystem::path log_path_;
  EventLogHeader log_header_;
  std::unique_ptr<EventLogWriter> log_;
};

}  // namespace tessera
