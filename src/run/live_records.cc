#include "run/live_records.h"

#include <fmt/format.h>

#include <stdexcept>

namespace tessera {
namespace {

std::filesystem::file_time_type changed_at(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::last_write_time(path, ignored);
}

}  // namespace

RosterFile::RosterFile(std::filesystem::path path)
    : path_(std::move(path)),
      read_at_(changed_at(path_)),
      roster_(or_throw<std::invalid_argument>(Roster::read(path_))) {}

std::string RosterFile::look(Transport& transport) {
  const auto changed = changed_at(path_);
  if (changed == read_at_) return {};
  read_at_ = changed;
  Result<Roster> roster = Roster::read(path_);
  if (!roster.ok())
    return fmt::format("the roster has changed and is not used: {}", roster.error().message);
  roster_ = std::move(roster).value();
  transport.set_members(roster_.members());
  return fmt::format("the roster has changed: {} members", roster_.members().size());
}

void LiveRecords::on_event(Instant at, const Event& event) {
  if (log_) log_->event(at, event);
}

void LiveRecords::on_adopted(Instant at, std::span<const float> model) {
  if (log_) log_->adoption(at, model);
}

void LiveRecords::on_round(Instant at, const Node& node) {
  if (log_) log_->round(at, node.rounds_done(), node.model());
}

void LiveRecords::on_row(const RuntimeRow& row) {
  const NodeRow own{.round = row.round,
                    .seconds = row.seconds,
                    .score = row.score,
                    .train_loss = row.train_loss,
                    .sent = row.sent};
  last_ = row_of({&own, 1});  // A run of one node.
  parts_.folder->append_metrics(to_json_line(last_));
}

void LiveRecords::on_checkpoint(Round round, const Bytes& state) {
  parts_.folder->write_checkpoint(round, state);
}

void LiveRecords::on_tick() {
  if (const std::string news = parts_.roster->look(*parts_.transport); !news.empty()) say(news);
}

}  // namespace tessera
