#include "run/live_insides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/files.h"
#include "base/hash.h"
#include "base/spec.h"
#include "live/event_log.h"
#include "live/link/keys.h"
#include "live/link/options.h"
#include "live/link/zeromq.h"
#include "live/log_line.h"
#include "live/status_server.h"
#include "run/live_agreement.h"
#include "run/live_identity.h"
#include "run/live_invite.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRosterKept = "roster.toml";  // In the node's folder.

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

std::size_t parse_members(std::string_view text) {
  const std::int64_t members = parse_integer(text);
  if (members < 0 || members > 1'000'000)
    throw std::invalid_argument("a number of members will do");
  return static_cast<std::size_t>(members);
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

// Refused before the data is loaded, and before anything is touched. A roster with an owner says
// how many nodes there are; beside one that is kept by hand the experiment does.
Plan plan_for(const LiveSettings& settings, const RosterFile& roster) {
  Experiment lines = settings.lines;
  if (roster.roster().has_owner()) lines.nodes = std::to_string(roster.roster().next_id());
  Plan plan = read_live_plan(lines);
  plan.roster_run = roster.roster().run();
  plan.lesson.options.only = roster.self().id;
  refuse_wrong_id(roster.self(), plan.nodes);
  refuse_others_folder(settings.folder, identity_of(roster));
  RunFolder::check(settings.folder, to_toml(plan.experiment), ExistingRun::kResume);
  if (!settings.attack.empty() && make_attack(settings.attack).kind->flips_labels)
    flip_labels(plan, std::array{roster.self().id});
  return plan;
}

std::string names_of(std::span<const Member* const> members) {
  std::string names;
  for (const Member* member : members)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", member->name);
  return names;
}

// Two that nobody can connect to have no link. That is refused where a node would wait for the
// other for ever, or always meets it; otherwise whom it will not hear is returned.
std::string refuse_what_cannot_meet(const Plan& plan, const RosterFile& roster) {
  constexpr Round kLooked = 8;  // Who meets in all of these rounds is a neighbour.
  const NodeId self = roster.self().id;
  const PreparedProtocol& protocol = plan.protocol.prepared;
  if (!roster.self().dials_out()) return {};
  std::map<NodeId, Round> met;
  for (Round round = 0; protocol.meets && round < kLooked; ++round) {
    const std::vector<NodeId> peers = protocol.meets(self, round);
    for (const NodeId peer : std::set<NodeId>(peers.begin(), peers.end())) ++met[peer];
  }
  const bool redrawn =
      std::ranges::any_of(met, [&](const auto& peer) { return peer.second < kLooked; });
  std::vector<const Member*> others, neighbours;
  for (const Member& member : roster.roster().members()) {
    if (member.id == self || !member.dials_out()) continue;
    others.push_back(&member);
    if (met.contains(member.id) && met.at(member.id) == kLooked) neighbours.push_back(&member);
  }
  if (!neighbours.empty())
    throw std::invalid_argument(
        fmt::format("{} and {} are neighbours and all dial out, so none can connect to the other: "
                    "give one side an address that can be reached, or use another topology",
                    roster.self().name, names_of(neighbours)));
  if (!others.empty() && redrawn && protocol.waits_for_ever)
    throw std::invalid_argument(
        fmt::format("{} and {} all dial out and would wait for each other for ever: give one side "
                    "an address that can be reached, or the protocol a patience",
                    roster.self().name, names_of(others)));
  return names_of(others);
}

// Null for an honest node. What it draws is what a simulated node of this attack would.
std::shared_ptr<Liar> make_liar(const LiveSettings& settings, const Plan& plan, NodeId id) {
  if (settings.attack.empty()) return nullptr;
  ChosenAttack chosen = make_attack(settings.attack);
  refuse_omniscient(chosen);
  return std::make_shared<Liar>(id, std::move(chosen), plan.fault_random());
}

// Those who may look are answered by `report` while this lives.
class Answering {
 public:
  Answering(Transport& transport, std::function<std::string()> report) : transport_(transport) {
    transport_.answer_with(std::move(report));
  }
  ~Answering() { transport_.answer_with({}); }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

 private:
  Transport& transport_;
};

}  // namespace

