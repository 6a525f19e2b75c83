// `tessera launch`: a live cluster on this machine, into a run's folder.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "base/files.h"
#include "base/spec.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/experiment.h"
#include "cli/live_cluster.h"
#include "cli/live_collect.h"
#include "cli/live_nemesis.h"
#include "cli/live_settings.h"
#include "cli/world.h"
#include "live/status_server.h"
#include "report/run_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int kInterrupted = 130;
constexpr std::uint32_t kProcessesMax = 1000;
constexpr double kStopSeconds = 20;  // After that, those that have not stopped are killed.
constexpr int kFailedStarts = 5;     // In a row, until a node is given up.
constexpr double kFirstPauseSeconds = 0.2, kLongestPauseSeconds = 10;
// A line of progress may not keep the launcher from its nodes: who answers at all does so at once.
constexpr Duration kAskPatience = std::chrono::milliseconds(100);
constexpr double kAskSeconds = 0.5, kAskAgainSeconds = 10;

volatile std::sig_atomic_t launch_interrupted = 0;
void on_interrupt_launch(int) {
  launch_interrupted = 1;
}

struct Arguments {
  std::shared_ptr<ExperimentArguments> experiment{};
  std::string out{}, link{}, checkpoint = "10s", linger = "30s", nemesis{}, pace{}, prefix{},
                             host = "127.0.0.1";
  std::uint32_t processes = 0;
  bool restart = false, resume = false, overwrite = false, quiet = false, record = false,
       collect = false;
  std::string command{};
};

// One line for all nodes, rewritten in place on a terminal.
class ClusterProgress {
 public:
  explicit ClusterProgress(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0) {}

  void show(const std::vector<Child>& children) {
    if (quiet_ || watch_.seconds() - shown_at_ < (terminal_ ? 0.5 : 5)) return;
    shown_at_ = watch_.seconds();
    std::uint64_t slowest = ~0ull, fastest = 0, answered = 0, rounds = 0;
    double accuracy = 0, bytes = 0;
    for (const Child& child : children) {
      if (watch_.seconds() - shown_at_ > kAskSeconds || launch_interrupted) break;
      const nlohmann::json json = ask(child);
      if (json.is_discarded()) continue;
      ++answered;
      slowest = std::min(slowest, json["round"].get<std::uint64_t>());
      fastest = std::max(fastest, json["round"].get<std::uint64_t>());
      rounds = json["rounds"].get<std::uint64_t>();
      accuracy += json["accuracy"].get<double>();
      bytes += json["bytes_sent"].get<double>();
    }
    if (answered == 0) return;
    const auto count = static_cast<double>(answered);
    print(fmt::format("round {} to {}{}  accuracy {:.1f}%  sent {} per node  {} of {} nodes answer",
                      slowest, fastest, rounds > 0 ? fmt::format(" of {}", rounds) : "",
                      100 * accuracy / count, show_bytes(bytes / count), answered,
                      children.size()));
  }
  void end() {
    if (width_ > 0 && terminal_) fmt::print(stderr, "\n");
  }

 private:
  // One that is frozen is left alone for a while; one that is not there yet says so at once.
  nlohmann::json ask(const Child& child) {
    const nlohmann::json nothing(nlohmann::json::value_t::discarded);
    const double now = watch_.seconds();
    const auto frozen = ask_again_at_.find(child.id);
    if (child.pid == 0 || (frozen != ask_again_at_.end() && now < frozen->second)) return nothing;
    const auto answer = ask_status(child.folder / "status.sock", "json", kAskPatience);
    if (answer.ok()) return nlohmann::json::parse(*answer, nullptr, false);
    if (watch_.seconds() - now > to_seconds(kAskPatience) / 2)
      ask_again_at_[child.id] = now + kAskAgainSeconds;
    return nothing;
  }
  void print(const std::string& line) {
    if (terminal_)
      fmt::print(stderr, "\r{:<{}}", line, width_);
    else
      fmt::print(stderr, "{}\n", line);
    width_ = line.size();
    std::fflush(stderr);
  }

  bool quiet_, terminal_;
  std::size_t width_ = 0;
  double shown_at_ = 0;
  Stopwatch watch_;
  std::map<NodeId, double> ask_again_at_;
};

