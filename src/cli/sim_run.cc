#include "cli/sim_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>

#include "base/output.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/made.h"
#include "cli/sim_progress.h"
#include "report/checkpoint_file.h"
#include "run/longer.h"
#include "run/simulated_run.h"

namespace tessera {
namespace {

void print_ending(const Summary& summary, const std::filesystem::path& out) {
  const MetricsRow& last = summary.last;
  const double metadata =
      last.bytes_per_node > 0 ? 1 - last.value_bytes_per_node / last.bytes_per_node : 0;
  const double loop = std::max(summary.took.loop, 1e-9);
  print_out(
      "accuracy {:.2f}% ({:.2f} to {:.2f}), loss {:.4f}, {} sent per node ({:.1f}% metadata), "
      "digest {:016x}\n",
      100 * last.accuracy.mean, 100 * last.accuracy.min, 100 * last.accuracy.max, last.loss.mean,
      show_bytes(last.bytes_per_node), 100 * metadata, summary.model_digest);
  print_merged(last);
  print_out(
      "{:.1f} s: {:.1f} to load, {:.1f} for rounds ({:.0f}% training, {:.0f}% evaluating, {:.1f}% "
      "the rest)\n",
      summary.took.all, summary.took.all - summary.took.loop, summary.took.loop,
      100 * summary.took.training / loop, 100 * summary.took.evaluating / loop,
      100 * (1 - (summary.took.training + summary.took.evaluating) / loop));
  if (last.hostile > 0)
    print_out("figures are of {} honest nodes; {} are hostile\n", summary.nodes - last.hostile,
              last.hostile);
  print_out("written to {}\n", out.string());
}

// From here on the folder is of the longer run, whenever this process ends.
void lengthen(SimulatedRun& run, const Plan& before, RunFolder& folder, Round saved_at) {
  run.lengthen(before);
  Bytes state;
  save_fields(run, state);
  folder.write_checkpoint(saved_at, state);
  folder.write_config(to_toml(run.plan().experiment));
}

// Continues from the newest checkpoint, where there is one; else begins. `before` is the shorter
// plan of a run that is to become longer.
void begin_or_resume(SimulatedRun& run, RunFolder& folder, const SimOptions& options,
                     const std::optional<Plan>& before) {
  if (options.existing == ExistingRun::kResume) {
    if (const auto restored = folder.read_checkpoint()) {
      for (const std::string& note : restored->notes) print_err("{}\n", note);
      if (!restored->state.empty()) {
        ByteReader in(restored->state);
        or_throw(load_fields(run, in), "cannot resume: ");
        if (before) lengthen(run, *before, folder, restored->round);
        if (!options.quiet) print_err("resuming after round {}\n", run.simulation().rounds_done());
        return;
      }
    }
    if (before) folder.write_config(to_toml(run.plan().experiment));
    if (!options.quiet) print_err("no checkpoint in {}: beginning anew\n", folder.path().string());
  }
  run.start();
}

// Whether a signal came and this is the place to stop: the end of a round where rounds are in
// common.
class StopSign {
 public:
  explicit StopSign(bool by_time) : by_time_(by_time) {}
  bool says_stop(Round done) {
    if (!interrupted()) return false;
    if (stop_after_ == 0) stop_after_ = done + 1;
    return by_time_ || done >= stop_after_;
  }

 private:
  bool by_time_;
  Round stop_after_ = 0;
};

// Saves a run between two steps.
class Saver {
 public:
  Saver(const SimulatedRun& run, RunFolder& folder, CheckpointEvery every)
      : run_(run), folder_(folder), schedule_(every, run.simulation().rounds_done()) {}

  void save() {
    const Stopwatch watch;
    const Round done = run_.simulation().rounds_done();
    Bytes state;
    state.reserve(bytes_before_);
    save_fields(run_, state);
    bytes_before_ = state.size();
    folder_.write_checkpoint(done, state);
    schedule_.saved(done, watch.seconds());
    since_.restart();
  }

  // A disk that is full now may have room in a minute, and the run is worth more than its copy.
  void save_if_due() {
    const Round done = run_.simulation().rounds_done();
    if (!schedule_.is_due(done, since_.seconds())) return;
    try {
      save();
    } catch (const std::runtime_error& error) {
      print_err("no checkpoint after round {}: {}\n", done, error.what());
      schedule_.saved(done, 0);
      since_.restart();
    }
  }

