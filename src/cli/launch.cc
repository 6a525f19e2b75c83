// `tessera launch`: a live cluster on this machine, into a run's folder.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <tuple>

#include "base/folder_lock.h"
#include "base/output.h"
#include "base/spec.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/live_cluster.h"
#include "cli/live_nemesis.h"
#include "cli/live_progress.h"
#include "cli/live_restarts.h"
#include "cli/sim_run.h"
#include "live/link/options.h"
#include "live/log_line.h"
#include "report/watch.h"
#include "run/live_collect.h"
#include "run/live_fleet_feed.h"
#include "run/live_settings.h"
#include "run/made.h"
#include "run/plan.h"
#include "run/sweep.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kProcessesMax = 1000;
constexpr double kStopSeconds = 20;  // After that, those that have not stopped are killed.

struct Arguments {
  std::shared_ptr<ExperimentArguments> experiment{};
  std::string out{}, nemesis{}, watch{};
  std::uint32_t processes = 0;
  ClusterOptions cluster{.checkpoint = "10s", .gather = "10s", .linger = "30s", .log = "text"};
  bool restart = false, resume = false, overwrite = false, quiet = false, collect = false;
  std::string command{};
};

// Until every node has ended; false when that was because of Ctrl-C.
bool watch_over(LiveCluster& cluster, Nemesis& nemesis, const Arguments& arguments) {
  ClusterProgress progress(arguments.quiet);
  Restarts restarts(arguments.restart, arguments.quiet);
  Stopwatch since_interrupt;
  bool stopping = false;
  while (cluster.any_running() || restarts.any_due()) {
    ::usleep(20'000);
    for (Child* child : cluster.reap())
      if (!stopping) restarts.take(cluster, *child);
    restarts.start_those_due(cluster);
    if (interrupted() && !stopping) {
      stopping = true;
      restarts.forget();
      since_interrupt.restart();
      if (!arguments.quiet) print_err("stopping every node\n");
      cluster.signal_all(SIGCONT);
      cluster.signal_all(SIGTERM);
    }
    if (stopping && since_interrupt.seconds() > kStopSeconds) cluster.signal_all(SIGKILL);
    if (!stopping) nemesis.act(cluster);
    progress.show(cluster.children());
  }
  progress.end();
  return !stopping;
}

// The exit code: whether every node that came to its end has done its work.
int print_summary(const Summary& summary, const fs::path& out) {
  const MetricsRow& last = summary.last;
  print_out("accuracy {:.2f}% ({:.2f} to {:.2f}), loss {:.4f}, {} sent per node, digest {:016x}\n",
            100 * last.accuracy.mean, 100 * last.accuracy.min, 100 * last.accuracy.max,
            last.loss.mean, show_bytes(last.bytes_per_node), summary.model_digest);
  print_merged(last);
  print_out("{} live node{}, {:.1f} s: {:.1f} for {} rounds\nwritten to {}\n", summary.nodes,
            summary.nodes == 1 ? "" : "s", summary.took.all, last.seconds, last.round,
            out.string());
  if (last.hostile > 0)
    print_out("figures are of {} honest nodes; {} are hostile\n", summary.nodes - last.hostile,
              last.hostile);
  if (summary.shortfall.empty()) return 0;
  print_err("at the end, but the work is not done: {}\n", summary.shortfall);
  return kWorkNotDone;
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
  const FolderLock lock(out);
  const Plan plan = read_live_plan(read_experiment(folders.front() / "config.toml"));
  return print_summary(
      collect(plan, folders, {.out = out, .command = arguments.command, .made = made_now()}), out);
}

// The experiment with as many nodes as processes are asked for.
Experiment resolve(const Arguments& arguments) {
  Experiment experiment = arguments.experiment->resolve();
  const auto nodes = arguments.experiment->flags.find("nodes");
  if (arguments.processes == 0) return experiment;
  experiment.nodes = std::to_string(arguments.processes);
  if (nodes != arguments.experiment->flags.end() && !nodes->second.empty() &&
      nodes->second != experiment.nodes)
    throw std::invalid_argument(
        fmt::format("--processes={} and --nodes={} say the same thing differently: give one",
                    experiment.nodes, nodes->second));
  return experiment;
}

// A slip is answered before there is a folder.
void refuse_wrong_settings(const Plan& plan, const Arguments& arguments) {
  if (plan.nodes > kProcessesMax)
    throw std::invalid_argument(fmt::format(
        "{} nodes are too many processes for one machine, {} at most: simulate them, or "
        "use several machines (docs/deploy.md)",
        plan.nodes, kProcessesMax));
  const ClusterOptions& cluster = arguments.cluster;
  TransportOptions link;
  apply_link_options(cluster.link, link);
  (void)parse_log_form(cluster.log);
  if (!plan.faults.hostile().empty()) refuse_omniscient(plan.faults.attack());
  for (const std::string* time :
       {&cluster.checkpoint, &cluster.gather, &cluster.linger, &cluster.pace})
    if (!time->empty()) (void)parse_duration(*time);
}

// What only a simulation can have, an experiment may still say.
void tell_what_is_not_simulated(const Plan& plan) {
  const Experiment usual;
  Experiment experiment = plan.experiment;
  if (!plan.faults.any()) experiment.faults = usual.faults;
  for (const auto& [key, asked, none] : {std::tuple{"network", experiment.network, usual.network},
                                         std::tuple{"compute", experiment.compute, usual.compute},
                                         std::tuple{"faults", experiment.faults, usual.faults}})
    if (asked != none)
      print_err("note: {}={} is for simulations; live nodes have what there is\n", key, asked);
}

fs::path default_out(const Arguments& arguments) {
  if (!arguments.out.empty()) return arguments.out;
  if (const auto cell = named_cell(arguments.experiment->file))
    return fs::path("runs") / cell->first.stem() /
           (read_cell(cell->first, cell->second).name + "-live");
  const fs::path file(arguments.experiment->file);
  return fs::path("runs") / (file.empty() ? "live" : file.stem() += "-live");
}

// What the nodes of an earlier run left, which their folders' own checks do not see.
void clear(const fs::path& out, bool resume) {
  fs::remove(out / "metrics.jsonl");
  if (resume) return;
  for (const char* name : {"nodes", "logs", "summary.json"}) fs::remove_all(out / name);
}

std::unique_ptr<Watch> start_page(const Arguments& arguments, LiveCluster& cluster) {
  if (arguments.watch.empty()) return nullptr;
  std::vector<fs::path> sockets;
  for (const Child& child : cluster.children()) sockets.push_back(child.folder / "status.sock");
  const std::string title = default_out(arguments).filename().string();
  return start_watch(arguments.watch, watch_fleet(title, ask_sockets(std::move(sockets))));
}

int run(const Arguments& arguments) {
  const ExistingRun existing = existing_run(arguments.resume, arguments.overwrite);
  if (arguments.collect) return collect_only(arguments);
  const Stopwatch watch;
  const Plan plan = read_live_plan(resolve(arguments));
  refuse_wrong_settings(plan, arguments);
  Nemesis nemesis(arguments.nemesis);
  tell_what_is_not_simulated(plan);
  const fs::path out = default_out(arguments);
  const RunFolder folder(out, to_toml(plan.experiment), existing);
  clear(out, arguments.resume);

  listen_for({SIGINT, SIGTERM, SIGHUP}, SecondSignal::kChangesNothing);
  ClusterOptions options = arguments.cluster;
  options.folder = out;
  options.absent = nemesis.absent();
  options.program = fs::read_symlink("/proc/self/exe");
  LiveCluster cluster(plan, std::move(options));
  if (!arguments.quiet)
    print_err("{} live nodes into {}; tessera status {}\n", cluster.children().size(), out.string(),
              out.string());
  for (Child& child : cluster.children()) cluster.start(child);
  const std::unique_ptr<Watch> page = start_page(arguments, cluster);
  if (!watch_over(cluster, nemesis, arguments)) {
    print_err("stopped; the same command with --resume continues it\n");
    return kInterrupted;
  }
  nemesis.report();
  std::vector<fs::path> folders;
  for (const Child& child : cluster.children()) folders.push_back(child.folder);
  return print_summary(collect(plan, folders,
                               {.out = out,
                                .seconds = watch.seconds(),
                                .command = arguments.command,
                                .made = made_now()}),
                       out);
}

void add_cluster_options(CLI::App& parser, ClusterOptions& cluster) {
  parser.add_option("--link", cluster.link, "What links are told, see: tessera node --help");
  parser.add_option("--checkpoint", cluster.checkpoint, "Time between checkpoints (default: 10s)");
  parser.add_option("--gather", cluster.gather,
                    "How long nodes wait for the others before they begin (default: 10s)");
  parser.add_option("--linger", cluster.linger,
                    "How long nodes that have finished stay for the others (default: 30s)");
  parser.add_option("--log", cluster.log,
                    "How logs/ are written: text, or json, an object a line (default: text)");
  parser.add_option("--pace", cluster.pace,
                    "Training takes at least this long, to stand in for slower machines");
  parser.add_option("--skipped", cluster.skipped,
                    "The part of its rounds a node may skip and still have finished (default: 0.1; "
                    "with --nemesis: 1)");
  parser.add_option("--prefix", cluster.prefix,
                    "Put before every node's command, such as 'ip netns exec peer-{id}'");
  parser.add_option("--host", cluster.host,
                    "Where every node is reached, such as 10.0.0.{id} (default: 127.0.0.1)");
  parser.add_flag("--record", cluster.record,
                  "Write every node's events to logs/*.events, a file per start");
}

}  // namespace