// A wrong setting ends every start alike; anything else may go better the next time.
bool worth_restarting(const Child& child) {
  return *child.ended != 2 && *child.ended != 127;
}

// From outside, and no fault of the node: it may go on at once.
bool was_killed(const Child& child) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGHUP})
    if (*child.ended == 128 + signal) return true;
  return false;
}

std::string how_it_ended(const Child& child) {
  const std::string how = *child.ended > 128 ? fmt::format("signal {}", *child.ended - 128)
                                             : fmt::format("exit code {}", *child.ended);
  return fmt::format("{} ended with {} ({}): {}", child.name, how, child.log.string(),
                     was_killed(child) ? "killed" : last_words(child));
}

// Starts nodes again that have died. One that fails comes back from its checkpoint to do the same
// again, as a model that diverges does: each time that brings no later checkpoint it waits twice as
// long, and in the end it is given up.
class Restarts {
 public:
  explicit Restarts(const Arguments& arguments) : arguments_(arguments) {}

  // Throws std::runtime_error when the cluster cannot go on.
  void take(Cluster& cluster, Child& child) {
    if (*child.ended == 0) return;
    const std::string why = how_it_ended(child);
    if (!arguments_.restart || !worth_restarting(child)) throw std::runtime_error(why);
    const double pause = was_killed(child) ? 0 : pause_after_failure(child);
    if (!arguments_.quiet) fmt::print(stderr, "{}; starting it again\n", why);
    if (pause == 0) return cluster.start(child);
    start_at_[child.id] = watch_.seconds() + pause;
  }
  void start_those_due(Cluster& cluster) {
    for (Child& child : cluster.children()) {
      const auto due = start_at_.find(child.id);
      if (due == start_at_.end() || watch_.seconds() < due->second) continue;
      start_at_.erase(due);
      cluster.start(child);
    }
  }
  bool any_due() const { return !start_at_.empty(); }
  void forget() { start_at_.clear(); }

 private:
  struct Failures {
    int in_a_row = 0;
    std::optional<Round> saved{};
  };

  double pause_after_failure(const Child& child) {
    Failures& failures = failures_[child.id];
    const std::optional<Round> saved = saved_round(child);
    if (saved > failures.saved) failures = {.in_a_row = 0, .saved = saved};
    if (++failures.in_a_row >= kFailedStarts)
      throw std::runtime_error(fmt::format("given up after {} starts that saved no new round: {}",
                                           failures.in_a_row, how_it_ended(child)));
    return std::min(kLongestPauseSeconds, kFirstPauseSeconds * (1 << (failures.in_a_row - 1)));
  }

  const Arguments& arguments_;
  std::map<NodeId, Failures> failures_;
  std::map<NodeId, double> start_at_;
  Stopwatch watch_;
};

