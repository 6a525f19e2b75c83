// What a live node's run leaves and hears from outside while it goes on: rows, checkpoints, a
// recording of its events; and a roster that may change on disk.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "live/event_log.h"
#include "live/link/transport.h"
#include "live/roster.h"
#include "live/runtime.h"
#include "report/metrics.h"
#include "report/run_folder.h"

namespace tessera {

using Say = std::function<void(std::string_view line)>;

// A roster that has changed on disk takes effect at once: new members are let in.
class RosterFile {
 public:
  explicit RosterFile(std::filesystem::path path);  // Throws std::invalid_argument.
  const Roster& roster() const { return roster_; }
  const std::filesystem::path& path() const { return path_; }
  // What happened, for the log; empty when nothing did.
  std::string look(Transport& transport);

 private:
  std::filesystem::path path_;
  std::filesystem::file_time_type read_at_;
  Roster roster_;
};

struct LiveRecordsParts {
  RunFolder* folder = nullptr;
  RosterFile* roster = nullptr;
  Transport* transport = nullptr;
  Say say{};
};

class LiveRecords final : public RuntimeObserver {
 public:
  explicit LiveRecords(LiveRecordsParts parts) : parts_(std::move(parts)) {}

  void record(std::unique_ptr<EventLogWriter> log) { log_ = std::move(log); }
  const MetricsRow& last() const { return last_; }

  void on_event(Instant at, const Event& event) override;
  void on_adopted(Instant at, std::span<const float> model) override;
  void on_round(Instant at, const Node& node) override;
  void on_row(const RuntimeRow& row) override;
  void on_checkpoint(Round round, const Bytes& state) override;
  void on_tick() override;
  void say(std::string_view line) override { parts_.say(line); }

 private:
  LiveRecordsParts parts_;
  MetricsRow last_{};
  std::unique_ptr<EventLogWriter> log_;
};

}  // namespace tessera
