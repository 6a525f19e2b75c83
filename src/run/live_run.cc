#include "run/live_run.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "base/files.h"
#include "base/hash.h"
#include "base/spec.h"
#include "live/event_log.h"
#include "live/link/keys.h"
#include "live/link/zeromq.h"
#include "live/status_server.h"
#include "run/live_agreement.h"
#include "run/live_identity.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Room for a share of the whole model in the longest codec, an index and a value per coordinate,
// and for one more: a neighbour is a round ahead at most.
void fit_to_model(TransportOptions& link, std::size_t dimension) {
  link.message_bytes_max = 8 * dimension + (1 << 20);
  link.held_bytes_extra = link.message_bytes_max;
}

// What a setting says, or else an error that names it.
template <typename Parse>
auto read_setting(std::string_view key, const std::string& value, Parse parse) {
  try {
    return parse(value);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}={}: {}", key, value, error.what()));
  }
}

unsigned parse_threads(std::string_view text) {
  const std::int64_t threads = parse_integer(text);
  if (threads < 0 || threads > 1024) throw std::invalid_argument("between 0 and 1024 will do");
  return static_cast<unsigned>(threads);
}

double parse_part(std::string_view text) {
  const double part = parse_number(text);
  if (!(part >= 0 && part <= 1)) throw std::invalid_argument("between 0 and 1 will do");
  return part;
}

void refuse_wrong_id(const Member& self, std::uint32_t nodes) {
  if (self.id >= nodes)
    throw std::invalid_argument(
        fmt::format("{} has id {} in the roster, and the experiment has nodes={}: ids begin at 0",
                    self.name, self.id, nodes));
}

LiveIdentity identity_of(const RosterFile& roster) {
  return {.run = roster.roster().run(), .id = roster.self().id, .name = roster.self().name};
}

// Refused before the data is loaded, and before anything is touched.
Plan plan_for(const LiveSettings& settings, const RosterFile& roster) {
  Plan plan = read_live_plan(settings.lines);
  plan.roster_run = roster.roster().run();
  plan.lesson.options.only = roster.self().id;
  refuse_wrong_id(roster.self(), plan.nodes);
  refuse_others_folder(settings.folder, identity_of(roster));
  RunFolder::check(settings.folder, to_toml(plan.experiment), ExistingRun::kResume);
  if (!settings.attack.empty() && make_attack(settings.attack).kind->flips_labels)
    flip_labels(plan, std::array{roster.self().id});
  return plan;
}

// Null for an honest node. What it draws is what a simulated node of this attack would.
std::shared_ptr<Liar> make_liar(const LiveSettings& settings, const Plan& plan, NodeId id) {
  if (settings.attack.empty()) return nullptr;
  ChosenAttack chosen = make_attack(settings.attack);
  refuse_omniscient(chosen);
  return std::make_shared<Liar>(id, std::move(chosen), plan.fault_random());
}

}  // namespace

LiveRun::LiveRun(LiveSettings settings, LiveParts parts)
    : settings_(std::move(settings)),
      roster_(settings_.roster, settings_.name),
      id_(roster_.self().id),
      plan_(plan_for(settings_, roster_)),
      options_(read_options()),
      lesson_(make_own_lesson(std::move(parts.lesson))),
      folder_(settings_.folder, to_toml(plan_.experiment), ExistingRun::kResume),
      transport_(make_transport()),
      records_({.folder = &folder_,
                .roster = &roster_,
                .transport = transport_.get(),
                .say = std::move(parts.say),
                .on_finished = std::move(parts.on_finished)}) {
  mark_folder(folder_.path(), identity_of(roster_));
  const auto make = [this](Vector model) {
    return make_node(plan_, id_, std::move(model), lesson_.trainer->tensors());
  };
  runtime_ = std::make_unique<Runtime>(RuntimeParts{.id = id_,
                                                    .run = plan_.roster_run,
                                                    .name = settings_.name,
                                                    .make_node = make,
                                                    .trainer = lesson_.trainer.get(),
                                                    .evaluator = lesson_.evaluator.get(),
                                                    .transport = transport_.get(),
                                                    .observer = &records_,
                                                    .liar = make_liar(settings_, plan_, id_)},
                                       options_);
  restore();
  if (!settings_.record.empty()) begin_recording();
  records_.say(fmt::format("{} is node {} of {}: {}", settings_.name, id_, plan_.nodes,
                           lesson_.description));
  if (!settings_.attack.empty())
    records_.say(
        fmt::format("HOSTILE: it lies to the others, as attack={} says", settings_.attack));
}

LiveRun::~LiveRun() = default;

Learning LiveRun::make_own_lesson(Learning given) const {
  if (given.trainer) return given;
  return make_lesson(plan_, read_setting("threads", settings_.threads, parse_threads));
}