// Until every node has ended; true when that was because of Ctrl-C.
bool watch_over(Cluster& cluster, Nemesis& nemesis, const Arguments& arguments) {
  ClusterProgress progress(arguments.quiet);
  Restarts restarts(arguments);
  Stopwatch since_interrupt;
  bool stopping = false;
  while (cluster.any_running() || restarts.any_due()) {
    ::usleep(20'000);
    for (Child* child : cluster.reap())
      if (!stopping) restarts.take(cluster, *child);
    restarts.start_those_due(cluster);
    if (launch_interrupted && !stopping) {
      stopping = true;
      restarts.forget();
      since_interrupt.restart();
      if (!arguments.quiet) fmt::print(stderr, "stopping every node\n");
      cluster.signal_all(SIGCONT);
      cluster.signal_all(SIGTERM);
    }
    if (stopping && since_interrupt.seconds() > kStopSeconds) cluster.signal_all(SIGKILL);
    if (!stopping) nemesis.act(cluster);
    progress.show(cluster.children());
  }
  progress.end();
  return stopping;
}

void clear_for_new_run(const fs::path& out) {
  for (const char* name : {"nodes", "logs", "metrics.jsonl", "summary.json"})
    fs::remove_all(out / name);
}

void write_or_throw(const fs::path& path, std::string_view text) {
  if (const auto written = write_file(path, bytes_of(text)); !written.ok())
    throw std::runtime_error(written.error().message);
}

// Makes one run's records of the nodes' own.
void write_results(const Experiment& experiment, std::span<const fs::path> folders,
                   const fs::path& out, double seconds, const Arguments& arguments) {
  Collected collected = collect(folders, parse_evaluate(experiment).period > Duration::zero());
  std::string rows;
  for (const MetricsRow& row : collected.rows) rows += to_json_line(row) + "\n";
  write_or_throw(out / "config.toml", to_toml(experiment));
  write_or_throw(out / "metrics.jsonl", rows);
  Summary& summary = collected.summary;
  summary.seed = experiment.seed_number();
  summary.wall_seconds = seconds;
  summary.loop_seconds = summary.last.virtual_seconds;
  summary.command = arguments.command;
  const std::shared_ptr<const Graph> graph = make_topology(experiment)->graph(0);
  for (NodeId id = 0; id < summary.nodes; ++id)
    for (const NodeId peer : graph->peers(id))
      if (id < peer) summary.edges.emplace_back(id, peer);
  write_or_throw(out / "summary.json", to_json(summary));
  const MetricsRow& last = summary.last;
  fmt::print("accuracy {:.2f}% ({:.2f} to {:.2f}), loss {:.4f}, {} sent per node, digest {:016x}\n",
             100 * last.accuracy.mean, 100 * last.accuracy.min, 100 * last.accuracy.max,
             last.loss.mean, show_bytes(last.bytes_per_node), summary.model_digest);
  fmt::print("{} live node{}, {:.1f} s: {:.1f} for {} rounds\nwritten to {}\n", summary.nodes,
             summary.nodes == 1 ? "" : "s", seconds, last.virtual_seconds, last.round,
             out.string());
}

// What is ignored stays so: nohup asks that of SIGHUP.
void listen_for_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, on_interrupt_launch) == SIG_IGN) std::signal(signal, SIG_IGN);
}

// Nodes that ran elsewhere: each folder in nodes/ is one, and their names are in the order of ids.
int collect_only(const Arguments& arguments) {
  if (arguments.out.empty())
    throw std::invalid_argument("--collect needs --out, the folder with the nodes' own in nodes/");
  const fs::path out(arguments.out);
  const std::vector<fs::path> folders = node_folders(out / "nodes");
  if (folders.empty())
    throw std::invalid_argument(
        "--collect: there are no folders of nodes in --out=" + out.string() + "/nodes");
  write_results(read_experiment(folders.front() / "config.toml"), folders, out, 0, arguments);
  return 0;
}

// A slip is answered before there is a folder.
Experiment resolve(const Arguments& arguments) {
  Experiment experiment = arguments.experiment->resolve();
  const auto nodes = arguments.experiment->flags.find("nodes");
  if (arguments.processes > 0) {
    experiment.nodes = std::to_string(arguments.processes);
    if (nodes != arguments.experiment->flags.end() && !nodes->second.empty() &&
        nodes->second != experiment.nodes)
      throw std::invalid_argument(
          fmt::format("--processes={} and --nodes={} say the same thing differently: give one",
                      experiment.nodes, nodes->second));
  }
  if (experiment.node_count() > kProcessesMax)
    throw std::invalid_argument(fmt::format(
        "{} nodes are too many processes for one machine, {} at most: simulate them, or "
        "use several machines (docs/deploy.md)",
        experiment.nodes, kProcessesMax));
  (void)NodeRecipe(experiment);
  (void)parse_evaluate(experiment);
  TransportOptions link;
  apply_link_options(arguments.link, link);
  for (const std::string* time : {&arguments.checkpoint, &arguments.linger, &arguments.pace})
    if (!time->empty()) (void)parse_duration(*time);
  return experiment;
}

// What only a simulation can have, an experiment may still say.
void tell_what_is_not_simulated(const Experiment& experiment) {
  const Experiment usual;
  for (const auto& [key, asked, none] : {std::tuple{"network", experiment.network, usual.network},
                                         std::tuple{"compute", experiment.compute, usual.compute},
                                         std::tuple{"faults", experiment.faults, usual.faults}})
    if (asked != none)
      fmt::print(stderr, "note: {}={} is for simulations; live nodes have what there is\n", key,
                 asked);
}

