// `tessera sim`: a whole network of nodes in virtual time, into a run's folder.
#include <fmt/format.h>

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/spec.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/experiment.h"
#include "cli/world.h"
#include "data/class_table.h"
#include "report/round_log.h"
#include "report/run_folder.h"
#include "report/time_log.h"
#include "report/watch.h"

namespace tessera {
namespace {

constexpr int kInterrupted = 130;

volatile std::sig_atomic_t interrupted = 0;

// A second Ctrl-C ends the program at once.
void on_interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

struct Arguments {
  std::shared_ptr<ExperimentArguments> experiment{};
  std::string out{};
  std::string seeds{};
  std::string watch{};
  Round checkpoint_every = 0;
  unsigned threads = 0;
  bool resume = false, overwrite = false, quiet = false, save_models = false;
  std::string command{};
};

// The line that tells a person how far the run is: rewritten in place on a terminal, a line per
// evaluation elsewhere.
class Progress {
 public:
  Progress(bool quiet, std::uint32_t nodes, const World& world)
      : quiet_(quiet),
        terminal_(::isatty(STDERR_FILENO) != 0),
        nodes_(nodes),
        by_time_(world.until != kNever),
        end_(by_time_ ? to_seconds(world.until.time_since_epoch()) : world.rounds) {}

  void resumed_at(const Simulation& simulation) {
    first_ = by_time_ ? to_seconds(simulation.now().time_since_epoch()) : simulation.rounds_done();
    first_round_ = simulation.rounds_done();
  }

  void show(const MetricsRow& row) {
    if (quiet_) return;
    const double seconds = watch_.seconds();
    const double at = by_time_ ? row.virtual_seconds : row.round;
    const double left = at > first_ ? seconds / (at - first_) * (end_ - at) : 0;
    const std::string line = fmt::format(
        "{}  accuracy {:.1f}%  loss {:.3f}  sent {} per node  {:.0f} node-rounds/s{}",
        by_time_ ? fmt::format("{:g}/{:g} s", at, end_) : fmt::format("round {:g}/{:g}", at, end_),
        100 * row.accuracy.mean, row.loss.mean, show_bytes(row.bytes_per_node),
        (row.round - first_round_) * nodes_ / seconds,
        left > 0 ? "  " + show_duration(Duration(static_cast<std::int64_t>(left * 1e9))) + " left"
                 : "");
    if (terminal_)
      fmt::print(stderr, "\r{:<{}}", line, last_width_);
    else
      fmt::print(stderr, "{}\n", line);
    last_width_ = line.size();
    std::fflush(stderr);
  }
  void end() {
    if (!quiet_ && terminal_ && last_width_ > 0) fmt::print(stderr, "\n");
  }

