#include "cli/live_node.h"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "base/files.h"
#include "base/spec.h"
#include "base/stopwatch.h"
#include "cli/world.h"
#include "live/event_log.h"
#include "live/link/keys.h"
#include "live/link/zeromq.h"
#include "live/roster.h"
#include "live/status_server.h"
#include "report/metrics.h"
#include "report/run_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::atomic<Runtime*> running = nullptr;  // For the signals' handler.

void on_signal(int) {
  if (Runtime* runtime = running.load()) runtime->stop();
}

// While one exists, SIGTERM and Ctrl-C ask the node to stop. Afterwards they do nothing: it is
// ending, one way or another.
class StopOnSignal {
 public:
  explicit StopOnSignal(Runtime& runtime) {
    running = &runtime;
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (const int signal : {SIGTERM, SIGINT}) ::sigaction(signal, &action, nullptr);
  }
  ~StopOnSignal() {
    for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, SIG_IGN);
    running = nullptr;
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
};

// A roster that has changed on disk takes effect at once: new members are let in.
class RosterWatch {
 public:
  // `read_at` is when the file had last changed before the transport's members were read from it.
  RosterWatch(fs::path path, fs::file_time_type read_at, Transport& transport)
      : path_(std::move(path)), transport_(transport), read_at_(read_at) {}

  // What happened, for the log; empty when nothing did.
  std::string look() {
    const auto changed = changed_at(path_);
    if (changed == read_at_) return {};
    read_at_ = changed;
    const Result<Roster> roster = Roster::read(path_);
    if (!roster.ok())
      return fmt::format("the roster has changed and is not used: {}", roster.error().message);
    transport_.set_members(roster->members());
    return fmt::format("the roster has changed: {} members", roster->members().size());
  }

  static fs::file_time_type changed_at(const fs::path& path) {
    std::error_code ignored;
    return fs::last_write_time(path, ignored);
  }

 private:
  fs::path path_;
  Transport& transport_;
  fs::file_time_type read_at_;
};

// A node's own row has the form of a whole run's: the spread is over one node.
MetricsRow to_metrics(const RuntimeRow& row) {
  const auto alone = [](double value) { return Spread{value, value, value}; };
  return {.round = row.round,
          .virtual_seconds = row.seconds,
          .accuracy = alone(row.score.accuracy),
          .loss = alone(row.score.loss),
          .train_loss = row.train_loss,
          .bytes_per_node = static_cast<double>(row.sent.bytes),
          .value_bytes_per_node = static_cast<double>(row.sent.value_bytes),
          .messages = row.sent.messages};
}

class Records final : public RuntimeObserver {
 public:
  Records(RunFolder& folder, RosterWatch& roster) : folder_(folder), roster_(roster) {}

  void record(std::unique_ptr<EventLogWriter> log) { log_ = std::move(log); }

  void on_event(Instant at, const Event& event) override {
    if (log_) log_->event(at, event);
  }
  void on_adopted(Instant at, std::span<const float> model) override {
    if (log_) log_->adoption(at, model);
  }
  void on_round(Instant at, const Node& node) override {
    if (log_) log_->round(at, node.rounds_done(), node.model());
  }
  void on_row(const RuntimeRow& row) override {
    last = to_metrics(row);
    folder_.append_metrics(to_json_line(last));
  }
  void on_checkpoint(Round round, const Bytes& state) override {
    folder_.write_checkpoint(round, state);
  }
  void on_tick() override {
    if (const std::string news = roster_.look(); !news.empty()) say(news);
  }
  void say(std::string_view line) override {
    fmt::print(stderr, "{:9.3f} {}\n", watch_.seconds(), line);
    std::fflush(stderr);
  }

  MetricsRow last{};

 private:
  RunFolder& folder_;
  RosterWatch& roster_;
  std::unique_ptr<EventLogWriter> log_;
  Stopwatch watch_;
};

const Member& find_member(const Roster& roster, const LiveSettings& settings, std::uint32_t nodes) {
  const Member* member = roster.find(settings.name);
  if (member == nullptr)
    throw std::invalid_argument(
        fmt::format("{} is not in {}: tessera roster add", settings.name, settings.roster));
  if (member->id >= nodes)
    throw std::invalid_argument(
        fmt::format("{} has id {} in {}, and the experiment has nodes={}: ids begin at 0",
                    settings.name, member->id, settings.roster, nodes));
  return *member;
}

// Those to ask for a model when coming late. A node that must see every message from the first can
// not be helped, and one whose neighbours wait for it for ever is never late.
std::vector<NodeId> helpers_of(const Experiment& plan, const NodeRecipe& recipe, NodeId id) {
  const ProtocolKind& protocol = protocol_kind(plan.protocol);
  const bool waits_for_ever =
      protocol.synchronous && Options(parse_spec(plan.protocol)).text("patience", "none") == "none";
  if (waits_for_ever || sharing_kind(plan.sharing).fixed_peers_only) return {};
  const std::shared_ptr<const Graph> graph = recipe.topology->graph(0);
  const std::span<const NodeId> peers = graph->peers(id);
  return {peers.begin(), peers.end()};
}

// Room for a share of the whole model in the longest codec, an index and a value per coordinate,
// and for one more: a neighbour is a round ahead at most.
void fit_to_model(TransportOptions& link, std::size_t dimension) {
  link.message_bytes_max = 8 * dimension + (1 << 20);
  link.held_bytes_extra = link.message_bytes_max;
}

