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
    experiments=(jwins/cifar10{,_random,_jwins_planes,_jwins_int8,_no_wavelet,_no_accumulation,_no_cutoff}) ;;
  async) experiments=(divshare/cifar10 "${rivals[@]/#/divshare/cifar10_}") ;;
  no-stragglers) experiments=(divshare/cifar10{,_adpsgd_pings,_swift_scatter}_stragglers0) ;;
  half-sent) experiments=(divshare/cifar10_links_{lost,finished}) ;;
  movielens)
    target=loss=2
    experiments=(divshare/movielens "${rivals[@]/#/divshare/movielens_}") ;;
  laptop) experiments=(fashion/{divshare,divshare_wavelet,adpsgd,adpsgd_pings,swift,swift_scatter,dpsgd}) ;;
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
