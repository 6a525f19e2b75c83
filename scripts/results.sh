#!/usr/bin/env bash
# Runs the experiments behind docs/results.md and prints its table: scripts/results.sh [DEVICE] [DIR] [ROUNDS]
#
# DEVICE is cuda or cpu (default cpu), DIR where the runs go (default runs/results), ROUNDS how many instead of
# the 1,200 of the page. On two CPU cores a run of 1,200 rounds takes about forty minutes, on an H200 one minute.
# A run that is already there is kept, one that was cut short goes on where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly device=${1:-cpu} dir=${2:-runs/results} rounds=${3:-1200}
readonly tessera=${TESSERA:-build/release/src/cli/tessera}
readonly experiments=(cifar10 cifar10_random cifar10_jwins_planes cifar10_jwins_int8
  cifar10_no_wavelet cifar10_no_accumulation cifar10_no_cutoff)

if [[ ! -e data/cifar-10-batches-bin/test_batch.bin ]]; then
  echo "results: CIFAR-10 is not in data/cifar-10-batches-bin; scripts/get_data.sh cifar10 fetches it" >&2
  exit 2
fi
folders=()
for experiment in "${experiments[@]}"; do
  folders+=("$dir/$experiment")
  [[ -e $dir/$experiment/summary.json ]] ||
    "$tessera" sim "experiments/$experiment.toml" --device="$device" --protocol="dpsgd:rounds=$rounds" \
      --out="$dir/$experiment" --checkpoint-every=50 --resume
done
"$tessera" compare "${folders[@]}"
