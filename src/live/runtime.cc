#include "live/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <utility>

#include "live/nonce.h"

namespace tessera {
namespace {

// The loop looks up this often even when nothing happens: a signal's handler cannot wake it.
constexpr Duration kNapMax = std::chrono::milliseconds(50);
constexpr Duration kNapWhileHolding = std::chrono::milliseconds(2);

}  // namespace

Runtime::Runtime(RuntimeParts parts, const RuntimeOptions& options)
    : parts_(std::move(parts)),
      options_(options),
      node_(parts_.make_node(parts_.trainer->initial_model())),
      clock_(options.began_at),
      sending_(*parts_.transport, {.retold_max = options.retold, .stalled_max = options.stalled},
               [this](std::string_view line) { parts_.observer->say(LogLevel::kWarning, line); }),
      joining_(*parts_.transport, options.helpers, options.far_behind),
      company_(*parts_.transport, parts_.id, draw_nonce(), parts_.meets, options.helpers),
      records_(parts_.id, *parts_.observer,
               {.evaluate_every = options.evaluate_every,
                .evaluate_period = options.evaluate_period,
                .checkpoint_every = options.checkpoint_every,
                .progress_every = options.progress_every}),
      leaving_({.stop_within = options.stop_within, .linger = options.linger}, company_.census),
      effort_(options.effort),
      work_({.id = parts_.id,
             .trainer = parts_.trainer,
             .evaluator = parts_.evaluator,
             .pace_min = options.pace,
             .on_done = [this] { parts_.transport->wake(); }}) {}

RunEnd Runtime::run() {
  if (restored_) {
    meet_again();
  } else {
    if (!await_members()) {
      parts_.transport->close();
      return parts_.membership->is_removed() ? RunEnd::kRemoved : RunEnd::kNotBegun;
    }
    gather(), join();
  }
  begin();
  while (!should_leave()) try {
      turn();
    } catch (const Divergence& why) {
      go_back(why);
    }
  // The last evaluation may still be under way, and its row belongs to the records; so may a
  // training that came too late to count, and the trainer is not saved in the middle of it.
  sending_.forget_held();
  while (work_.evaluating() || work_.training()) take_work_done(), receive();
  save_the_end();
  update_status();
  parts_.transport->close();
  const bool removed = parts_.membership != nullptr && parts_.membership->is_removed();
  if (!node_->finished()) return removed ? RunEnd::kRemoved : RunEnd::kStopped;
  return shortfall().empty() ? RunEnd::kFinished : RunEnd::kFellShort;
}

void Runtime::begin() {
  std::deque<Incoming> waiting = joining_.take_kept();
  clock_.start();
  company_.contacts.follow(node_->rounds_done());
  company_.census.begin();
  records_.begin(clock_.now(), node_->rounds_done());
  status_.begin(clock_.now(), node_->rounds_done(), options_.until);
  tick();
  sending_.tell_all_again();
  for (const RuntimeRecords::Owed& owed : records_.take_owed()) evaluate(owed.round, owed.at);
  if (!restored_ && options_.evaluate_start) evaluate(0, Instant());
  // From here on the run's beginning is remembered.
  if (!restored_) checkpoint();
  give(Started{});
  for (Incoming& incoming : waiting) hear(std::move(incoming));
  update_status();
}

void Runtime::tick() {
  records_.tick(clock_.now(), parts_.transport->refusals());
  if (parts_.membership != nullptr) {
    parts_.membership->tick();
    if (parts_.membership->is_removed()) leaving_.leave_now();
  }
  sending_.look_at_links();
  if (leaving_.finished()) return;
  // Those who rest are asked for where the others are no company.
  std::vector<PeerState> peers = parts_.transport->active_peers();
  if (peers.empty() || !has_company(peers)) peers = parts_.transport->peers();
  const std::string news = effort_.look(clock_.now(), peers, done());
  const bool alone = !effort_.alarm(clock_.now()).empty();
  if (!news.empty()) parts_.observer->say(alone ? LogLevel::kWarning : LogLevel::kInfo, news);
}

void Runtime::turn() {
  take_work_done();
  while (clock_.take_wake_up()) give(Woke{});
  sending_.retry_held();
  receive();
  watch_peers();
  if (leaving_.begin_to_stop(clock_.now(), node_->rounds_done()))
    parts_.observer->say(LogLevel::kInfo, "asked to stop: finishing the round");
  if (!leaving_.finished())
    if (const std::optional<Instant> moment = records_.moment_due(clock_.now()))
      evaluate(node_->rounds_done(), *moment);
  if (status_.is_old(clock_.now())) update_status();
  if (records_.tick_due(clock_.now())) tick();
}

void Runtime::give(Event event) {
  const Instant at = clock_.begin_event();
  parts_.observer->on_event(at, event);
  node_->handle(std::move(event), *this);
  if (parts_.liar) parts_.liar->forget_told();
  note_progress();
  // Between two trainings the trainer's memory and the node's state belong together.
  if (!work_.training() && records_.checkpoint_due(clock_.now(), joining_.keeps_much()))
    checkpoint();
  if (work_.training_wanted() && !leaving_.past_last_round(node_->rounds_done()))
    work_.start_training();
}

void Runtime::note_progress() {
  const Instant at = clock_.event_at();
  const std::optional<Round> due = records_.note_round(at, *node_);
  company_.contacts.follow(node_->rounds_done());
  const bool ended = node_->finished() && !leaving_.finished();
  if (due && !ended) evaluate(*due, at);
  if (!ended) return;
  leaving_.finish(clock_.now());
  company_.census.finished(parts_.id);
  parts_.observer->on_finished(*node_);
  evaluate(node_->rounds_done(), at);
  const std::string missing = shortfall();
  parts_.observer->say(missing.empty() ? LogLevel::kInfo : LogLevel::kError,
                       fmt::format("finished after {} rounds{}{}", node_->rounds_done(),
                                   missing.empty() ? "" : ", and its work is not done: ", missing));
  say_finished();
}

void Runtime::evaluate(Round label, Instant at) {
  const RuntimeRow row{
      .round = label,
      .seconds = to_seconds(at.time_since_epoch()),
      .train_loss = at == Instant() ? std::numeric_limits<float>::quiet_NaN() : node_->last_loss(),
      .sent = counted()};
  records_.owe({label, at});
  work_.evaluate(row, node_->model());
}

// A round's row counts what the round has to send, a moment's what has left by then.
const Traffic& Runtime::counted() {
  return records_.by_time() ? sending_.gone_out() : sending_.handed_over();
}

// Back-pressure: what was trained is told on when the peers have taken what was told before.
void Runtime::take_work_done() {
  while (std::optional<WorkDone> done = work_.take(!sending_.holds_any()))
    std::visit([this](auto& what) { on_done(std::move(what)); }, *done);
}

void Runtime::on_done(TrainingDone done) {
  if (done.failure) return leave_if_abandoned(done.failure);
  refuse_divergence(parts_.id, node_->rounds_done(), done.trained.loss, "training");
  give(std::move(done.trained));
}

void Runtime::on_done(const EvaluationDone& done) {
  if (done.failure) return leave_if_abandoned(done.failure);
  records_.settle();
  records_.write(done.row);
  status_.post_evaluation(done.row);
}

// The node stays as it was when the work began, and so does the trainer: a row that was to be
// written is still owed, and a node that is started again trains again.
void Runtime::leave_if_abandoned(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const WorkAbandoned&) {
    if (!leaving_.finished())
      parts_.observer->say(LogLevel::kInfo, "left in the middle of a training");
    leaving_.leave_now();
  }
}