 private:
  const SimulatedRun& run_;
  RunFolder& folder_;
  CheckpointSchedule schedule_;
  Stopwatch since_{};
  std::size_t bytes_before_ = 0;
};

// To the end, or to where a signal stops it: then false, with a checkpoint written.
bool run_to_end(SimulatedRun& run, RunFolder& folder, const SimOptions& options) {
  const Simulation& simulation = run.simulation();
  StopSign stop_sign(run.plan().evaluate.by_time());
  Saver saver(run, folder, options.checkpoint_every);
  bool kept = false;  // Nothing is saved after what is to be kept.
  const auto step = [&] {
    if (options.keep && !kept && run.about_to_end()) saver.save(), kept = true;
    return run.step();
  };
  while (step()) {
    if (simulation.finished()) continue;
    if (stop_sign.says_stop(simulation.rounds_done())) {
      saver.save();
      return false;
    }
    if (!kept) saver.save_if_due();
  }
  run.finish();
  return true;
}

bool carry_out(SimulatedRun& run, RunFolder& folder, const SimOptions& options,
               const std::optional<Plan>& before) {
  SimProgress progress(run.plan(), options.quiet);
  run.on_row([&](const MetricsRow& row) {
    folder.append_metrics(to_json_line(row));
    progress.show(row);
  });
  begin_or_resume(run, folder, options, before);
  progress.begins_at(run.simulation());
  const bool ended = run_to_end(run, folder, options);
  progress.end();
  if (!ended)
    print_err("stopped after round {}; the same command with --resume continues it\n",
              run.simulation().rounds_done());
  return ended;
}

}  // namespace

void print_merged(const MetricsRow& row) {
  if (!row.merged) return;
  print_out(
      "their mean: accuracy {:.2f}%, loss {:.4f}; nodes are {:.3g} from it, {:.3g} of its norm\n",
      100 * row.merged->score.accuracy, row.merged->score.loss, row.merged->distance,
      row.merged->relative_distance);
}

ExistingRun existing_run(bool resume, bool overwrite) {
  if (resume && overwrite)
    throw std::invalid_argument(
        "--resume continues a run and --overwrite throws it away: choose one");
  return resume ? ExistingRun::kResume : overwrite ? ExistingRun::kOverwrite : ExistingRun::kRefuse;
}

std::optional<std::string> simulate(const Experiment& experiment, const std::filesystem::path& out,
                                    const SimOptions& options) {
  const Stopwatch watch;
  // Lines are read before data is loaded: a slip in a flag is answered at once.
  const Plan plan = read_plan(experiment);
  const std::string config = to_toml(plan.experiment);
  const bool resumes = options.existing == ExistingRun::kResume;
  const std::optional<Plan> before = resumes ? plan_to_lengthen(out, plan) : std::nullopt;
  const std::string former = before ? to_toml(before->experiment) : "";
  RunFolder::check(out, config, options.existing, former);
  const auto finished = RunFolder::finished(out);
  if (finished && resumes && !before) {
    print_out("{} came to its end before; there is nothing to resume\n", out.string());
    return finished;
  }
  if (finished && before && checkpoints_in(out / "checkpoint").empty())
    throw std::invalid_argument(
        fmt::format("{} came to its end and left no checkpoint to make it longer from: a run with "
                    "--keep does; begin anew with --overwrite",
                    out.string()));
  SimulatedRun run(plan, options.threads);
  if (options.save_models) (void)chosen_exporters(run.lesson(), options.formats);
  // Not before: until here there is nothing to save, and Ctrl-C may simply end the program.
  listen_for({SIGINT, SIGTERM, SIGHUP}, SecondSignal::kEndsAtOnce);
  RunFolder folder(out, config, options.existing, former);
  if (!options.quiet)
    print_err("{} node{}, {}, into {}\n", plan.nodes, plan.nodes == 1 ? "" : "s",
              run.lesson().description, out.string());
  const Stopwatch loop;
  if (!carry_out(run, folder, options, before)) return std::nullopt;
  if (options.save_models) run.export_models(out / "models", options.formats);
  Summary summary = run.summary();
  summary.took.all = watch.seconds();
  summary.took.loop = loop.seconds();
  summary.command = options.command;
  summary.made = made_now();
  const std::string json = to_json(summary);
  folder.write_summary(json);
  // Those by rounds were asked for; those by time are of no use to a run that came to its end.
  if (options.checkpoint_every.rounds == 0 && !options.keep) folder.remove_checkpoints();
  print_ending(summary, out);
  return json;
}

}  // namespace tessera
