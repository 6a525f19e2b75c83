#include "cli/sim_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <new>
#include <stdexcept>

#include "base/output.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/sim_progress.h"
#include "cli/together.h"
#include "node/device_failed.h"
#include "node/divergence.h"
#include "report/checkpoint_file.h"
#include "run/longer.h"
#include "run/made.h"
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
  if (const WallSeconds& took = summary.took; took.gpus > 0)
    print_out("{} busy for {:.1f} s, {:.0f}% of the rounds' time\n",
              took.gpus == 1 ? std::string("the GPU was") : fmt::format("{} GPUs were", took.gpus),
              took.gpu_busy, 100 * took.gpu_busy / (loop * took.gpus));
  if (last.hostile > 0)
    print_out("figures are of {} honest nodes; {} are hostile\n", summary.nodes - last.hostile,
              last.hostile);
  print_out("written to {}\n", out.string());
}

// The newest checkpoint, as the one that writes reads it; its state is empty where there is none.
RunFolder::Restored read_checkpoint(RunFolder* folder, Ranks* ranks) {
  RunFolder::Restored restored;
  together(ranks, [&] {
    if (folder) restored = folder->read_checkpoint().value_or(RunFolder::Restored{});
  });
  for (const std::string& note : restored.notes) print_err("{}\n", note);
  if (ranks) restored.state = std::move(ranks->gather(restored.state)[0]);
  return restored;
}

// From here on the folder is of the run as it goes on, longer or elsewhere, whenever this process
// ends.
void lengthen(SimulatedRun& run, const Plan& before, RunFolder* folder, Round saved_at) {
  run.lengthen(before);
  Bytes state;
  run.save(state);
  if (!folder) return;
  folder->write_checkpoint(saved_at, state);
  folder->write_config(to_toml(run.plan().experiment));
}

// Continues from the newest checkpoint, where there is one; else begins. `before` is the former
// plan of a run that is to become longer or goes on elsewhere.
void begin_or_resume(SimulatedRun& run, RunFolder* folder, const SimOptions& options,
                     const std::optional<Plan>& before) {
  if (options.existing == ExistingRun::kResume) {
    const RunFolder::Restored restored = read_checkpoint(folder, options.ranks);
    if (!restored.state.empty()) {
      ByteReader in(restored.state);
      together(options.ranks, [&] {
        or_throw(run.load(in), "cannot resume: ");
        if (before) lengthen(run, *before, folder, restored.round);
      });
      if (!options.quiet) print_err("resuming after round {}\n", run.simulation().rounds_done());
      return;
    }
    if (before && folder) folder->write_config(to_toml(run.plan().experiment));
    if (!options.quiet && folder)
      print_err("no checkpoint in {}: beginning anew\n", folder->path().string());
  }
  run.start();
}

// What ranks wish for, so that all do it at the same instant: to stop, for whatever reason or
// because a batch system asks to, which wants to hear that all is well; to write a checkpoint.
constexpr std::uint8_t kStop = 1, kBatch = 2, kSave = 4;

std::uint8_t wishes_to_stop() {
  if (!interrupted()) return 0;
  return asked_by_batch_system() ? kStop | kBatch : kStop;
}

