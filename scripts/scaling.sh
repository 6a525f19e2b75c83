#!/usr/bin/env bash
# Rounds per second of one process with many threads beside several ranks with few:
#
#   [TESSERA=PROGRAM] [MPIRUN=PROGRAM] [CORES=N] [REPEATS=2] [ROUNDS=12] [DATA=LINE] scripts/scaling.sh [FOLDER]
#
# (default: build/core/src/cli/tessera, mpirun, every core, data made up in CIFAR-10's shape, runs/scaling)
#
# 96 GN-LeNets with JWINS. A cell is C cores as one process of C threads, as C ranks of one thread, or, for the largest C, as
# R ranks of C / R threads. Cells are run in turns, REPEATS times, and the best counts. Rounds per second leave evaluation
# out, which is made as small as it can be. Memory is the peak of rank 0, which holds as many nodes as any other. Every
# cell must end with the same digest.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "${TESSERA:-build/core/src/cli/tessera}")
readonly program
readonly mpirun=${MPIRUN:-mpirun}
readonly cores=${CORES:-$(nproc)}
readonly repeats=${REPEATS:-2}
readonly rounds=${ROUNDS:-12}
readonly out=${1:-runs/scaling}
readonly flags=(
  --nodes=96 --seed=90 "--data=${DATA:-synthetic:shape=3/32/32,samples=1920,test=16}" --partition=shards:per_node=2
  --model=gn-lenet --training=sgd:lr=0.01,batch=8,steps=3 --topology=regular:degree=4 "--protocol=dpsgd:rounds=$rounds"
  --sharing=jwins --codec=gamma+f32 "--evaluate=every=$rounds,samples=1,merged=no"
)

# Waiting ranks must not be bound to a core of their own: threads of one rank would share it.
cell() {  # RANKS THREADS REPEAT
  local folder=$out/$1x$2-$3
  local start=()
  if (($1 > 1)); then start=("$mpirun" --bind-to none --oversubscribe -n "$1"); fi
  "${start[@]}" "$program" sim "${flags[@]}" --threads="$2" --out="$folder" --overwrite --quiet >/dev/null
}

cells() {  # RANKS THREADS, one per line
  local c
  for ((c = 1; c <= cores && c <= 16; c *= 2)); do
    echo 1 $c
    if ((c > 1)); then echo $c 1; fi
    if ((2 * c > cores || c == 16)); then
      local r
      for ((r = 2; r < c; r *= 2)); do echo $r $((c / r)); done
    fi
  done
}

if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
mkdir -p "$out"
for ((repeat = 1; repeat <= repeats; ++repeat)); do
  while read -r ranks threads; do
    cell "$ranks" "$threads" "$repeat" </dev/null
  done < <(cells)
done
python3 - "$out" "$repeats" <(cells) <<'PYTHON'
import json, sys
out, repeats = sys.argv[1], int(sys.argv[2])
cells = [tuple(map(int, line.split())) for line in open(sys.argv[3])]
rates, peaks, digests = {}, {}, set()
for cell in cells:
    for repeat in range(1, repeats + 1):
        run = json.load(open(f"{out}/{cell[0]}x{cell[1]}-{repeat}/summary.json"))
        rate = run["rounds"] / (run["loop_seconds"] - run["evaluating_seconds"])
        rates[cell] = max(rate, rates.get(cell, 0))
        peaks[cell] = max(run["peak_rss_bytes"], peaks.get(cell, 0))
        digests.add(run["model_digest"])
alone = rates[1, 1]
print(f"{'cores':>5}{'ranks':>7}{'threads':>9}{'rounds/s':>10}{'speed-up':>10}{'of threads':>12}{'MiB a rank':>12}")
for ranks, threads in sorted(cells, key=lambda cell: (cell[0] * cell[1], cell[0])):
    rate, count = rates[ranks, threads], ranks * threads
    print(f"{count:>5}{ranks:>7}{threads:>9}{rate:>10.2f}{rate / alone:>10.2f}{rate / rates[1, count]:>12.2f}"
          f"{peaks[ranks, threads] / 2**20:>12.0f}")
print("one digest" if len(digests) == 1 else f"DIFFERENT DIGESTS: {sorted(digests)}")
sys.exit(len(digests) != 1)
PYTHON
