// `tessera sim`: a whole network of nodes in virtual time, into a run's folder.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/folder_lock.h"
#include "base/output.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/machine.h"
#include "cli/sim_run.h"
#include "cli/together.h"
#include "cluster/door/door.h"
#include "node/divergence.h"
#include "report/metrics.h"
#include "report/watch.h"
#include "run/made.h"
#include "run/plan.h"
#include "run/simulated_run.h"
#include "run/sweep.h"

namespace tessera {
namespace {

struct SimArguments {
  std::shared_ptr<ExperimentArguments> experiment{};
  std::string out{};
  std::string seeds{};
  std::string watch{};
  std::string checkpoint_every{};
  bool resume = false, overwrite = false;
  SimOptions sim{};
};

// Those of --seeds; none: the experiment's own.
std::vector<std::string> seeds_of(const std::string& text) {
  try {
    return parse_seeds(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--seeds={}", error.what()));
  }
}

std::filesystem::path folder_by_default(const SimArguments& arguments) {
  if (!arguments.out.empty()) return arguments.out;
  // A cell's is where its sweep would have it.
  if (const auto cell = named_cell(arguments.experiment->file))
    return std::filesystem::path("runs") / cell->first.stem() /
           read_cell(cell->first, cell->second).name;
  const std::filesystem::path file(arguments.experiment->file);
  return std::filesystem::path("runs") / (file.empty() ? "experiment" : file.stem());
}

void refuse_what_is_there(const std::vector<std::string>& seeds, const std::filesystem::path& out,
                          const SimArguments& arguments) {
  if (std::filesystem::exists(out / "config.toml"))
    throw std::invalid_argument(
        fmt::format("{} holds a run of one seed; choose another --out for several", out.string()));
  if (arguments.resume || arguments.overwrite) return;
  std::error_code ignored;
  for (const std::string& seed : seeds)
    if (std::filesystem::exists(out / ("seed-" + seed), ignored))
      throw std::invalid_argument(fmt::format(
          "{}/seed-{} is there already; add --resume, --overwrite, or choose another --out",
          out.string(), seed));
}

// A run per seed in a folder of its own, and their mean and spread above them.
int run_seeds(Experiment experiment, const std::vector<std::string>& seeds,
              const std::filesystem::path& out, const SimArguments& arguments) {
  std::optional<FolderLock> lock;
  together(arguments.sim.ranks, [&] {
    (void)read_plan(experiment);  // A slip is answered first, whatever is in the folder.
    if (!arguments.sim.writes()) return;
    refuse_what_is_there(seeds, out, arguments);
    lock.emplace(out);
    std::error_code ignored;
    std::filesystem::remove(out / "summary.json", ignored);
  });
  std::vector<std::string> summaries;
  for (const std::string& seed : seeds) {
    experiment.seed = seed;
    const Simulated done = simulate(experiment, out / ("seed-" + seed), arguments.sim);
    if (!done.summary) return done.exit_code;
    summaries.push_back(*done.summary);
  }
  if (!arguments.sim.writes()) return 0;
  or_throw(write_file(out / "summary.json", bytes_of(combine_summaries(summaries))));
  return 0;
}

struct Asked {
  Experiment experiment{};
  std::filesystem::path out{};
  std::vector<std::string> seeds{};
  std::unique_ptr<Watch> watch{};
};

Asked read_arguments(SimArguments& arguments) {
  arguments.sim.existing = existing_run(arguments.resume, arguments.overwrite);
  if (!arguments.checkpoint_every.empty())
    arguments.sim.checkpoint_every = parse_checkpoint_every(arguments.checkpoint_every);
  Asked asked{.experiment = arguments.experiment->resolve(),
              .out = folder_by_default(arguments),
              .seeds = seeds_of(arguments.seeds)};
  if (const std::string& seed = arguments.experiment->flags["seed"];
      !seed.empty() && !asked.seeds.empty())
    throw std::invalid_argument(fmt::format(
        "--seed={} is one run and --seeds={} are several: give one", seed, arguments.seeds));
  if (arguments.sim.writes()) asked.watch = start_watch(arguments.watch, watch_run(asked.out));
  return asked;
}

int run_sim(SimArguments& arguments) {
  Asked asked;
  together(arguments.sim.ranks, [&] { asked = read_arguments(arguments); });
  refuse_others(arguments.sim.ranks, fmt::format("{}\n{}\n{}", made_now().version,
                                                 arguments.sim.command, to_toml(asked.experiment)));
  if (!asked.seeds.empty()) return run_seeds(asked.experiment, asked.seeds, asked.out, arguments);
  return simulate(asked.experiment, asked.out, arguments.sim).exit_code;
}

// The ranks on a machine divide its cores and take its GPUs in turn, unless whoever started them
// has said which are whose.
void take_part_of_machine(SimArguments& arguments, const Cluster& cluster) {
  const auto cores = static_cast<unsigned>(std::max(1l, ::sysconf(_SC_NPROCESSORS_ONLN)));
  if (arguments.sim.threads == 0)
    arguments.sim.threads = std::clamp(cores / cluster.count_here(), 1u, cores_allowed());
  if (const std::vector<std::string> all = gpus(); all.size() > 1)
    ::setenv("CUDA_VISIBLE_DEVICES", all[cluster.here() % all.size()].c_str(), 1);
}

// As one of several ranks. What goes wrong on all of them alike is for the first to say; a rank
// that alone cannot go on says so itself, and ends the others, who would wait for it.
int run_as_rank(SimArguments& arguments, Cluster& cluster) {
  arguments.sim.ranks = &cluster;
  take_part_of_machine(arguments, cluster);
  try {
    return run_sim(arguments);
  } catch (const std::invalid_argument&) {
    throw;
  } catch (const Agreed&) {
    throw;
  } catch (const Divergence&) {
    throw;
  } catch (const Stuck&) {
    throw;
  } catch (const std::exception& error) {
    silence_output(false);
    print_err("tessera: rank {} of {}: {}\n", cluster.mine(), cluster.count(), error.what());
    cluster.abandon(1);
    return 1;
  }
}

}  // namespace

Action add_sim(CLI::App& parser) {
  auto arguments = std::make_shared<SimArguments>();
  arguments->experiment = add_experiment_options(parser);
  parser.footer(
      "Exit codes: 0 done, 1 failed, 2 asked wrongly, 130 stopped by Ctrl-C, SIGTERM or a closed "
      "terminal,\nwith a checkpoint. SIGUSR1, and SIGTERM within a job of Slurm's: 0, with a "
      "checkpoint.\nStarted by mpirun or srun as several processes, these carry it out "
      "together.\n\n"
      "Examples:\n"
      "  tessera sim experiments/fashion.toml --sharing=jwins --out=runs/jwins\n"
      "  tessera sim experiments/fashion_sharings.toml:choco        # one cell of a sweep\n"
      "  tessera sim experiments/fashion_divshare.toml --watch\n"
      "  tessera sim experiments/toy.toml --seeds=90..94 --nodes=32 --out=runs/five");
  parser.add_option("--out", arguments->out,
                    "The run's folder (default: runs/ and the experiment's name)");
  parser.add_option("--seeds", arguments->seeds,
                    "Several runs: 90..94 or 90,93; mean and spread in summary.json");
  parser.add_option("--checkpoint-every", arguments->checkpoint_every,
                    "Rounds or time between checkpoints: 20, 90s, or none (default: 60s, or less "
                    "often where one takes long)");
  parser
      .add_option("--threads", arguments->sim.threads,
                  "Worker threads (default: 0, one per core); the result is the same")
      ->check(CLI::Range(0u, 1024u));
  parser.add_flag("--resume", arguments->resume,
                  "Continue the run in --out from its last checkpoint; with more rounds or time in "
                  "--protocol it becomes longer");
  parser.add_flag("--keep", arguments->sim.keep,
                  "Leave a checkpoint from just before the end, so that --resume can make the run "
                  "longer");
  parser.add_flag("--overwrite", arguments->overwrite, "Throw the run in --out away");
  parser.add_flag("--export", arguments->sim.save_models,
                  "Write the final models to models/ in --out: each node's and their average, with "
                  "PyTorch's names and shapes");
  parser.add_option("--export-as", arguments->sim.formats,
                    "File formats for --export: safetensors (by default), npz, and pt "
                    "(TorchScript) where LibTorch is built in; several with commas");
  parser.add_flag("--watch{any}", arguments->watch,
                  "Show the run in a browser on this machine while it goes on; --watch=PORT takes "
                  "that port");
  parser.add_flag("--quiet", arguments->sim.quiet, "No progress; the summary only");
  return [arguments](const std::string& command_line) {
    arguments->sim.command = command_line;
    if (const std::unique_ptr<Cluster> cluster = join_cluster())
      return run_as_rank(*arguments, *cluster);
    return run_sim(*arguments);
  };
}

}  // namespace tessera
