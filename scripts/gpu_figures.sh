#!/usr/bin/env bash
# Whole runs of docs/gpu.md, as one table: scripts/gpu_figures.sh [BUILD] [DIR]
#
# BUILD is where the program was built (default build/core), DIR where the runs go (default runs/gpu_figures). CIFAR-10 is expected in
# data/cifar-10-batches-bin. `tessera bench gpu` has the figures of single steps and kernels, `scripts/gpu_test.sh` the tests.
# DEVICES="cuda cuda:precision=tf32" runs each on several. ROUNDS=1200 and UNTIL=90s say how long.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly build=${1:-build/core} dir=${2:-runs/gpu_figures}
readonly tessera=$build/src/cli/tessera rounds=${ROUNDS:-1200} until=${UNTIL:-90s}
read -ra devices <<<"${DEVICES:-cuda}"
readonly sharings=experiments/jwins/cifar10_sharings.toml

run() {  # NAME EXPERIMENT FLAG...
  local name=$1 experiment=$2
  shift 2
  names+=("$name")
  "$tessera" sim "$experiment" --out="$dir/$name" --overwrite --quiet "$@" >"$dir/$name.log" 2>&1 ||
    { echo "gpu_figures: $name failed: $(tail -1 "$dir/$name.log")" >&2 && return 1; }
}

if [[ ! -x $tessera ]]; then
  echo "gpu_figures: there is no $tessera: build the target tessera where nvcc is found" >&2
  exit 1
fi
if [[ ! -e data/cifar-10-batches-bin/test_batch.bin ]]; then
  echo "gpu_figures: CIFAR-10 is not in data/cifar-10-batches-bin; scripts/get_data.sh cifar10 fetches it" >&2
  exit 2
fi
mkdir -p "$dir"
names=()
for device in "${devices[@]}"; do
  on=${device//[:=,\/]/-}
  for sharing in full jwins_planes jwins_int8; do
    run "rounds-$sharing-$on" "$sharings:$sharing" --device="$device" --protocol="dpsgd:rounds=$((rounds / 4))" \
      --evaluate="every=$((rounds / 4)),samples=200"
    run "whole-$sharing-$on" "$sharings:$sharing" --device="$device" --protocol="dpsgd:rounds=$rounds" --evaluate="every=$((rounds / 12))"
  done
  run "divshare-$on" experiments/divshare/cifar10.toml --device="$device" --protocol="divshare:fanout=6,until=$until"
  run "wavelet-$on" experiments/divshare/cifar10_rivals.toml:wavelet --device="$device" --protocol="divshare:fanout=6,until=$until"
done

python3 - "${names[@]/#/$dir/}" <<'PYTHON'
import json, pathlib, sys
print("| run | rounds | all in, s | a round, ms | training | evaluating | the rest | GPU busy | accuracy | merged |")
print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
for run in map(pathlib.Path, sys.argv[1:]):
    s = json.loads((run / "summary.json").read_text())
    loop, rounds = s["loop_seconds"], s["rounds"]
    def part(seconds):
        return f"{1000 * seconds / rounds:.1f}"
    rest = loop - s["training_seconds"] - s["evaluating_seconds"]
    print(f"| {run.name} | {rounds} | {s['wall_seconds']:.1f} | {part(loop)} | {part(s['training_seconds'])} | "
          f"{part(s['evaluating_seconds'])} | {part(rest)} | {part(s.get('gpu_busy_seconds', 0))} | {100 * s['accuracy']:.1f}% | "
          f"{100 * s.get('merged_accuracy', 0):.1f}% |")
PYTHON
