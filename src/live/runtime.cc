#include "live/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace tessera {
namespace {

// The loop looks up this often even when nothing happens: a signal's handler cannot wake it.
constexpr Duration kLongestNap = std::chrono::milliseconds(50);
constexpr Duration kTick = std::chrono::milliseconds(200);
constexpr Duration kStatusAge = std::chrono::milliseconds(50);

double system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Duration from_seconds(double seconds) {
  return Duration(static_cast<std::int64_t>(seconds * 1e9));
}

void refuse_divergence(double loss, Round round, const char* which) {
  if (std::isfinite(loss)) return;
  throw std::runtime_error(
      fmt::format("the model has diverged by round {} (its {} loss is not a finite number): lower "
                  "the learning rate, or CHOCO's step",
                  round, which));
}

}  // namespace

Runtime::Runtime(RuntimeParts parts, RuntimeOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      node_(parts_.make_node(parts_.trainer->initial_model())) {
  began_at_ = options_.began_at > 0 ? options_.began_at : system_seconds();
}

Runtime::~Runtime() = default;

Instant Runtime::clock() const {
  return parts_.transport->now() + offset_;
}

RunEnd Runtime::run() {
  if (!restored_) gather(), join();
  begin();
  while (!should_leave()) turn();
  // The last evaluation may still be under way, and its row belongs to the records; so may a
  // training that came too late to count, and the trainer is not saved in the middle of it.
  held_.clear();
  while (evaluations_posted_ + trainings_posted_ > 0) take_work_done(), receive();
  checkpoint();
  update_status();
  parts_.transport->close();
  return node_->finished() ? RunEnd::kFinished : RunEnd::kStopped;
}

void Runtime::gather() {
  const Instant until = parts_.transport->now() + options_.gather;
  const auto all_alive = [this] {
    const std::vector<PeerState> peers = parts_.transport->peers();
    return std::all_of(peers.begin(), peers.end(),
                       [](const PeerState& peer) { return peer.alive(); });
  };
  // What arrives meanwhile waits in the transport.
  while (parts_.transport->now() < until && !stop_asked_.load() && !all_alive())
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (options_.began_at == 0) began_at_ = system_seconds();
}

void Runtime::begin() {
  offset_ = from_seconds(system_seconds() - began_at_) - parts_.transport->now().time_since_epoch();
  saved_at_ = clock();
  seen_ = node_->rounds_done();
  if (options_.evaluate_period > Duration::zero())
    periods_ = clock().time_since_epoch() / options_.evaluate_period;
  tick();
  for (const auto& [peer, messages] : last_told_) tell_again(peer);
  for (const RuntimeRow& row : std::exchange(owed_, {}))
    evaluate(row.round, Instant(from_seconds(row.seconds)));
  // From here on the run's beginning is remembered.
  if (!restored_) checkpoint();
  give(Started{});
  for (Incoming& early : too_early_) hear(std::move(early));
  too_early_.clear();
}

void Runtime::tick() {
  ticked_at_ = clock();
  parts_.observer->on_tick();
  std::map<NodeId, std::uint64_t> connections;
  for (const PeerState& peer : parts_.transport->peers()) connections[peer.id] = peer.connections;
  members_.swap(connections);
  // A link that was made anew may lead to a peer that was, before anyone missed it.
  for (const auto& [peer, times] : members_)
    if (const auto before = connections.find(peer);
        before != connections.end() && times > 1 && times > before->second)
      tell_again(peer);
}

void Runtime::turn() {
  take_work_done();
  wake_node();
  retry_held();
  receive();
  watch_peers();
  if (stop_asked_.load() && !stopping_since_) {
    stopping_since_ = clock();
    stopping_round_ = node_->rounds_done();
    parts_.observer->say("asked to stop: finishing the round");
  }
  evaluate_in_time();
  if (clock() - status_at_ >= kStatusAge) update_status();
  if (clock() - ticked_at_ >= kTick) tick();
}

void Runtime::give(Event event) {
  event_at_ = clock();
  parts_.observer->on_event(event_at_, event);
  node_->handle(std::move(event), *this);
  after_event();
}

void Runtime::after_event() {
  note_progress();
  // Between two trainings the trainer's memory and the node's state belong together.
  if (trainings_posted_ == 0 && clock() - saved_at_ >= options_.checkpoint_every) checkpoint();
  const bool leaving = stopping_since_ && node_->rounds_done() > stopping_round_;
  if (wanted_ && !leaving) start_training();
}

void Runtime::note_progress() {
  const Round done = node_->rounds_done();
  const bool ended = node_->finished() && !finished_since_;
  if (done != seen_) {
    refuse_divergence(node_->last_loss(), done, "training");
    parts_.observer->on_round(event_at_, *node_);
    tell_of_notes();
    const Round every = options_.evaluate_every;
    if (!ended && every > 0 && done / every > seen_ / every)
      evaluate(done / every * every, event_at_);
    seen_ = done;
  }
  if (!ended) return;
  finished_since_ = clock();
  evaluate(done, event_at_);
  parts_.observer->say(fmt::format("finished after {} rounds", done));
  const auto word = encode_control(Finished{});
  for (const PeerState& peer : parts_.transport->peers())
    parts_.transport->send(peer.id, word, MessageClass::control);
}

// Rounds that went on without somebody, and the like.
void Runtime::tell_of_notes() {
  for (const auto& [word, count] : node_->notes())
    if (const std::uint64_t before = std::exchange(noted_[word], count); count > before)
      parts_.observer->say(fmt::format("by round {}: {} {} more, {} in all", node_->rounds_done(),
                                       word, count - before, count));
}

void Runtime::start_training() {
  ++trainings_posted_;
  worker_.post([this, wanted = std::move(*wanted_)]() mutable {
    TrainingDone done;
    TrainJob job{.node = parts_.id, .model = wanted.model, .random = wanted.random};
    const auto due = std::chrono::steady_clock::now() + options_.pace;
    try {
      parts_.trainer->train(std::span(&job, 1));
      std::this_thread::sleep_until(due);
    } catch (...) {
      done.failure = std::current_exception();
    }
    done.trained = {std::move(wanted.model), job.loss};
    post_done(std::move(done));
  });
  wanted_.reset();
}

void Runtime::evaluate_in_time() {
  if (options_.evaluate_period == Duration::zero() || finished_since_) return;
  const std::int64_t periods = clock().time_since_epoch() / options_.evaluate_period;
  // One at a time: where testing takes longer than the period, moments are passed over.
  if (periods <= periods_ || evaluations_posted_ > 0) return;
  periods_ = periods;
  evaluate(node_->rounds_done(), Instant(periods * options_.evaluate_period));
}

void Runtime::evaluate(Round label, Instant at) {
  ++evaluations_posted_;
  RuntimeRow row{.round = label,
                 .seconds = to_seconds(at.time_since_epoch()),
                 .train_loss = node_->last_loss(),
                 .sent = counted()};
  owed_.push_back(row);
  worker_.post([this, row, model = node_->model()]() mutable {
    EvaluationDone done{.row = row};
    const std::span<const float> view(model);
    try {
      done.row.score = parts_.evaluator->evaluate(std::span(&parts_.id, 1), {&view, 1}).front();
    } catch (...) {
      done.failure = std::current_exception();
    }
    post_done(std::move(done));
  });
}

void Runtime::post_done(WorkDone done) {
  {
    const std::lock_guard lock(done_mutex_);
    done_.push_back(std::move(done));
  }
  parts_.transport->wake();
}

void Runtime::take_work_done() {
  for (;;) {
    std::optional<WorkDone> done;
    {
      const std::lock_guard lock(done_mutex_);
      // Back-pressure: what was trained is told on when the peers have taken what was told before.
      if (done_.empty() || (!held_.empty() && done_.front().index() == 0)) return;
      done = std::move(done_.front());
      done_.pop_front();
    }
    std::visit([this](auto& what) { on_done(std::move(what)); }, *done);
  }
}

void Runtime::on_done(TrainingDone done) {
  --trainings_posted_;
  if (done.failure) std::rethrow_exception(done.failure);
  give(std::move(done.trained));
}

void Runtime::on_done(EvaluationDone done) {
  --evaluations_posted_;
  owed_.pop_front();
  if (done.failure) std::rethrow_exception(done.failure);
  refuse_divergence(done.row.score.loss, done.row.round, "test");
  parts_.observer->on_row(done.row);
  const std::lock_guard lock(status_mutex_);
  status_.evaluated_round = done.row.round;
  status_.accuracy = done.row.score.accuracy;
  status_.loss = done.row.score.loss;
}

void Runtime::wake_node() {
  while (!timers_.empty() && timers_.top() <= clock()) {
    timers_.pop();
    give(Woke{});
  }
}

void Runtime::receive() {
  Duration nap = held_.empty() ? kLongestNap : std::chrono::milliseconds(2);
  if (!timers_.empty()) nap = std::clamp(timers_.top() - clock(), Duration::zero(), nap);
  if (std::optional<Incoming> incoming = parts_.transport->receive(nap)) hear(std::move(*incoming));
}

void Runtime::hear(Incoming incoming) {
  if (!is_control(incoming.bytes)) {
    give(Arrived{incoming.from, {std::make_shared<const Bytes>(std::move(incoming.bytes)), 0}});
    return;
  }
  const Result<Control> control = decode_control(incoming.bytes, node_->model().size());
  if (control.ok())
    on_control(incoming.from, *control);
  else
    ++refused_control_;
}

bool Runtime::should_leave() const {
  if (finished_since_)
    return stop_asked_.load() || peers_are_done() || clock() - *finished_since_ >= options_.linger;
  if (!stopping_since_) return false;
  // Not in the middle of training: what it has learnt since the last checkpoint would be lost.
  return trainings_posted_ == 0 && (node_->rounds_done() > stopping_round_ ||
                                    clock() - *stopping_since_ >= options_.stop_within);
}

// What the node does ----------------------------------------------------------------------------

void Runtime::send(NodeId to, Payload payload) {
  if (!members_.contains(to)) return;  // Not in the roster yet, or no longer.
  ++sent_.messages;
  sent_.bytes += payload.bytes->size();
  sent_.value_bytes += payload.value_bytes;
  if (options_.retold > 0) {
    auto& told = last_told_[to];
    told.push_back(payload.bytes);
    if (told.size() > options_.retold) told.pop_front();
  }
  const bool behind_others =
      std::any_of(held_.begin(), held_.end(), [&](const auto& held) { return held.first == to; });
  if (!behind_others && parts_.transport->send(to, payload.bytes)) return;
  if (takes_messages(to)) {
    held_.emplace_back(to, std::move(payload.bytes));
    return;
  }
  // Nobody reads at the other end. When it comes back, the newest will do.
  parts_.transport->drop_unsent(to);
  std::erase_if(held_, [&](const auto& held) { return held.first == to; });
  parts_.transport->send(to, payload.bytes);
}

void Runtime::tell_again(NodeId to) {
  const auto told = last_told_.find(to);
  if (told == last_told_.end() || !members_.contains(to)) return;
  for (const auto& message : told->second) parts_.transport->send(to, message);
}

// Adds what has gone out since we last looked. Which part of it was values is not known; the usual
// one.
const SentCounts& Runtime::count_left() {
  std::uint64_t bytes = 0;
  for (const PeerState& peer : parts_.transport->peers()) {
    SentCounts& before = left_to_[peer.id];
    if (peer.bytes_begun < before.bytes) before = {};  // Another link, to another member.
    left_.messages += peer.messages_begun - before.messages;
    bytes += peer.bytes_begun - before.bytes;
    before = {.messages = peer.messages_begun, .bytes = peer.bytes_begun};
  }
  left_.bytes += bytes;
  if (sent_.bytes > 0)
    left_.value_bytes += static_cast<std::uint64_t>(static_cast<double>(bytes) *
                                                    static_cast<double>(sent_.value_bytes) /
                                                    static_cast<double>(sent_.bytes));
  return left_;
}

void Runtime::drop_unsent() {
  held_.clear();
  parts_.transport->drop_unsent();
}

// A peer may be there, and its process in such a state that it takes nothing any more.
bool Runtime::takes_messages(NodeId to) {
  const PeerState peer = parts_.transport->peer(to);
  if (!peer.alive()) return false;
  Stall& stall = stalls_.try_emplace(to, Stall{clock(), peer.confirmed_bytes}).first->second;
  if (peer.confirmed_bytes != stall.confirmed_bytes) stall = {clock(), peer.confirmed_bytes};
  if (clock() - stall.since < options_.stalled) return true;
  if (!std::exchange(stall.said, true))
    parts_.observer->say(fmt::format("{} has taken nothing for {}: it will be told the newest only",
                                     peer.name, show_duration(options_.stalled)));
  return false;
}

void Runtime::retry_held() {
  std::set<NodeId> full;
  for (auto held = held_.begin(); held != held_.end();) {
    if (!members_.contains(held->first)) {
      held = held_.erase(held);
      continue;
    }
    if (!takes_messages(held->first)) parts_.transport->drop_unsent(held->first);
    if (!full.contains(held->first) && parts_.transport->send(held->first, held->second)) {
      held = held_.erase(held);
    } else {
      full.insert(held->first);
      ++held;
    }
  }
}

}  // namespace tessera
