#include "live/effort.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

constexpr Duration kSaidAgainMax = std::chrono::minutes(10);

Duration in_seconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time);
}

double part_of(std::uint64_t some, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
}

}  // namespace

bool has_company(std::span<const PeerState> peers) {
  if (std::ranges::any_of(peers, &PeerState::wanted))
    return std::ranges::any_of(peers, [](const PeerState& p) { return p.wanted && p.alive(); });
  return peers.empty() || std::ranges::any_of(peers, [](const PeerState& p) {
           const bool rests = p.condition == PeerCondition::kIdle && p.last_heard != Instant{};
           return p.alive() || rests;
         });
}

std::uint64_t Effort::skipped(Done done) const {
  const std::uint64_t counted = done.rounds - std::min(done.rounds, joined_at_);
  return counted - std::min(counted, done.trainings);
}

std::string Effort::look(Instant now, std::span<const PeerState> peers, Done done) {
  const std::uint64_t newly = done.trainings - std::min(done.trainings, trained_);
  trained_ = done.trainings;
  if (has_company(peers)) return find_company(now);
  if (!alone_) {
    alone_ = {.since = now, .said_after = limits_.alone_min};
    return {};
  }
  trained_alone_ += newly;
  if (now - alone_->since < alone_->said_after) return {};
  alone_->said_after = std::min(2 * alone_->said_after, alone_->said_after + kSaidAgainMax);
  return alarm(now);
}

std::string Effort::find_company(Instant now) {
  const std::optional<Alone> before = std::exchange(alone_, std::nullopt);
  if (!before || now - before->since < limits_.alone_min) return {};
  return fmt::format("a peer is there again, after {}",
                     show_duration(in_seconds(now - before->since)));
}

std::string Effort::alarm(Instant now) const {
  if (!alone_ || now - alone_->since < limits_.alone_min) return {};
  return fmt::format("ALONE: no peer has been alive for {}; {} trainings were made alone",
                     show_duration(in_seconds(now - alone_->since)), trained_alone_);
}

std::string Effort::shortfall(Done done) const {
  const std::uint64_t left_out = skipped(done);
  const std::uint64_t rounds = left_out + done.trainings;
  if (part_of(left_out, rounds) > limits_.skipped_max)
    return fmt::format("{} of {} rounds were skipped, more than {:.0f}% of them", left_out, rounds,
                       100 * limits_.skipped_max);
  if (part_of(trained_alone_, done.trainings) > limits_.alone_max)
    return fmt::format("{} of {} trainings were made without a living peer", trained_alone_,
                       done.trainings);
  return {};
}

}  // namespace tessera