void Runtime::receive() {
  const Duration nap = clock_.until_wake_up(sending_.holds_any() ? kNapWhileHolding : kNapMax);
  if (std::optional<Incoming> incoming = parts_.transport->receive(nap)) hear(std::move(*incoming));
}

void Runtime::hear(Incoming incoming) {
  if (!is_control(incoming.bytes)) {
    if (options_.retold > 0) joining_.keep(incoming);
    give(Arrived{incoming.from, {std::make_shared<const Letter>(std::move(incoming.bytes)), 0}});
    return;
  }
  const Result<Control> control = decode_control(incoming.bytes, node_->model().size());
  if (control.ok())
    on_control(incoming.from, *control);
  else
    status_.count_refusal("control");
}

bool Runtime::should_leave() const {
  std::vector<PeerState> peers;  // Looked at only by those who have finished.
  if (leaving_.finished()) peers = parts_.transport->peers();
  return leaving_.may_leave(clock_.now(), node_->rounds_done(), work_.training(), peers);
}

void Runtime::update_status() {
  const Instant now = clock_.now();
  const bool training = work_.training();
  const char* state = node_->finished()     ? "finished"
                      : leaving_.stopping() ? "stopping"
                      : training            ? "training"
                                            : "waiting";
  status_.post(now, {.name = parts_.name,
                     .id = parts_.id,
                     .state = state,
                     .waiting_for = training ? "" : node_->waiting_for(),
                     .round = node_->rounds_done(),
                     .rounds = options_.rounds,
                     .age = node_->age(),
                     .seconds = to_seconds(now.time_since_epoch()),
                     .work = {.skipped = effort_.skipped(done()), .alone = effort_.trained_alone()},
                     .alarms = alarms(),
                     .learning = {.train_loss = node_->last_loss()},
                     .sent = counted(),
                     .checkpoints = records_.checkpoints(),
                     .adoptions = joining_.adoptions(),
                     .refusals = node_->refusals(),
                     .refused = node_->refusals_by_sender(),
                     .notes = node_->notes()});
}

std::vector<std::string> Runtime::alarms() const {
  std::vector<std::string> all = parts_.observer->alarms();
  if (std::string alone = effort_.alarm(clock_.now()); !alone.empty())
    all.push_back(std::move(alone));
  if (std::string missing = node_->finished() ? shortfall() : ""; !missing.empty())
    all.push_back(std::move(missing));
  return all;
}

NodeStatus Runtime::status() const {
  NodeStatus status = status_.read();
  status.links = {.refusals = parts_.transport->refusals(),
                  .peers = parts_.transport->peers(),
                  .asked_at = parts_.transport->now()};
  return status;
}

}  // namespace tessera