// Those to ask for a model when coming late. A node that must see every message from the first can
// not be helped, and one whose neighbours wait for it for ever is never late.
std::vector<NodeId> LiveRun::helpers() const {
  const SharingKind& sharing = *plan_.sharing.kind;
  const bool needs_all = sharing.fixed_peers_only && !sharing.resynchronizes;
  if (plan_.protocol.prepared.waits_for_ever || needs_all) return {};
  return plan_.topology->peers(id_, 0);
}

RuntimeOptions LiveRun::read_options() const {
  const auto duration = [](std::string_view key, const std::string& value) {
    return read_setting(key, value, parse_duration);
  };
  return {.rounds = plan_.protocol.prepared.rounds,
          .evaluate_every = plan_.evaluate.by_time() ? 0 : plan_.evaluate.rounds,
          .evaluate_period = plan_.evaluate.period,
          .evaluate_start = plan_.evaluate.start,
          .checkpoint_every = duration("checkpoint", settings_.checkpoint),
          .gather = duration("gather", settings_.gather),
          .linger = duration("linger", settings_.linger),
          .retold = plan_.protocol.retold(),
          .helpers = helpers(),
          .pace = settings_.pace.empty() ? Duration::zero() : duration("pace", settings_.pace),
          .began_at =
              settings_.began.empty() ? 0 : read_setting("began", settings_.began, parse_number),
          .effort = {.skipped_max = read_setting("skipped", settings_.skipped, parse_part)}};
}

std::unique_ptr<Transport> LiveRun::make_transport() const {
  const std::span<const Member> members = roster_.roster().members();
  ZeroMqOptions options{.self = id_,
                        .keys = or_throw<std::invalid_argument>(read_key_file(settings_.key)),
                        .members = {members.begin(), members.end()},
                        .bind_address = settings_.listen};
  options.link.run = plan_.roster_run;
  options.link.agreement = agreement_of(plan_, lesson_);
  options.link.dimension = lesson_.trainer->dimension();
  fit_to_model(options.link, options.link.dimension);
  options.link.policy =
      plan_.protocol.newest_wins() ? QueuePolicy::kNewestWins : QueuePolicy::kBackPressure;
  // Nobody waits longer for a share, so one that has not left by then is of no use any more.
  options.link.unsent_age_max = plan_.protocol.prepared.patience;
  apply_link_options(settings_.link, options.link);
  return make_zeromq_transport(std::move(options));
}

void LiveRun::restore() {
  const auto restored = folder_.read_checkpoint();
  if (!restored) return;
  for (const std::string& note : restored->notes) records_.say(note);
  if (restored->state.empty()) return;
  or_throw<std::invalid_argument>(
      runtime_->restore(restored->state),
      fmt::format("cannot resume from {}/checkpoint/{}.bin: ", settings_.folder, restored->round));
  records_.say(fmt::format("resuming after round {}", restored->round));
}

void LiveRun::begin_recording() {
  const EventLogHeader header{.id = id_,
                              .run = plan_.roster_run,
                              .config = to_toml(plan_.experiment),
                              .state = recorded_state(runtime_->node(), *lesson_.trainer)};
  records_.record(settings_.record, header);
}

RunEnd LiveRun::run(const std::string& command, const Made& made) {
  const StatusServer server(
      {.socket = fs::path(settings_.folder) / "status.sock", .http_address = settings_.metrics},
      [&](std::string_view format) {
        const NodeStatus status = runtime_->status();
        if (format == "json") return to_json(status);
        return format == "prometheus" ? to_prometheus(status) : to_text(status);
      });
  const RunEnd end = runtime_->run();
  if (end != RunEnd::kStopped) write_results(command, made);
  return end;
}

void LiveRun::write_results(const std::string& command, const Made& made) {
  const Node& node = runtime_->node();
  const double seconds = watch_.seconds();
  or_throw(
      write_file(folder_.path() / "model.bin", bytes_of(std::span<const float>(node.model()))));
  Summary summary{.seed = plan_.seed,
                  .nodes = 1,
                  .parameters = node.model().size(),
                  .last = records_.last(),
                  .node_accuracy = {records_.last().accuracy.mean},
                  .node_loss = {records_.last().loss.mean},
                  .took = {.all = seconds, .loop = seconds},
                  .peak_rss_bytes = peak_rss_bytes(),
                  .model_digest = digest_of(node.model()),
                  .command = command,
                  .made = made,
                  .shortfall = shortfall()};
  if (records_.rows_lost() > 0) summary.refusals["rows-lost"] = records_.rows_lost();
  for (const auto& [word, senders] : node.refusals_by_sender())
    for (const auto& [from, count] : senders)
      summary.refusals[Node::is_ordinary(word) ? word : fmt::format("{} of node {}", word, from)] +=
          count;
  for (const auto& [word, count] : node.notes()) summary.refusals[word] += count;
  folder_.write_summary(to_json(summary));
}

}  // namespace tessera