// Whether a signal came and this is the place to stop: the end of a round where rounds are in
// common.
class StopSign {
 public:
  explicit StopSign(bool by_time) : by_time_(by_time) {}
  bool says_stop(bool asked, Round done) {
    if (!asked) return false;
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
  // No folder: another rank writes, and this one hands in what it holds.
  Saver(const SimulatedRun& run, RunFolder* folder, const SimOptions& options)
      : run_(run),
        folder_(folder),
        schedule_(options.checkpoint_every, run.simulation().rounds_done()),
        ranks_(options.ranks ? options.ranks->count() : 1) {}

  void save() {
    const Stopwatch watch;
    const Round done = run_.simulation().rounds_done();
    Bytes state = with_room();
    run_.save(state);
    bytes_before_ = state.size();
    if (folder_) folder_->write_checkpoint(done, state);
    schedule_.saved(done, watch.seconds());
    since_.restart();
  }

  // For the one that writes to say: clocks differ.
  bool is_due() const {
    return folder_ && schedule_.is_due(run_.simulation().rounds_done(), since_.seconds());
  }

  // A disk that is full now may have room in a minute, and the run is worth more than its copy.
  void try_to_save() {
    const Round done = run_.simulation().rounds_done();
    try {
      save();
    } catch (const std::runtime_error& error) {
      print_err("no checkpoint after round {}: {}\n", done, error.what());
      schedule_.saved(done, 0);
      since_.restart();
    }
  }

 private:
  // A buffer that outgrows its room is copied, and lies in memory twice. Room is address space, and
  // takes memory only as it is written to: the first state is less than what all ranks hold.
  Bytes with_room() const {
    Bytes state;
    if (!folder_) return state;
    try {
      state.reserve(bytes_before_ ? bytes_before_ / 8 * 9 : ranks_ * peak_rss_bytes());
    } catch (const std::bad_alloc&) {  // Where there is a limit, it grows as it did.
    }
    return state;
  }

  const SimulatedRun& run_;
  RunFolder* folder_;
  CheckpointSchedule schedule_;
  std::size_t ranks_;
  Stopwatch since_{};
  std::size_t bytes_before_ = 0;
};

// To the end, or to where a signal stops it: then the exit code, with a checkpoint written.
std::optional<int> run_to_end(SimulatedRun& run, RunFolder* folder, const SimOptions& options) {
  const Simulation& simulation = run.simulation();
  StopSign stop_sign(run.plan().evaluate.by_time());
  Saver saver(run, folder, options);
  bool kept = false;  // Nothing is saved after what is to be kept.
  const auto step = [&] {
    if (options.keep && !kept && run.about_to_end()) saver.save(), kept = true;
    return run.step();
  };
  while (step()) {
    if (simulation.finished()) continue;
    run.wish(static_cast<std::uint8_t>(wishes_to_stop() | (saver.is_due() ? kSave : 0)));
    if (stop_sign.says_stop((run.heard() & kStop) != 0, simulation.rounds_done())) {
      saver.save();
      return (run.heard() & kBatch) != 0 ? 0 : kInterrupted;
    }
    if (!kept && (run.heard() & kSave) != 0) saver.try_to_save();
  }
  run.finish();
  return std::nullopt;
}

std::optional<int> carry_out(SimulatedRun& run, RunFolder* folder, const SimOptions& options,
                             const std::optional<Plan>& before) {
  SimProgress progress(run.plan(), options.quiet);
  run.on_row([&](const MetricsRow& row) {
    if (folder) folder->append_metrics(to_json_line(row));
    progress.show(row);
  });
  begin_or_resume(run, folder, options, before);
  progress.begins_at(run.simulation());
  std::optional<int> stopped;
  try {
    stopped = run_to_end(run, folder, options);
  } catch (const std::exception&) {
    progress.end();  // What went wrong stands on a line of its own.
    throw;
  }
  progress.end();
  if (stopped)
    print_err("stopped after round {}; the same command with --resume continues it\n",
              run.simulation().rounds_done());
  return stopped;
}

// What was typed, such that it goes on with what it has done.
std::string command_to_resume(std::string command) {
  constexpr std::string_view kOverwrite = " --overwrite", kResume = " --resume";
  if (command.empty()) return "the same command with --resume";
  if (const std::size_t at = command.find(kOverwrite); at != command.npos)
    command.erase(at, kOverwrite.size());
  if (command.find(kResume) == command.npos) command += kResume;
  return command;
}

// Of several ranks one alone may see the folder.
std::string how_to_go_on(const std::filesystem::path& out, const SimOptions& options) {
  if (options.ranks)
    return "the same mpirun or srun with --resume goes on from the last checkpoint, if there is "
           "one";
  const auto saved = checkpoints_in(out / "checkpoint");
  if (saved.empty()) return "there was no checkpoint yet: begin anew with --overwrite";
  return fmt::format("the run can go on after round {}: {}", saved.front().first,
                     command_to_resume(options.command));
}

// What is known before data is loaded.
struct Prepared {
  Plan plan{};
  std::optional<Plan> before{};  // Of a run that goes on otherwise: for longer, or on other GPUs.
  std::string former{};          // Its text.
  bool over = false;             // It came to its end before.
  std::string summary{};         // Of one that is over.
};

// Lines are read before data is loaded: a slip in a flag is answered at once.
Prepared prepare(const Experiment& experiment, const std::filesystem::path& out,
                 const SimOptions& options) {
  Prepared prepared{.plan = read_plan(experiment)};
  if (!options.writes()) return prepared;
  const bool resumes = options.existing == ExistingRun::kResume;
  if (resumes) prepared.before = plan_to_go_on_from(out, prepared.plan);
  if (prepared.before) prepared.former = to_toml(prepared.before->experiment);
  RunFolder::check(out, to_toml(prepared.plan.experiment), options.existing, prepared.former);
  const auto finished = RunFolder::finished(out);
  prepared.over =
      finished && resumes && (!prepared.before || same_end(*prepared.before, prepared.plan));
  if (prepared.over) prepared.summary = *finished;
  if (finished && prepared.before && !prepared.over && checkpoints_in(out / "checkpoint").empty())
    throw std::invalid_argument(
        fmt::format("{} came to its end and left no checkpoint to make it longer from: a run with "
                    "--keep does; begin anew with --overwrite",
                    out.string()));
  return prepared;
}

// What only the one that writes could see in the folder.
void hear_from_first(Ranks* ranks, Prepared& prepared) {
  if (!ranks) return;
  const Bytes former = std::move(ranks->gather(bytes_of(prepared.former))[0]);
  prepared.former.assign(reinterpret_cast<const char*>(former.data()), former.size());
  if (!prepared.former.empty())
    prepared.before = read_plan(parse_experiment(prepared.former, "config.toml"));
  prepared.over = as_first_says(ranks, prepared.over);
}

void announce(const Plan& plan, const SimulatedRun& run, const std::filesystem::path& out,
              const SimOptions& options) {
  print_err("{} node{}, {}, into {}{}\n", plan.nodes, plan.nodes == 1 ? "" : "s",
            run.lesson().description, out.string(),
            options.ranks ? fmt::format(", by {} ranks", options.ranks->count()) : "");
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

Simulated simulate(const Experiment& experiment, const std::filesystem::path& out,
                   const SimOptions& options) {
  const Stopwatch watch;
  Prepared prepared;
  together(options.ranks, [&] { prepared = prepare(experiment, out, options); });
  hear_from_first(options.ranks, prepared);
  if (prepared.over) {
    print_out("{} came to its end before; there is nothing to resume\n", out.string());
    return {prepared.summary};
  }
  const Plan& plan = prepared.plan;
  std::optional<SimulatedRun> run;
  std::optional<RunFolder> folder;
  together(options.ranks, [&] {
    run.emplace(plan, options.make_lesson(plan, options.threads), options.threads, options.ranks);
    if (options.save_models) (void)chosen_exporters(run->lesson(), options.formats);
    // Not before: until here there is nothing to save, and Ctrl-C may simply end the program.
    listen_for({SIGINT, SIGTERM, SIGHUP, SIGUSR1}, SecondSignal::kEndsAtOnce);
    if (options.writes())
      folder.emplace(out, to_toml(plan.experiment), options.existing, prepared.former);
  });
  if (!options.quiet) announce(plan, *run, out, options);
  const Stopwatch loop;
  RunFolder* const written = folder ? &*folder : nullptr;
  try {
    if (const auto stopped = carry_out(*run, written, options, prepared.before))
      return {{}, *stopped};
  } catch (const Divergence& diverged) {
    try {
      if (folder) folder->write_divergence(diverged.what());
    } catch (const std::runtime_error& full) {
      print_err("warning: {}\n", full.what());
    }
    throw;
  } catch (const DeviceFailed& failed) {
    throw DeviceFailed(fmt::format("{}; {}", failed.what(), how_to_go_on(out, options)));
  }
  if (options.save_models) run->export_models(out / "models", options.formats);
  Summary summary = run->summary();
  summary.took.all = watch.seconds();
  summary.took.loop = loop.seconds();
  summary.command = options.command;
  summary.made = made_now();
  const std::string json = to_json(summary);
  if (!folder) return {json};
  folder->write_summary(json);
  // Those by rounds were asked for; those by time are of no use to a run that came to its end.
  if (options.checkpoint_every.rounds == 0 && !options.keep) folder->remove_checkpoints();
  print_ending(summary, out);
  return {json};
}

}  // namespace tessera
