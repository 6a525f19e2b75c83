#include "cli/sweep_slurm.h"

#include <fmt/format.h>

#include <string_view>

namespace tessera {
namespace {

std::string for_shell(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string slurm_script(const std::vector<PreparedCell>& cells, const SlurmOptions& options) {
  std::string list;
  std::size_t count = 0;
  bool on_gpu = false;
  for (const PreparedCell& cell : cells) {
    if (!cell.is_to_run()) continue;
    list += fmt::format("  {}\n", for_shell(cell.folder.string()));
    on_gpu |= cell.on_gpu();
    ++count;
  }
  const std::string more = options.checkpoint_every.empty()
                               ? ""
                               : " --checkpoint-every=" + for_shell(options.checkpoint_every);
  return fmt::format(
      R"(#!/bin/bash
# The {0} cells that were not finished when this was written, a task of a job array each, by
#   {1}
# Change what your cluster asks for (account, partition, time, memory) and submit it with
#   sbatch {2}/sweep.sbatch
# Cells that are finished end at once, and one that was cut short goes on from its checkpoint. When
# all are done, the same command without --slurm makes the table.
#SBATCH --job-name={3}
#SBATCH --array=0-{4}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
{5}#SBATCH --output={2}/logs/slurm-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=TERM@120
set -eu
cd {6}
cells=(
{7})
cell=${{cells[$SLURM_ARRAY_TASK_ID]}}
code=0
srun {8} sim "$cell/config.toml" --out="$cell" --resume \
  --threads="${{SLURM_CPUS_PER_TASK:-1}}"{9} || code=$?
# Two minutes before its time is over a cell is told to write a checkpoint: it goes on in the queue.
if [[ ($code -eq 0 || $code -eq 130) && ! -e $cell/summary.json ]]; then
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
fi
exit $code
)",
      count, options.command, options.out.string(), options.name, count - 1,
      on_gpu ? "#SBATCH --gres=gpu:1\n" : "", for_shell(options.folder.string()), list,
      for_shell(options.program), more);
}

}  // namespace tessera