LiveInsides::LiveInsides(LiveSettings settings, LiveParts parts)
    : settings_(std::move(settings)),
      roster_(settings_.roster, settings_.name, fs::path(settings_.folder) / kRosterKept),
      id_(roster_.self().id),
      plan_(plan_for(settings_, roster_)),
      options_(read_options()),
      lesson_(make_own_lesson(std::move(parts.lesson))),
      folder_(settings_.folder, to_toml(plan_.experiment), ExistingRun::kResume),
      transport_(make_transport()),
      say_(std::move(parts.say)),
      membership_(roster_.roster(), roster_.self(),
                  {.transport = transport_.get(),
                   .say = say_,
                   .keep = [this](const Roster& roster) { keep(roster); }}),
      reception_({.folder = settings_.guests,
                  .experiment = settings_.guests.empty()
                                    ? std::string()
                                    : told_experiment(settings_, roster_.roster()),
                  .begin_with = options_.begin_with,
                  .transport = transport_.get(),
                  .say = say_}),
      records_({.folder = &folder_,
                .roster = &roster_,
                .membership = &membership_,
                .reception = &reception_,
                .say = say_,
                .on_progress =
                    [this, tell = std::move(parts.on_progress)] {
                      if (tell) tell(runtime_->status());
                    },
                .on_finished = std::move(parts.on_finished)}) {
  mark_folder(folder_.path(), identity_of(roster_));
  const auto make = [this](Vector model) {
    return make_node(plan_, id_, std::move(model), lesson_.trainer->tensors(),
                     samples_of(lesson_.partition, id_));
  };
  runtime_ = std::make_unique<Runtime>(RuntimeParts{.id = id_,
                                                    .run = plan_.roster_run,
                                                    .name = settings_.name,
                                                    .make_node = make,
                                                    .trainer = lesson_.trainer.get(),
                                                    .evaluator = lesson_.evaluator.get(),
                                                    .transport = transport_.get(),
                                                    .observer = &records_,
                                                    .meets = [this](Round r) { return met_in(r); },
                                                    .membership = &membership_,
                                                    .liar = make_liar(settings_, plan_, id_)},
                                       options_);
  if (const std::string unmet = refuse_what_cannot_meet(plan_, roster_); !unmet.empty())
    records_.say(LogLevel::kWarning,
                 fmt::format("has no link to {}: they dial out, as it does itself", unmet));
  restore();
  reception_.look(membership_.roster());
  if (!settings_.record.empty()) begin_recording();
  records_.say(LogLevel::kInfo, fmt::format("{} is node {} of {}: {}", settings_.name, id_,
                                            plan_.nodes, lesson_.description));
  if (const std::size_t members = roster_.roster().members().size(); members < plan_.nodes)
    records_.say(LogLevel::kWarning,
                 fmt::format("the roster has {} of {} members: the others' places are empty",
                             members, plan_.nodes));
  if (!settings_.attack.empty())
    records_.say(
        LogLevel::kWarning,
        fmt::format("HOSTILE: it lies to the others, as attack={} says", settings_.attack));
}

LiveInsides::~LiveInsides() = default;

Learning LiveInsides::make_own_lesson(Learning given) const {
  Learning lesson =
      given.trainer ? std::move(given)
                    : make_lesson(plan_, read_setting("threads", settings_.threads, parse_threads));
  require_samples(plan_, lesson);
  return lesson;
}

// Those to ask for a model when coming late. A node that must see every message from the first can
// not be helped, and one whose neighbours wait for it for ever is never late.
std::vector<NodeId> LiveInsides::helpers() const {
  const SharingKind& sharing = *plan_.sharing.kind;
  const bool needs_all = sharing.fixed_peers_only && !sharing.resynchronizes;
  if (plan_.protocol.prepared.waits_for_ever || needs_all) return {};
  return plan_.topology->peers(id_, 0);
}

// Of the first voice, and of every step of a merge.
std::vector<NodeId> LiveInsides::met_in(Round round) const {
  std::vector<NodeId> met;
  if (const auto& meets = plan_.protocol.prepared.meets) met = meets(id_, round);
  if (!plan_.merge) return met;
  const Topology& merging = *plan_.merge->options.topology;
  for (Round step = 0; step < merging.cycle_length(); ++step)
    for (const NodeId peer : merging.peers(id_, step)) met.push_back(peer);
  return met;
}

