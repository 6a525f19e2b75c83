#include "run/live_records.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t kRowsMax = 10'000;  // A few megabytes.

}  // namespace

bool RecordFailures::attempt(const std::function<void()>& write) {
  try {
    write();
  } catch (const std::runtime_error& error) {
    ++failures_;
    failed_at_ = clock_.now();
    pause_.note(false);
    if (std::exchange(why_, error.what()).empty())
      say_(LogLevel::kError,
           fmt::format("cannot write records: {}; training goes on, and they are tried again",
                       why_));
    return false;
  }
  pause_.note(true);
  if (!std::exchange(why_, {}).empty())
    say_(LogLevel::kInfo,
         fmt::format("records can be written again, after {} failures; {} rows are lost", failures_,
                     rows_lost_));
  return true;
}

std::string RecordFailures::alarm() const {
  if (why_.empty()) return {};
  return fmt::format("cannot write records: {}; {} failures, {} rows lost", why_, failures_,
                     rows_lost_);
}

LiveRecords::LiveRecords(LiveRecordsParts parts)
    : parts_(std::move(parts)), failures_(parts_.say), disk_([folder = parts_.folder->path()] {
        std::error_code unknown;
        const auto left = std::filesystem::space(folder, unknown).available;
        return unknown ? ~0ull : left;
      }) {}

void LiveRecords::record(std::filesystem::path path, EventLogHeader header) {
  log_ = std::make_unique<EventLogWriter>(path, header);
  log_path_ = std::move(path);
  log_header_ = std::move(header);
  log_header_.state.clear();
}

// A recording that has a gap cannot be replayed: it ends where it could not be written.
void LiveRecords::log(const std::function<void(EventLogWriter&)>& write) {
  if (!log_) return;
  try {
    write(*log_);
  } catch (const std::runtime_error& error) {
    say(LogLevel::kWarning, fmt::format("the recording ends here: {}", error.what()));
    log_.reset();
  }
}

void LiveRecords::on_event(Instant at, const Event& event) {
  log([&](EventLogWriter& log) { log.event(at, event); });
}

void LiveRecords::on_adopted(Instant at, std::span<const float> model) {
  log([&](EventLogWriter& log) { log.adoption(at, model); });
}

void LiveRecords::on_round(Instant at, const Node& node) {
  log([&](EventLogWriter& log) { log.round(at, node.rounds_done(), node.model()); });
}

void LiveRecords::on_row(const RuntimeRow& row) {
  const NodeRow own{.round = row.round,
                    .seconds = row.seconds,
                    .score = row.score,
                    .train_loss = row.train_loss,
                    .sent = row.sent};
  last_ = row_of({&own, 1});  // A run of one node.
  rows_.push_back(to_json_line(last_));
  if (rows_.size() > kRowsMax) rows_.pop_front(), failures_.lose_row();
  if (failures_.may_try()) write_rows();
}

bool LiveRecords::write_rows() {
  while (!rows_.empty()) {
    if (!failures_.attempt([&] { parts_.folder->append_metrics(rows_.front()); })) return false;
    rows_.pop_front();
  }
  return true;
}

// After the rows that belong to it: a checkpoint says how many there are.
bool LiveRecords::on_checkpoint(Round round, const Bytes& state) {
  return write_rows() && failures_.attempt([&] { parts_.folder->write_checkpoint(round, state); });
}

// Rows that wait belong to what is given up.
Bytes LiveRecords::last_checkpoint() {
  rows_.clear();
  const auto restored = parts_.folder->read_checkpoint();
  return restored ? restored->state : Bytes();
}

// As a node that was started again: in a file of its own.
void LiveRecords::on_went_back(const Node& node, const Trainer& trainer) {
  if (!log_) return;
  log_header_.state = recorded_state(node, trainer);
  log([&](EventLogWriter&) { record(log_path_, log_header_); });
}

void LiveRecords::on_finished(const Node& node) {
  if (parts_.on_finished) parts_.on_finished(node);
}

void LiveRecords::on_tick() {
  if (std::optional<Result<Roster>> changed = parts_.roster->look())
    parts_.membership->consider(std::move(*changed));
  if (parts_.reception != nullptr) parts_.reception->look(parts_.membership->roster());
  if (!rows_.empty() && failures_.may_try()) write_rows();
  disk_.look(clock_.now());
}

void LiveRecords::on_progress() {
  if (parts_.on_progress) parts_.on_progress();
}

std::vector<std::string> LiveRecords::alarms() const {
  std::vector<std::string> all;
  if (parts_.membership->is_out())
    all.push_back(fmt::format("{} is no longer in the roster: it is out, and the others refuse it",
                              parts_.membership->self().name));
  for (std::string& alarm : std::array{failures_.alarm(), disk_.alarm()})
    if (!alarm.empty()) all.push_back(std::move(alarm));
  return all;
}

}  // namespace tessera
