#!/usr/bin/env bash
# Runs the experiments behind docs/results.md and prints their table: scripts/results.sh SET [DEVICE] [DIR]
#
#   jwins      CIFAR-10, 96 nodes, 1,200 rounds, seven sharings: JWINS's setting and its ablations
#   async      CIFAR-10, 60 nodes, 90 s of virtual time, half of them stragglers: DivShare's setting
#   no-stragglers   the same for three of them, without stragglers
#   half-sent  DivShare with everything under way at once, losing or finishing what is half sent after a round
#   movielens  MovieLens, 60 nodes, 510 s of virtual time, half of them stragglers
#   laptop     the same story on Fashion-MNIST with 16 nodes, for two CPU cores and ten minutes
#
# DEVICE is cuda or cpu (default cpu), DIR where the runs go (default runs/results). SEEDS=90..92 makes three runs of each. On an H200 a run of `jwins` takes
# one minute and one of `async` two; on two CPU cores forty minutes and two hours.
# A run that is already there is kept, one that was cut short goes on where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly set=${1:-} device=${2:-cpu} dir=${3:-runs/results}
readonly tessera=${TESSERA:-build/release/src/cli/tessera}
readonly rivals=(wavelet adpsgd adpsgd_pings swift swift_scatter)
target=60%
case $set in
  jwins)
    target=40%
    experiments=(cifar10 cifar10_random cifar10_jwins_planes cifar10_jwins_int8
      cifar10_no_wavelet cifar10_no_accumulation cifar10_no_cutoff) ;;
  async) experiments=(async "${rivals[@]/#/async_}") ;;
  no-stragglers)
    experiments=(async_stragglers0 async_adpsgd_pings_stragglers0 async_swift_scatter_stragglers0) ;;
  half-sent) experiments=(async_links_lost async_links_finished) ;;
  movielens)
    target=loss=2
    experiments=(async_movielens "${rivals[@]/#/async_movielens_}") ;;
  laptop) experiments=(fashion_async "${rivals[@]/#/fashion_async_}" fashion_async_dpsgd) ;;
  *)
    echo "results: choose one of jwins, async, no-stragglers, half-sent, movielens, laptop" >&2
    exit 2 ;;
esac

if [[ $set =~ ^(jwins|async|no-stragglers|half-sent)$ && ! -e data/cifar-10-batches-bin/test_batch.bin ]]; then
  echo "results: CIFAR-10 is not in data/cifar-10-batches-bin; scripts/get_data.sh cifar10 fetches it" >&2
  exit 2
fi
folders=()
for experiment in "${experiments[@]}"; do
  folders+=("$dir/$experiment")
  [[ -e $dir/$experiment/summary.json ]] ||
    "$tessera" sim "experiments/$experiment.toml" --device="$device" --out="$dir/$experiment" \
      ${SEEDS:+--seeds="$SEEDS"} --checkpoint-every=50 --resume
done
"$tessera" compare "${folders[@]}" --target="$target"