 private:
  bool quiet_, terminal_;
  double nodes_;
  bool by_time_;
  double end_ = 0, first_ = 0, first_round_ = 0;
  std::size_t last_width_ = 0;
  Stopwatch watch_;
};

std::unique_ptr<RunLog> make_log(const World& world, std::uint32_t nodes, OnRow on_row) {
  Evaluator& evaluator = *world.lesson.evaluator;
  if (world.evaluate.period > Duration::zero())
    return std::make_unique<TimeLog>(evaluator, nodes, world.evaluate.period, world.until,
                                     std::move(on_row));
  return std::make_unique<RoundLog>(evaluator, nodes, world.evaluate.rounds, world.rounds,
                                    std::move(on_row));
}

// Trainer, simulation and measurements, in one buffer.
Bytes state_of(const World& world, const RunLog& log) {
  Bytes state;
  save_fields(*world.simulation, state);
  save_fields(*world.lesson.trainer, state);
  log.save(state);
  return state;
}

void restore(World& world, RunLog& log, ByteSpan state) {
  ByteReader in(state);
  Result<void> loaded = load_fields(*world.simulation, in);
  if (loaded.ok()) loaded = load_fields(*world.lesson.trainer, in);
  if (loaded.ok()) loaded = log.load(in);
  if (!loaded.ok()) throw std::runtime_error("cannot resume: " + loaded.error().message);
}

Summary summarize(const Experiment& experiment, const World& world, const RunLog& log) {
  Summary summary{.seed = experiment.seed_number(),
                  .nodes = experiment.node_count(),
                  .parameters = world.lesson.trainer->dimension(),
                  .last = log.latest().row,
                  .node_accuracy = log.latest().accuracy,
                  .node_loss = log.latest().loss,
                  .stragglers = world.stragglers,
                  .peak_rss_bytes = peak_rss_bytes(),
                  .model_digest = world.simulation->model_digest()};
  for (NodeId id = 0; id < world.simulation->node_count(); ++id)
    for (const auto& [reason, count] : world.simulation->node(id).refusals())
      summary.refusals[reason] += count;
  if (summary.last.network) summary.node_figures = log.latest().figures;
  const std::shared_ptr<const Graph> graph = world.topology->graph(0);
  for (NodeId id = 0; id < summary.nodes; ++id)
    for (const NodeId peer : graph->peers(id))
      if (id < peer) summary.edges.emplace_back(id, peer);
  if (const LoadedData& data = world.lesson.data; data.train && data.task.classes > 0) {
    summary.class_counts = class_counts(data, world.lesson.partition);
    summary.class_names = data.class_names;
  }
  return summary;
}

struct Outcome {
  std::string json{};
  bool stopped = false;
};

// Continues from the newest checkpoint, where there is one; else begins.
void begin_or_resume(World& world, RunLog& log, RunFolder& folder, const Arguments& arguments) {
  if (arguments.resume) {
    if (const auto restored = folder.read_checkpoint()) {
      for (const std::string& passed : restored->passed_over)
        fmt::print(stderr, "passed over {}\n", passed);
      if (!restored->state.empty()) {
        restore(world, log, restored->state);
        if (!arguments.quiet)
          fmt::print(stderr, "resuming after round {}\n", world.simulation->rounds_done());
        return;
      }
    }
    if (!arguments.quiet)
      fmt::print(stderr, "no checkpoint in {}: beginning anew\n", folder.path().string());
  }
  world.simulation->start();
}

void print_summary(const Summary& summary, const std::filesystem::path& out) {
  const MetricsRow& last = summary.last;
  const double metadata =
      last.bytes_per_node > 0 ? 1 - last.value_bytes_per_node / last.bytes_per_node : 0;
  const double loop = std::max(summary.loop_seconds, 1e-9);
  fmt::print(
      "accuracy {:.2f}% ({:.2f} to {:.2f}), loss {:.4f}, {} sent per node ({:.1f}% metadata), "
      "digest {:016x}\n",
      100 * last.accuracy.mean, 100 * last.accuracy.min, 100 * last.accuracy.max, last.loss.mean,
      show_bytes(last.bytes_per_node), 100 * metadata, summary.model_digest);
  fmt::print(
      "{:.1f} s: {:.1f} to load, {:.1f} for rounds ({:.0f}% training, {:.0f}% evaluating, {:.1f}% "
      "the rest)\n",
      summary.wall_seconds, summary.wall_seconds - summary.loop_seconds, summary.loop_seconds,
      100 * summary.training_seconds / loop, 100 * summary.evaluating_seconds / loop,
      100 * (1 - (summary.training_seconds + summary.evaluating_seconds) / loop));
  fmt::print("written to {}\n", out.string());
}

// Whether Ctrl-C came and this is the place to stop: the end of a round where rounds are in common.
class StopSign {
 public:
  explicit StopSign(const World& world) : by_time_(world.evaluate.period > Duration::zero()) {}
  bool says_stop(Round done) {
    if (!interrupted) return false;
    if (stop_after_ == 0) stop_after_ = done + 1;
    return by_time_ || done >= stop_after_;
  }

