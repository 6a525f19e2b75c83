// `tessera launch`: a live cluster on this machine, into a run's folder.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/files.h"
#include "base/spec.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/experiment.h"
#include "cli/live_cluster.h"
#include "cli/live_collect.h"
#include "cli/live_nemesis.h"
#include "cli/world.h"
#include "live/status_server.h"
#include "report/run_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int kInterrupted = 130;
constexpr double kStopSeconds = 20;  // After that, those that have not stopped are killed.

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
      const Result<std::string> answer = ask_status(child.folder / "status.sock", "json");
      if (!answer.ok()) continue;
      const auto json = nlohmann::json::parse(*answer, nullptr, false);
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
};

// A wrong setting ends every start alike; anything else may go better the next time.
bool worth_restarting(const Child& child) {
  return *child.ended != 2 && *child.ended != 127;
}

void deal_with(Cluster& cluster, Child& child, const Arguments& arguments) {
  if (*child.ended == 0) return;
  const std::string how = *child.ended > 128 ? fmt::format("signal {}", *child.ended - 128)
                                             : fmt::format("exit code {}", *child.ended);
  const std::string why =
      fmt::format("{} ended with {} ({}): {}", child.name, how, child.log.string(),
                  *child.ended > 128 ? "killed" : last_words(child));
  if (!arguments.restart || !worth_restarting(child)) throw std::runtime_error(why);
  if (!arguments.quiet) fmt::print(stderr, "{}; starting it again\n", why);
  cluster.start(child);
}

// Until every node has ended; true when that was because of Ctrl-C.
bool watch_over(Cluster& cluster, Nemesis& nemesis, const Arguments& arguments) {
  ClusterProgress progress(arguments.quiet);
  Stopwatch since_interrupt;
  bool stopping = false;
  while (cluster.any_running()) {
    ::usleep(20'000);
    for (Child* child : cluster.reap())
      if (!stopping) deal_with(cluster, *child, arguments);
    if (launch_interrupted && !stopping) {
      stopping = true;
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
  fmt::print("{} live nodes, {:.1f} s: {:.1f} for {} rounds\nwritten to {}\n", summary.nodes,
             seconds, last.virtual_seconds, last.round, out.string());
}

// Nodes that ran elsewhere: each folder in nodes/ is one, and their names are in the order of ids.
int collect_only(const Arguments& arguments) {
  const fs::path out(arguments.out);
  std::vector<fs::path> folders;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(out / "nodes", missing))
    folders.push_back(entry.path());
  if (folders.empty())
    throw std::invalid_argument(
        "--collect: there are no folders of nodes in --out=" + out.string() + "/nodes");
  std::sort(folders.begin(), folders.end());
  write_results(read_experiment(folders.front() / "config.toml"), folders, out, 0, arguments);
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.collect) return collect_only(arguments);
  const Stopwatch watch;
  Experiment experiment = arguments.experiment->resolve();
  if (arguments.processes > 0) experiment.nodes = std::to_string(arguments.processes);
  Nemesis nemesis(arguments.nemesis);
  (void)NodeRecipe(experiment);
  (void)parse_evaluate(experiment);
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

  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_interrupt_launch);
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
      "  tessera launch experiments/fashion_jwins.toml --processes=8 --restart");
  parser.add_option("--processes", arguments->processes,
                    "How many nodes, a process each; the same as --nodes");
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
  parser.add_flag("--restart", arguments->restart, "Start nodes that die again");
  parser.add_flag("--record", arguments->record, "Write every node's events to logs/*.events");
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