Action add_launch(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  arguments->experiment = add_experiment_options(parser);
  parser.footer(
      "Exit codes: 0 done, 1 failed, 2 asked wrongly, 3 came to the end with rounds skipped or "
      "most\n"
      "of them alone, 130 stopped by Ctrl-C with checkpoints.\n\n"
      "Examples:\n"
      "  tessera launch experiments/toy.toml --processes=8 --out=runs/live\n"
      "  tessera launch experiments/fashion.toml --processes=8 --restart");
  parser
      .add_option("--processes", arguments->processes,
                  "How many nodes, a process each; the same as --nodes")
      ->check(CLI::Range(std::uint32_t{1}, kProcessesMax));
  parser.add_option("--out", arguments->out,
                    "The run's folder (default: runs/, the experiment's name and -live)");
  add_cluster_options(parser, arguments->cluster);
  parser.add_option(
      "--nemesis", arguments->nemesis,
      "Disturb: for=2min,after=5s,every=1s,seed=1 kills, stops and restarts random nodes, "
      "full=5s fills their disks, absent=1 adds a member that nobody can find; with "
      "--restart");
  parser.add_flag("--restart", arguments->restart,
                  "Start nodes that die again; given up after 5 failures without a new checkpoint");
  parser.add_flag("--watch{any}", arguments->watch,
                  "Show the nodes in a browser on this machine while they run; --watch=PORT takes "
                  "that port");
  parser.add_flag("--collect", arguments->collect,
                  "Start nothing: put together what nodes that ran elsewhere left in --out/nodes, "
                  "however far they came");
  parser.add_flag("--resume", arguments->resume, "Continue the run in --out");
  parser.add_flag("--overwrite", arguments->overwrite, "Throw the run in --out away");
  parser.add_flag("--quiet", arguments->quiet, "No progress; the summary only");
  return [arguments](const std::string& command_line) {
    arguments->command = command_line;
    // Whoever kills nodes on purpose knows that they miss rounds.
    if (!arguments->nemesis.empty() && arguments->cluster.skipped.empty())
      arguments->cluster.skipped = "1";
    return run(*arguments);
  };
}

}  // namespace tessera