RuntimeOptions LiveInsides::read_options() const {
  const auto duration = [](std::string_view key, const std::string& value) {
    return read_setting(key, value, parse_duration);
  };
  return {.rounds = plan_.protocol.prepared.rounds,
          .until = plan_.protocol.prepared.until,
          .evaluate_every = plan_.evaluate.by_time() ? 0 : plan_.evaluate.rounds,
          .evaluate_period = plan_.evaluate.period,
          .evaluate_start = plan_.evaluate.start,
          .checkpoint_every = duration("checkpoint", settings_.checkpoint),
          .progress_every = duration("progress", settings_.progress),
          .gather = duration("gather", settings_.gather),
          .begin_with = settings_.begin_with.empty()
                            ? 0
                            : read_setting("begin_with", settings_.begin_with, parse_members),
          .linger = duration("linger", settings_.linger),
          .retold = plan_.retold(id_),
          .helpers = helpers(),
          .pace = settings_.pace.empty() ? Duration::zero() : duration("pace", settings_.pace),
          .began_at =
              settings_.began.empty() ? 0 : read_setting("began", settings_.began, parse_number),
          .effort = {.skipped_max = read_setting("skipped", settings_.skipped, parse_part)}};
}

std::unique_ptr<Transport> LiveInsides::make_transport() const {
  const std::span<const Member> members = roster_.roster().members();
  const std::span<const RosterObserver> observers = roster_.roster().observers();
  ZeroMqOptions options{.self = id_,
                        .keys = or_throw<std::invalid_argument>(read_key_file(settings_.key)),
                        .members = {members.begin(), members.end()},
                        .observers = {observers.begin(), observers.end()},
                        .bind_address = settings_.listen};
  options.link.run = plan_.roster_run;
  options.link.agreement = agreement_of(plan_, lesson_);
  options.link.dimension = lesson_.trainer->dimension();
  fit_to_model(options.link, options.link.dimension);
  options.link.policy =
      plan_.protocol.newest_wins() ? QueuePolicy::kNewestWins : QueuePolicy::kBackPressure;
  // Nobody waits longer for a share, so one that has not left by then is of no use any more.
  options.link.unsent_age_max = plan_.protocol.prepared.patience;
  options.link.wants_all = false;
  apply_link_options(settings_.link, options.link);
  return make_zeromq_transport(std::move(options));
}

// A start that does not find it begins with the file's, and is told again.
void LiveInsides::keep(const Roster& roster) {
  if (const Result<void> written = roster.write(folder_.path() / kRosterKept); !written)
    say_(LogLevel::kWarning, fmt::format("the newer roster is used and could not be kept: {}",
                                         written.error().message));
}

void LiveInsides::restore() {
  const auto restored = folder_.read_checkpoint();
  if (!restored) return;
  for (const std::string& note : restored->notes) records_.say(LogLevel::kWarning, note);
  if (restored->state.empty()) return;
  or_throw<std::invalid_argument>(
      runtime_->restore(restored->state),
      fmt::format("cannot resume from {}/checkpoint/{}.bin: ", settings_.folder, restored->round));
  reception_.open();
  records_.say(LogLevel::kInfo, fmt::format("resuming after round {}", restored->round));
}

void LiveInsides::begin_recording() {
  const EventLogHeader header{.id = id_,
                              .run = plan_.roster_run,
                              .config = to_toml(plan_.experiment),
                              .state = recorded_state(runtime_->node(), *lesson_.trainer)};
  records_.record(settings_.record, header);
}

NodeStatus LiveInsides::status() const {
  NodeStatus status = runtime_->status();
  status.origin = {.version = version_,
                   .time = time_of_day(),
                   .neighbours = plan_.topology->peers(id_, status.round)};
  return status;
}

RunEnd LiveInsides::run(const std::string& command, const Made& made) {
  const Answering others(*transport_, [this] { return to_json(status()); });
  const StatusServer server(
      {.socket = fs::path(settings_.folder) / "status.sock", .http_address = settings_.metrics},
      [&](std::string_view format) {
        const NodeStatus now = status();
        if (format == "json") return to_json(now);
        return format == "prometheus" ? to_prometheus(std::span(&now, 1)) : to_text(now);
      });
  const RunEnd end = runtime_->run();
  if (end == RunEnd::kFinished || end == RunEnd::kFellShort) write_results(command, made);
  return end;
}

void LiveInsides::write_results(const std::string& command, const Made& made) {
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