 private:
  bool by_time_;
  Round stop_after_ = 0;
};

// To the end, or to where Ctrl-C stops it: then true, with a checkpoint written.
bool run_to_end(World& world, RunLog& log, RunFolder& folder, const Arguments& arguments) {
  Simulation& simulation = *world.simulation;
  StopSign stop_sign(world);
  Round saved = simulation.rounds_done();
  while (true) {
    // When nothing is left to happen, time stands still, and the last row is of the end.
    while (simulation.next() != kNever && log.next_sample() <= simulation.next())
      log.sample(simulation);
    if (!simulation.step(log)) break;
    const Round done = simulation.rounds_done();
    const bool stop = stop_sign.says_stop(done) && !simulation.finished();
    const bool due = arguments.checkpoint_every > 0 && done >= saved + arguments.checkpoint_every;
    if (stop || (due && !simulation.finished())) {
      folder.write_checkpoint(done, state_of(world, log));
      saved = done;
    }
    if (stop) return true;
  }
  if (!simulation.finished()) throw std::runtime_error(simulation.why_stuck());
  log.finish(simulation);
  return false;
}

void export_all(const World& world, const std::filesystem::path& folder) {
  std::vector<std::span<const float>> models;
  for (NodeId id = 0; id < world.simulation->node_count(); ++id)
    models.emplace_back(world.simulation->node(id).model());
  export_models(world.lesson, models, folder);
}

Outcome run_one(const Experiment& experiment, const std::filesystem::path& out,
                const Arguments& arguments) {
  if (arguments.resume) {
    if (const auto summary = RunFolder::finished(out)) {
      RunFolder::check(out, to_toml(experiment), ExistingRun::kResume);
      fmt::print("{} came to its end before; there is nothing to resume\n", out.string());
      return {.json = *summary};
    }
  }
  const Stopwatch watch;
  const ExistingRun existing = arguments.resume      ? ExistingRun::kResume
                               : arguments.overwrite ? ExistingRun::kOverwrite
                                                     : ExistingRun::kRefuse;
  (void)parse_evaluate(experiment);
  RunFolder::check(out, to_toml(experiment), existing);
  World world = make_world(experiment, arguments.threads);
  // Not before: until here there is nothing to save, and Ctrl-C may simply end the program.
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  RunFolder folder(out, to_toml(experiment), existing);
  Simulation& simulation = *world.simulation;
  Progress progress(arguments.quiet, experiment.node_count(), world);
  const std::unique_ptr<RunLog> log =
      make_log(world, experiment.node_count(), [&](const MetricsRow& row) {
        folder.append_metrics(to_json_line(row));
        progress.show(row);
      });
  if (!arguments.quiet)
    fmt::print(stderr, "{} nodes, {}, into {}\n", experiment.node_count(), world.lesson.description,
               out.string());
  const Stopwatch loop;
  begin_or_resume(world, *log, folder, arguments);
  progress.resumed_at(simulation);

  const bool stopped = run_to_end(world, *log, folder, arguments);
  progress.end();
  if (stopped) {
    fmt::print(stderr, "stopped after round {}; the same command with --resume continues it\n",
               simulation.rounds_done());
    return {.stopped = true};
  }
  if (arguments.save_models) export_all(world, out / "models");
  Summary summary = summarize(experiment, world, *log);
  summary.wall_seconds = watch.seconds();
  summary.loop_seconds = loop.seconds();
  summary.training_seconds = world.time->training_s;
  summary.evaluating_seconds = world.time->evaluating_s;
  summary.command = arguments.command;
  print_summary(summary, out);
  Outcome outcome{.json = to_json(summary)};
  folder.write_summary(outcome.json);
  return outcome;
}

// "90..94" or "90,93": the seeds of several runs; nothing: the experiment's own.
std::vector<std::string> seeds_of(const std::string& text) {
  const auto wrong = [&] {
    return std::invalid_argument(fmt::format(
        "--seeds={}: write FIRST..LAST or a list without repeats, such as 90..94", text));
  };
  std::vector<std::string> seeds;
  try {
    if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
      const std::int64_t first = parse_integer(text.substr(0, dots));
      const std::int64_t last = parse_integer(text.substr(dots + 2));
      if (first < 0 || last < first || last - first > 10'000) throw wrong();
      for (std::int64_t seed = first; seed <= last; ++seed) seeds.push_back(std::to_string(seed));
    } else {
      for (const std::string_view seed : split(text, ',')) {
        seeds.push_back(std::to_string(parse_integer(seed)));
        if (seeds.back().starts_with('-')) throw wrong();
      }
    }
  } catch (const std::invalid_argument&) {
    throw wrong();
  }
  if (std::set<std::string>(seeds.begin(), seeds.end()).size() != seeds.size()) throw wrong();
  return seeds;
}

std::filesystem::path default_out(const Arguments& arguments) {
  if (!arguments.out.empty()) return arguments.out;
  const std::filesystem::path file(arguments.experiment->file);
  return std::filesystem::path("runs") / (file.empty() ? "experiment" : file.stem());
}

// A run per seed in a folder of its own, and their mean and spread above them.
int run_seeds(Experiment experiment, const std::vector<std::string>& seeds,
              const std::filesystem::path& out, const Arguments& arguments) {
  if (std::filesystem::exists(out / "config.toml"))
    throw std::invalid_argument(
        fmt::format("{} holds a run of one seed; choose another --out for several", out.string()));
  std::error_code ignored;
  if (!arguments.resume && !arguments.overwrite)
    for (const std::string& seed : seeds)
      if (std::filesystem::exists(out / ("seed-" + seed), ignored))
        throw std::invalid_argument(fmt::format(
            "{}/seed-{} is there already; add --resume, --overwrite, or choose another --out",
            out.string(), seed));
  std::filesystem::remove(out / "summary.json", ignored);
  std::vector<std::string> summaries;
  for (const std::string& seed : seeds) {
    experiment.seed = seed;
    const Outcome outcome = run_one(experiment, out / ("seed-" + seed), arguments);
    if (outcome.stopped) return kInterrupted;
    summaries.push_back(outcome.json);
  }
  const auto written = write_file(out / "summary.json", bytes_of(combine_summaries(summaries)));
  if (!written.ok()) throw std::runtime_error(written.error().message);
  return 0;
}

int run(const Arguments& arguments) {
  if (arguments.resume && arguments.overwrite)
    throw std::invalid_argument(
        "--resume continues a run and --overwrite throws it away: choose one");
  const Experiment experiment = arguments.experiment->resolve();
  const std::filesystem::path out = default_out(arguments);
  const std::vector<std::string> seeds = seeds_of(arguments.seeds);
  const std::unique_ptr<Watch> watch = start_watch(arguments.watch, out);
  if (!seeds.empty()) return run_seeds(experiment, seeds, out, arguments);
  return run_one(experiment, out, arguments).stopped ? kInterrupted : 0;
}

}  // namespace

Action add_sim(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  arguments->experiment = add_experiment_options(parser);
  parser.footer(
      "Exit codes: 0 done, 1 failed, 2 asked wrongly, 130 stopped by Ctrl-C with a checkpoint.\n\n"
      "Examples:\n"
      "  tessera sim experiments/fashion/jwins.toml --out=runs/jwins\n"
      "  tessera sim experiments/fashion/divshare.toml --watch\n"
      "  tessera sim experiments/toy.toml --seeds=90..94 --nodes=32 --out=runs/five");
  parser.add_option("--out", arguments->out,
                    "The run's folder (default: runs/ and the experiment's name)");
  parser.add_option("--seeds", arguments->seeds,
                    "Several runs: 90..94 or 90,93; mean and spread in summary.json");
  parser.add_option("--checkpoint-every", arguments->checkpoint_every,
                    "Rounds between checkpoints (default: none)");
  parser
      .add_option("--threads", arguments->threads,
                  "Worker threads; 0 takes one per core; the result is the same")
      ->check(CLI::Range(0u, 1024u));
  parser.add_flag("--resume", arguments->resume,
                  "Continue the run in --out from its last checkpoint");
  parser.add_flag("--overwrite", arguments->overwrite, "Throw the run in --out away");
  parser.add_flag("--export", arguments->save_models,
                  "Write the final models to models/ in --out, for torch.jit.load: each node's and "
                  "their average");
  parser.add_flag("--watch{any}", arguments->watch,
                  "Show the run in a browser on this machine while it goes on; --watch=PORT takes "
                  "that port");
  parser.add_flag("--quiet", arguments->quiet, "No progress; the summary only");
  return [arguments](const std::string& command_line) {
    arguments->command = command_line;
    return run(*arguments);
  };
}

}  // namespace tessera