std::unique_ptr<Transport> make_transport(const LiveSettings& settings, const Roster& roster,
                                          NodeId id, const NodeRecipe& recipe,
                                          std::size_t dimension) {
  Result<KeyPair> keys = read_key_file(settings.key);
  if (!keys.ok()) throw std::invalid_argument(keys.error().message);
  ZeroMqOptions options{.self = id,
                        .keys = std::move(keys).value(),
                        .members = {roster.members().begin(), roster.members().end()},
                        .bind_address = settings.listen};
  options.link.run = recipe.run;
  options.link.dimension = dimension;
  fit_to_model(options.link, dimension);
  options.link.policy = protocol_kind(settings.plan.protocol).synchronous
                            ? QueuePolicy::kBackPressure
                            : QueuePolicy::kNewestWins;
  apply_link_options(settings.link, options.link);
  return make_zeromq_transport(std::move(options));
}

void restore(Runtime& runtime, RunFolder& folder, Records& records) {
  const auto restored = folder.read_checkpoint();
  if (!restored) return;
  for (const std::string& passed : restored->passed_over) records.say("passed over " + passed);
  if (restored->state.empty()) return;
  if (const auto loaded = runtime.restore(restored->state); !loaded.ok())
    throw std::runtime_error("cannot resume: " + loaded.error().message);
  records.say(fmt::format("resuming after round {}", restored->round));
}

void write_results(const LiveSettings& settings, const Runtime& runtime, RunFolder& folder,
                   const Records& records, double seconds, const std::string& command) {
  const Node& node = runtime.node();
  const ByteSpan model = bytes_of(std::span<const float>(node.model()));
  if (const auto written = write_file(folder.path() / "model.bin", model); !written.ok())
    throw std::runtime_error(written.error().message);
  Summary summary{.seed = settings.plan.seed_number(),
                  .nodes = 1,
                  .parameters = node.model().size(),
                  .last = records.last,
                  .node_accuracy = {records.last.accuracy.mean},
                  .node_loss = {records.last.loss.mean},
                  .wall_seconds = seconds,
                  .loop_seconds = seconds,
                  .peak_rss_bytes = peak_rss_bytes(),
                  .model_digest = digest_of(node.model()),
                  .command = command};
  for (const Node::Counts* counts : {&node.refusals(), &node.notes()})
    for (const auto& [word, count] : *counts) summary.refusals[word] += count;
  folder.write_summary(to_json(summary));
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

RuntimeOptions options_of(const LiveSettings& settings, const NodeRecipe& recipe, NodeId id) {
  const EvaluateOptions evaluate = parse_evaluate(settings.plan);
  return {
      .rounds = recipe.rounds,
      .evaluate_every = evaluate.period > Duration::zero() ? 0 : evaluate.rounds,
      .evaluate_period = evaluate.period,
      .checkpoint_every = read_setting("checkpoint", settings.checkpoint, parse_duration),
      .gather = read_setting("gather", settings.gather, parse_duration),
      .linger = read_setting("linger", settings.linger, parse_duration),
      .retold = protocol_kind(settings.plan.protocol).synchronous ? 2u : 0u,
      .helpers = helpers_of(settings.plan, recipe, id),
      .pace = settings.pace.empty() ? Duration::zero()
                                    : read_setting("pace", settings.pace, parse_duration),
      .began_at = settings.began.empty() ? 0 : read_setting("began", settings.began, parse_number)};
}

// Answers questions and signals while the node runs.
RunEnd run_attended(Runtime& runtime, const LiveSettings& settings) {
  const StatusServer server(
      {.socket = fs::path(settings.folder) / "status.sock", .http_address = settings.metrics},
      [&](std::string_view format) {
        const NodeStatus status = runtime.status();
        if (format == "json") return to_json(status);
        return format == "prometheus" ? to_prometheus(status) : to_text(status);
      });
  const StopOnSignal until_the_end(runtime);
  return runtime.run();
}

}  // namespace

RunEnd run_live_node(const LiveSettings& settings, const std::string& command) {
  const Stopwatch watch;
  const Experiment& plan = settings.plan;
  // Lines are read before data is loaded: a slip is answered at once.
  const NodeRecipe recipe(plan);
  const auto roster_changed_at = RosterWatch::changed_at(settings.roster);
  const Result<Roster> roster = Roster::read(settings.roster);
  if (!roster.ok()) throw std::invalid_argument(roster.error().message);
  const NodeId id = find_member(*roster, settings, plan.node_count()).id;
  RuntimeOptions options = options_of(settings, recipe, id);
  RunFolder::check(settings.folder, to_toml(plan), ExistingRun::kResume);
  Learning lesson = make_lesson(plan, read_setting("threads", settings.threads, parse_threads));
  RunFolder folder(settings.folder, to_toml(plan), ExistingRun::kResume);

  const auto transport = make_transport(settings, *roster, id, recipe, lesson.trainer->dimension());
  RosterWatch roster_watch(settings.roster, roster_changed_at, *transport);
  Records records(folder, roster_watch);
  RuntimeParts parts{.id = id,
                     .name = settings.name,
                     .make_node =
                         [&](Vector model) {
                           return recipe.make(id, std::move(model), lesson.trainer->tensors());
                         },
                     .trainer = lesson.trainer.get(),
                     .evaluator = lesson.evaluator.get(),
                     .transport = transport.get(),
                     .observer = &records};
  Runtime runtime(std::move(parts), std::move(options));
  restore(runtime, folder, records);
  if (!settings.record.empty()) {
    const EventLogHeader header{.id = id,
                                .config = to_toml(plan),
                                .state = recorded_state(runtime.node(), *lesson.trainer)};
    records.record(std::make_unique<EventLogWriter>(settings.record, header));
  }
  records.say(fmt::format("{} is node {} of {}: {}", settings.name, id, plan.node_count(),
                          lesson.description));
  const RunEnd end = run_attended(runtime, settings);
  if (end == RunEnd::kFinished)
    write_results(settings, runtime, folder, records, watch.seconds(), command);
  return end;
}

}  // namespace tessera