int run(const Arguments& arguments) {
  if (arguments.resume && arguments.overwrite)
    throw std::invalid_argument(
        "--resume continues a run and --overwrite throws it away: choose one");
  if (arguments.collect) return collect_only(arguments);
  const Stopwatch watch;
  const Experiment experiment = resolve(arguments);
  Nemesis nemesis(arguments.nemesis);
  tell_what_is_not_simulated(experiment);
  const fs::path file(arguments.experiment->file);
  const fs::path out = !arguments.out.empty()
                           ? fs::path(arguments.out)
                           : fs::path("runs") / (file.empty() ? "live" : file.stem() += "-live");
  const ExistingRun existing = arguments.resume      ? ExistingRun::kResume
                               : arguments.overwrite ? ExistingRun::kOverwrite
                                                     : ExistingRun::kRefuse;
  const RunFolder folder(out, to_toml(experiment), existing);
  if (!arguments.resume) clear_for_new_run(out);
  fs::remove(out / "metrics.jsonl");

  listen_for_interrupts();
  Cluster cluster(experiment, {.folder = out,
                               .program = fs::read_symlink("/proc/self/exe"),
                               .link = arguments.link,
                               .checkpoint = arguments.checkpoint,
                               .linger = arguments.linger,
                               .pace = arguments.pace,
                               .prefix = arguments.prefix,
                               .host = arguments.host,
                               .record = arguments.record});
  if (!arguments.quiet)
    fmt::print(stderr, "{} live nodes into {}; tessera status {}\n", cluster.children().size(),
               out.string(), out.string());
  for (Child& child : cluster.children()) cluster.start(child);
  if (watch_over(cluster, nemesis, arguments)) {
    fmt::print(stderr, "stopped; the same command with --resume continues it\n");
    return kInterrupted;
  }
  nemesis.report();
  std::vector<fs::path> folders;
  for (const Child& child : cluster.children()) folders.push_back(child.folder);
  write_results(experiment, folders, out, watch.seconds(), arguments);
  return 0;
}

}  // namespace

Action add_launch(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  arguments->experiment = add_experiment_options(parser);
  parser.footer(
      "Exit codes: 0 done, 1 failed, 2 asked wrongly, 130 stopped by Ctrl-C with checkpoints.\n\n"
      "Examples:\n"
      "  tessera launch experiments/toy.toml --processes=8 --out=runs/live\n"
      "  tessera launch experiments/fashion/jwins.toml --processes=8 --restart");
  parser
      .add_option("--processes", arguments->processes,
                  "How many nodes, a process each; the same as --nodes")
      ->check(CLI::Range(std::uint32_t{1}, kProcessesMax));
  parser.add_option("--out", arguments->out,
                    "The run's folder (default: runs/, the experiment's name and -live)");
  parser.add_option("--link", arguments->link, "What links are told, see: tessera node --help");
  parser.add_option("--checkpoint", arguments->checkpoint,
                    "Time between checkpoints (default: 10s)");
  parser.add_option("--linger", arguments->linger,
                    "How long nodes that have finished stay for the others (default: 30s)");
  parser.add_option("--pace", arguments->pace,
                    "Training takes at least this long, to stand in for slower machines");
  parser.add_option("--prefix", arguments->prefix,
                    "Put before every node's command, such as 'ip netns exec peer-{id}'");
  parser.add_option("--host", arguments->host,
                    "Where every node is reached, such as 10.0.0.{id} (default: 127.0.0.1)");
  parser.add_option("--nemesis", arguments->nemesis,
                    "Disturb: for=2min,every=1s,seed=1 kills, stops and restarts random nodes; "
                    "with --restart");
  parser.add_flag("--restart", arguments->restart,
                  "Start nodes that die again; given up after 5 failures without a new checkpoint");
  parser.add_flag("--record", arguments->record,
                  "Write every node's events to logs/*.events, a file per start");
  parser.add_flag("--collect", arguments->collect,
                  "Start nothing: put together what nodes that ran elsewhere left in --out/nodes");
  parser.add_flag("--resume", arguments->resume, "Continue the run in --out");
  parser.add_flag("--overwrite", arguments->overwrite, "Throw the run in --out away");
  parser.add_flag("--quiet", arguments->quiet, "No progress; the summary only");
  return [arguments](const std::string& command_line) {
    arguments->command = command_line;
    return run(*arguments);
  };
}

}  // namespace tessera
