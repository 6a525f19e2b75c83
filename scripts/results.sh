#!/usr/bin/env bash
# Runs the experiments behind docs/results.md and prints their table: scripts/results.sh SET [DEVICE] [DIR]
#
#   jwins, few-bytes, budgets, long, partitions, graphs, scale, codecs
#              CIFAR-10, 96 nodes, two label shards each: JWINS's setting with its sharings and ablations; ever less told, told late, or averaged
#              exactly now and then; JWINS and CHOCO-SGD at equal bytes, with a search of the latter's step; until random sampling is
#              where JWINS is; other partitions; graphs that change; up to 384 nodes; the same shares by six codecs
#   jwins-movielens, jwins-femnist, jwins-celeba, jwins-shakespeare
#              JWINS's other datasets, three sharings each
#   async, no-stragglers, half-sent, mosaic, fanout, fraction, round, slowdown, stragglers, regions
#              CIFAR-10, 60 nodes, 90 s of virtual time: DivShare's setting and what varies in it, with its rivals; half of the nodes are
#              stragglers where nothing else is said
#   movielens, movielens-no-stragglers
#              MovieLens, 60 nodes, 510 s of virtual time, with stragglers and without
#   laptop     the same story on Fashion-MNIST with 16 nodes, for two CPU cores and ten minutes
#
# DEVICE is cuda, cpu, or such a line with options (default cpu), DIR where the runs go (default runs/results). SEEDS=90..92 makes
# three runs of each (default 90), ONLY=a,b these cells in place of the set's own (`tessera sweep FILE --dry-run` lists them), JOBS=3 so many at a
# time, and FLAGS="--evaluate=every=50" changes lines, but none that tells a set's cells apart. Data in other places, for one:
#
#   FLAGS="--data=femnist:dir=data/leaf/femnist" scripts/results.sh jwins-femnist
#   FLAGS="--data=shakespeare:dir=data/leaf/shakespeare" scripts/results.sh jwins-shakespeare
#   FLAGS="--data=celeba:dir=data/leaf/celeba,images=data/celeba/img,resize=yes" scripts/results.sh jwins-celeba
#
# On an H200 a run of `jwins` takes half a minute; on two CPU cores some fifteen with DEVICE=cpu:convolution=winograd (calculated), and
# forty without. A run that is already there is kept, one that was cut short goes on where it stopped, and the table of what is finished is printed
# when a signal stops it, too; after a kill, `tessera compare DIR/SET` prints it.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly set=${1:-} device=${2:-cpu} dir=${3:-runs/results}

# A sweep's file, the cells of it, and the target to reach.
case $set in
  jwins) line=(jwins/cifar10_sharings full,random,jwins_planes,jwins_int8,no_wavelet,no_accumulation,no_cutoff 40%) ;;
  few-bytes | graphs | partitions | scale) line=("jwins/cifar10_${set//-/_}" "" 40%) ;;
  budgets) line=(jwins/cifar10_budgets "" 27%) ;;  # scripts/sooner.py says by what factor.
  codecs) line=(jwins/cifar10_codecs "" 20%) ;;
  long) line=(jwins/cifar10_long "" 40.1%) ;;
  jwins-movielens) line=(jwins/movielens "" loss=1.5) ;;
  jwins-femnist) line=(jwins/femnist "" 80%) ;;
  jwins-celeba) line=(jwins/celeba "" 75%) ;;
  jwins-shakespeare) line=(jwins/shakespeare "" 30%) ;;
  async) line=(divshare/cifar10_rivals divshare,wavelet,adpsgd,adpsgd_pings,swift,swift_scatter 60%) ;;
  no-stragglers) line=(divshare/cifar10_stragglers stragglers=0 60%) ;;
  half-sent | mosaic | fanout | fraction | round | slowdown | stragglers | regions) line=("divshare/cifar10_${set//-/_}" "" 60%) ;;
  movielens) line=(divshare/movielens_rivals "" loss=2) ;;
  movielens-no-stragglers)
    line=(divshare/movielens_rivals "" loss=2 --network=fifo:up=60Mbit/s,down=60Mbit/s,latency=1ms) ;;
  laptop) line=(fashion_rivals divshare,divshare_wavelet,adpsgd,adpsgd_pings,swift,swift_scatter,dpsgd 60%) ;;
  *)
    echo "results: there is no set '$set'. Known: jwins, few-bytes, budgets, long, partitions, graphs, scale, codecs, jwins-movielens, jwins-femnist," \
      "jwins-celeba, jwins-shakespeare, async, no-stragglers, half-sent, mosaic, fanout, fraction, round, slowdown, stragglers, regions, movielens," \
      "movielens-no-stragglers, laptop." >&2
    exit 2 ;;
esac

# What a set's experiments read, for get_data.sh to fetch under the same name; nothing where FLAGS says where data are.
needs() {  # NAME FILE
  [[ ${FLAGS:-} == *--data=* ]] || compgen -G "data/$2" >/dev/null && return
  echo "results: there is no data/$2; scripts/get_data.sh $1 fetches it, FLAGS=--data=… says where else it is (see the head of this script)" >&2
  exit 2
}

case ${line[0]} in
  *cifar10*) needs cifar10 cifar-10-batches-bin/test_batch.bin ;;
  *movielens*) needs movielens ml-latest-small/ratings.csv ;;
  *femnist) needs femnist 'femnist/train/*.json' ;;
  *shakespeare) needs shakespeare 'shakespeare/train/*.json' ;;
  *celeba) needs celeba 'celeba/train/*.json' ;;
esac
source scripts/program.sh
readonly only=${ONLY:-${line[1]}}
exec "$tessera" sweep "experiments/${line[0]}.toml" ${only:+--only="$only"} --target="${line[2]}" --device="$device" --out="$dir/$set" \
  --seeds="${SEEDS:-90}" ${JOBS:+--jobs="$JOBS"} "${line[@]:3}" ${FLAGS:-}
