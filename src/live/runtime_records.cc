#include "live/runtime_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "node/divergence.h"

namespace tessera {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(200);
constexpr int kSooner = 4;
constexpr Duration kFirstProgress = std::chrono::seconds(5);

// The first of a kind is told, and then each time there are twice as many.
bool is_worth_telling(std::uint64_t count, std::uint64_t& told) {
  if (count < std::max<std::uint64_t>(1, 2 * told)) return false;
  told = count;
  return true;
}

}  // namespace

void RuntimeRecords::begin(Instant now, Round rounds_done) {
  saved_at_ = now;
  seen_ = rounds_done;
  progress_at_ =
      now - schedule_.progress_every + std::min(schedule_.progress_every, kFirstProgress);
  if (by_time()) periods_ = now.time_since_epoch() / schedule_.evaluate_period;
}

bool RuntimeRecords::tick_due(Instant now) const {
  return now - ticked_at_ >= kTick;
}

void RuntimeRecords::tick(Instant now, const WordCounts& of_links) {
  ticked_at_ = now;
  observer_.on_tick();
  tell_of_link_refusals(of_links);
  const Duration every = schedule_.progress_every;
  if (every == Duration::zero() || now - progress_at_ < every) return;
  progress_at_ = now;
  observer_.on_progress();
}

std::optional<Round> RuntimeRecords::note_round(Instant at, const Node& node) {
  refuse_divergence(node, at);
  tell_of_refusals(node);
  const Round done = node.rounds_done();
  const Round before = std::exchange(seen_, done);
  if (done == before) return std::nullopt;
  refuse_divergence(id_, done, node.last_loss(), "training");
  observer_.on_round(at, node);
  tell_of_notes(node);
  const Round every = schedule_.evaluate_every;
  if (every == 0 || done / every == before / every) return std::nullopt;
  return done / every * every;
}

// Rounds that went on without somebody, and the like.
void RuntimeRecords::tell_of_notes(const Node& node) {
  for (const auto& [word, count] : node.notes())
    if (const std::uint64_t before = std::exchange(noted_[word], count); count > before)
      observer_.say(LogLevel::kWarning,
                    fmt::format("by round {}: {} {} more, {} in all", node.rounds_done(), word,
                                count - before, count));
}

// Whose messages are turned away, and why.
void RuntimeRecords::tell_of_refusals(const Node& node) {
  for (const auto& [reason, senders] : node.refusals_by_sender()) {
    if (Node::is_ordinary(reason)) continue;
    for (const auto& [from, count] : senders) {
      if (is_worth_telling(count, doubted_[reason][from]))
        observer_.say(LogLevel::kWarning,
                      fmt::format("refused of node {}: {}, {} so far", from, reason, count));
    }
  }
}

// Connections and frames, whose words docs/live_format.md explains.
void RuntimeRecords::tell_of_link_refusals(const WordCounts& refusals) {
  for (const auto& [reason, count] : refusals)
    if (is_worth_telling(count, turned_away_[reason]))
      observer_.say(LogLevel::kWarning,
                    fmt::format("refused at the port: {}, {} so far", reason, count));
}

std::optional<Instant> RuntimeRecords::moment_due(Instant now) {
  if (!by_time()) return std::nullopt;
  const std::int64_t periods = now.time_since_epoch() / schedule_.evaluate_period;
  // One at a time: where testing takes longer than the period, moments are passed over.
  if (periods <= periods_ || !owed_.empty()) return std::nullopt;
  periods_ = periods;
  return Instant(periods * schedule_.evaluate_period);
}

std::deque<RuntimeRecords::Owed> RuntimeRecords::take_owed() {
  return std::exchange(owed_, {});
}

void RuntimeRecords::write(const RuntimeRow& row) {
  if (row.score.tested()) refuse_divergence(id_, row.round, row.score.loss, "test");
  observer_.on_row(row);
}

bool RuntimeRecords::checkpoint_due(Instant now, bool soon) const {
  const Duration every = schedule_.checkpoint_every / (soon ? kSooner : 1);
  return now - saved_at_ >= std::max(every, pause_.length());
}

bool RuntimeRecords::write_checkpoint(Instant now, Round rounds_done, const Bytes& state) {
  saved_at_ = now;
  const bool written = observer_.on_checkpoint(rounds_done, state);
  pause_.note(written);
  checkpoints_ += written;
  return written;
}

}  // namespace tessera
