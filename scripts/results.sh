#!/usr/bin/env bash
# Runs the experiments behind docs/results.md and prints their table: scripts/results.sh SET [DEVICE] [DIR]
#
#   jwins      CIFAR-10, 96 nodes, 1,200 rounds, seven sharings: JWINS's setting and its ablations
#   few-bytes  the same setting with ever less told, told late, or averaged exactly now and then
#   budgets    JWINS and CHOCO-SGD at 10% and 20%
#   async      CIFAR-10, 60 nodes, 90 s of virtual time, half of them stragglers: DivShare's setting
#   no-stragglers   the same for three of them, without stragglers
#   half-sent  DivShare with everything under way at once, losing or finishing what is half sent after a round
#   mosaic     DivShare's setting with pieces and whole models, in rounds and without
#   movielens  MovieLens, 60 nodes, 510 s of virtual time, half of them stragglers
#   movielens-no-stragglers   the same without
#   jwins-movielens   MovieLens, 96 nodes, 1,000 rounds, three sharings: JWINS's setting
#   laptop     the same story on Fashion-MNIST with 16 nodes, for two CPU cores and ten minutes
#
# DEVICE is cuda or cpu (default cpu), DIR where the runs go (default runs/results). SEEDS=90..92 makes three runs of each. On an H200 a run of `jwins` takes
# one minute and one of `async` two; on two CPU cores forty minutes and two hours.
# A run that is already there is kept, one that was cut short goes on where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly set=${1:-} device=${2:-cpu} dir=${3:-runs/results}
readonly tessera=${TESSERA:-build/release/src/cli/tessera}

# A sweep's file, the cells of it, and the target to reach.
case $set in
  jwins) line=(jwins/cifar10_sharings full,random,jwins_planes,jwins_int8,no_wavelet,no_accumulation,no_cutoff 40%) ;;
  few-bytes) line=(jwins/cifar10_few_bytes "" 40%) ;;
  budgets) line=(jwins/cifar10_budgets "" 30%) ;;
  mosaic) line=(divshare/cifar10_mosaic "" 60%) ;;
  async) line=(divshare/cifar10_rivals divshare,wavelet,adpsgd,adpsgd_pings,swift,swift_scatter 60%) ;;
  no-stragglers) line=(divshare/cifar10_stragglers stragglers=0 60%) ;;
  half-sent) line=(divshare/cifar10_half_sent half_sent=lost,half_sent=finished 60%) ;;
  movielens) line=(divshare/movielens_rivals divshare,wavelet,adpsgd,adpsgd_pings,swift,swift_scatter loss=2) ;;
  movielens-no-stragglers)
    line=(divshare/movielens_rivals "" loss=2 --network=fifo:up=60Mbit/s,down=60Mbit/s,latency=1ms) ;;
  jwins-movielens) line=(jwins/movielens "" loss=1.5) ;;
  laptop) line=(fashion_rivals divshare,divshare_wavelet,adpsgd,adpsgd_pings,swift,swift_scatter,dpsgd 60%) ;;
  *)
    echo "results: choose one of jwins, few-bytes, budgets, async, no-stragglers, half-sent, mosaic, movielens, movielens-no-stragglers, jwins-movielens, laptop" >&2
    exit 2 ;;
esac

if [[ $set =~ ^(jwins|few-bytes|budgets|async|no-stragglers|half-sent|mosaic)$ && ! -e data/cifar-10-batches-bin/test_batch.bin ]]; then
  echo "results: CIFAR-10 is not in data/cifar-10-batches-bin; scripts/get_data.sh cifar10 fetches it" >&2
  exit 2
fi
exec "$tessera" sweep "experiments/${line[0]}.toml" ${line[1]:+--only="${line[1]}"} --target="${line[2]}" --device="$device" --out="$dir/$set" \
  ${SEEDS:+--seeds="$SEEDS"} --checkpoint-every=50 "${line[@]:3}"
