#!/usr/bin/env bash
# Shows that a change moved nothing: scripts/digests.sh [PROGRAM] [--record]
#
# Makes a short run of every protocol, sharing, codec, network, kind of fault and built-in model on the CPU and
# compares the models' digest, the bytes and messages sent and the virtual time with those in scripts/digests.txt, which
# an earlier program wrote. Numbers are the same on every CPU and with any number of threads, so the list holds
# everywhere. --record writes the list anew: say in the commit which lines moved and why.
set -euo pipefail
readonly here=$(cd "$(dirname "$0")" && pwd)
readonly list=$here/digests.txt
program=$here/../build/core/src/cli/tessera
record=no

# The toy's runs: a name, then the flags in which it differs from `common`. A few seconds of virtual time
# with messages under way are enough to show a change of order, of size or of a draw.
readonly common=(--model=quadratic:dimension=500 --nodes=9 --topology=regular:degree=4 --evaluate=every=3s)
readonly toy='
full-ideal               --protocol=dpsgd:rounds=12
full-fifo                --protocol=dpsgd:rounds=12 --network=fifo:up=1Mbit/s,down=2Mbit/s,latency=3ms,stragglers=2,slowdown=5
full-links               --protocol=dpsgd:rounds=12 --network=links:up=1Mbit/s,down=1Mbit/s,latency=3ms,parallel=3
full-matrix              --protocol=dpsgd:rounds=12 --nodes=10 --network=matrix:file=%MATRIX%,up=1Mbit/s
random                   --protocol=dpsgd:rounds=12 --sharing=random:budget=0.3
topk                     --protocol=dpsgd:rounds=12 --sharing=topk:budget=0.2
topk-training            --protocol=dpsgd:rounds=12 --sharing=topk:budget=0.2,accumulate=training
jwins                    --protocol=dpsgd:rounds=12 --sharing=jwins
jwins-fft                --protocol=dpsgd:rounds=12 --sharing=jwins:transform=fft,budget=0.2
jwins-haar-forgetful     --protocol=dpsgd:rounds=12 --sharing=jwins:wavelet=haar,levels=3,budget=0.1/0.3,accumulate=no
jwins-links              --protocol=dpsgd:rounds=12 --sharing=jwins --network=links:up=100kbit/s,down=1Mbit/s,latency=3ms
jwins-schedule           --protocol=dpsgd:rounds=12 --sharing=jwins:budget=0.2,schedule=0.5@0.5/2@1 --codec=range+q5
choco                    --protocol=dpsgd:rounds=12 --sharing=choco
choco-bits               --protocol=dpsgd:rounds=12,weights=even --topology=star --sharing=choco:bits=5 --codec=range+grid
one-peer-twice           --protocol=dpsgd:rounds=12 --topology=one-peer-exponential:at_once=2
loop                     --protocol=dpsgd:rounds=12 --sharing=loop:budget=0.2,refresh=5 --codec=range+grid
loop-loss                --protocol=dpsgd:rounds=12,patience=3s --sharing=loop:refresh=4 --codec=range+grid --faults=loss=0.05
moniqua                  --protocol=dpsgd:rounds=12 --topology=regular:degree=4,redraw=yes --sharing=moniqua --codec=range+grid
mosaic                   --protocol=epidemic:fanout=2,rounds=12 --sharing=fragments:fraction=0.25
mosaic-redrawn           --protocol=dpsgd:rounds=12 --topology=regular:degree=4,redraw=yes --sharing=fragments:fraction=0.25
redrawn                  --protocol=dpsgd:rounds=12 --topology=regular:degree=4,redraw=yes --sharing=jwins
epidemic                 --protocol=epidemic:fanout=3,rounds=12
epidemic-patient         --protocol=epidemic:fanout=3,rounds=12,patience=2s --faults=loss=0.05
raw32-f32                --protocol=dpsgd:rounds=12 --sharing=topk:budget=0.2 --codec=raw32+f32
rice-fpzip               --protocol=dpsgd:rounds=12 --sharing=topk:budget=0.2 --codec=rice+fpzip
bitmap-f16               --protocol=dpsgd:rounds=12 --sharing=topk:budget=0.4 --codec=bitmap+f16
gamma-bf16               --protocol=dpsgd:rounds=12 --sharing=jwins --codec=gamma+bf16
gamma-int8               --protocol=dpsgd:rounds=12 --sharing=jwins --codec=gamma+int8
auto                     --protocol=dpsgd:rounds=12 --sharing=jwins --codec=auto+planes
range-planes             --protocol=dpsgd:rounds=12 --sharing=jwins --codec=range+planes
divshare-fifo            --protocol=divshare:fanout=3,until=12s --sharing=fragments --network=fifo:up=200kbit/s,stragglers=3,slowdown=5
divshare-links           --protocol=divshare:fanout=3,until=12s --sharing=fragments:fraction=0.2 --network=links:up=200kbit/s,down=1Mbit/s
divshare-half-sent       --protocol=divshare:fanout=3,until=12s --sharing=fragments --network=fifo:up=100kbit/s,half_sent=finished
divshare-wavelet         --protocol=divshare:fanout=3,until=12s --sharing=jwins:budget=0.3,pieces=6 --codec=gamma+int8 --network=fifo:up=200kbit/s
adpsgd-pairs             --protocol=adpsgd:until=12s --topology=bipartite:degree=4 --nodes=10 --network=fifo:up=1Mbit/s
adpsgd-pings             --protocol=adpsgd:form=pings,fanout=3,until=12s --network=links:up=1Mbit/s
swift-graph              --protocol=swift:until=12s --network=fifo:up=500kbit/s
swift-scatter            --protocol=swift:form=scatter,fanout=3,until=12s --network=fifo:up=500kbit/s
swift-every-second       --protocol=swift:every=2,until=12s --network=links:up=500kbit/s
normal-pace              --protocol=swift:until=12s --compute=normal:round=0.75s,deviation=0.1 --network=links:up=1Mbit/s
lognormal-pace           --protocol=divshare:fanout=3,until=12s --sharing=fragments --compute=lognormal:round=0.75s,sigma=0.3
loss-duplicates          --protocol=dpsgd:rounds=12,patience=3s --faults=loss=0.05,duplicate=0.05 --network=fifo:up=1Mbit/s
reorder-spikes           --protocol=divshare:fanout=3,until=12s --sharing=fragments --faults=reorder=0.2@50ms,spike=0.02@2s
partition                --protocol=dpsgd:rounds=12,patience=2s --sharing=jwins --faults=partition=3s/6s,heal=9s
crashes                  --protocol=dpsgd:rounds=15,patience=2s --faults=crash=8s/2s,snapshot=2s,heal=20s --network=links:up=1Mbit/s
hostile                  --protocol=dpsgd:rounds=12 --faults=hostile=2,attack=sign_flip
hostile-clipped          --protocol=dpsgd:rounds=12 --rule=clipped --faults=hostile=2,attack=random
median                   --protocol=dpsgd:rounds=12 --rule=median
trimmed                  --protocol=dpsgd:rounds=12 --sharing=topk:budget=0.4 --rule=trimmed
merge-end                --protocol=divshare:fanout=3,until=12s --sharing=fragments --merge=end --network=fifo:up=200kbit/s
merge-rounds             --protocol=dpsgd:rounds=12 --sharing=jwins --merge=every:rounds=5,codec=range+q8,last=range+f16
merge-time               --protocol=swift:until=12s --merge=every:time=4s --network=fifo:up=500kbit/s
crashes-forgotten        --protocol=divshare:fanout=3,until=15s --sharing=fragments --faults=crash=8s/2s,memory=nothing
'

# Learning: three rounds of each built-in model, on data made up on the spot.
readonly learning=(--nodes=4 --topology=ring --protocol=dpsgd:rounds=3 --sharing=jwins --evaluate=every=1)
readonly models='
logistic                 --data=synthetic:samples=400,test=100 --model=logistic --partition=shards:per_node=2
mlp                      --data=synthetic:samples=400,test=100 --model=mlp:hidden=40/20 --training=sgd:lr=0.05,batch=8,steps=4,momentum=0.9
gn-lenet                 --data=synthetic:samples=200,test=50,shape=3/32/32 --model=gn-lenet --training=sgd:lr=0.05,batch=8,steps=2
gn-lenet-winograd        --data=synthetic:samples=200,test=50,shape=3/32/32 --model=gn-lenet --training=sgd:lr=0.05,batch=8,steps=2 --device=cpu:convolution=winograd
gn-lenet-odd             --data=synthetic:samples=200,test=50,shape=3/27/21 --model=gn-lenet --training=sgd:lr=0.05,batch=5,steps=2
cnn28                    --data=synthetic:samples=200,test=50,shape=1/28/28 --model=cnn28 --training=sgd:lr=0.05,batch=8,steps=2 --partition=dirichlet:alpha=0.5
femnist-cnn              --data=synthetic:samples=100,test=50,shape=1/28/28,classes=62 --model=femnist-cnn --training=sgd:lr=0.05,batch=8,steps=1
celeba-cnn               --data=synthetic:samples=60,test=30,shape=3/84/84,classes=2 --model=celeba-cnn --training=sgd:lr=0.01,batch=4,steps=1
resnet8                  --data=synthetic:samples=60,test=30,shape=3/32/32 --model=resnet8 --training=sgd:lr=0.05,batch=4,steps=1
vgg11                    --data=synthetic:samples=60,test=4,shape=3/32/32 --model=vgg11 --sharing=full --training=sgd:lr=0.05,batch=2,steps=1,schedule=milestones,at=2 --partition=dirichlet:alpha=0.5,group=3,even=yes
matrix-factorization     --data=movielens:dir=%DATA%/ratings --partition=consecutive:test=own --model=matrix-factorization --training=sgd:lr=0.1,batch=4,steps=5
lstm                     --data=shakespeare:dir=%DATA%/text --partition=users:test=all --model=lstm --training=sgd:lr=0.5,batch=2,steps=1 --evaluate=every=3
'

# Ratings and lines of text that anybody can make again.
make_data() {  # FOLDER
  mkdir -p "$1/ratings" "$1/text/train" "$1/text/test"
  awk 'BEGIN { print "userId,movieId,rating,timestamp"
    for (u = 1; u <= 12; ++u) for (m = 1; m <= 20; ++m) if ((7 * u + 3 * m) % 5 < 3)
      printf "%d,%d,%.1f,%d\n", u, m, 0.5 + ((u * m) % 10) / 2, 1000 + m }' >"$1/ratings/ratings.csv"
  local half
  for half in train test; do
    awk 'BEGIN { letters = "the quick brown fox jumps over the lazy dog and "
      text = letters letters letters letters
      printf "{\"users\":["
      for (u = 0; u < 4; ++u) printf "%s\"u%d\"", u ? "," : "", u
      printf "],\"num_samples\":[4,4,4,4],\"user_data\":{"
      for (u = 0; u < 4; ++u) {
        printf "%s\"u%d\":{\"x\":[", u ? "," : "", u
        for (i = 0; i < 4; ++i) printf "%s\"%s\"", i ? "," : "", substr(text, 1 + 9 * u + 2 * i, 80)
        printf "],\"y\":["
        for (i = 0; i < 4; ++i) printf "%s\"%s\"", i ? "," : "", substr(text, 81 + 9 * u + 2 * i, 1)
        printf "]}" }
      printf "}}\n" }' >"$1/text/$half/all.json"
  done
}

# One line: the name, the digest, bytes per node, messages, virtual seconds. A run that fails says so instead.
run_one() {  # FOLDER NAME FLAG...
  local folder=$1/run name=$2 why
  shift 2
  if ! why=$("$program" sim "$@" --out="$folder" --overwrite --quiet 2>&1 >/dev/null); then
    echo "$name failed: ${why##*$'\n'}"
    return
  fi
  local key values=()
  for key in model_digest bytes_sent_per_node messages virtual_seconds; do
    values+=("$(sed -nE "s/^  \"$key\": \"?([^\",]*)\"?,?$/\1/p" "$folder/summary.json")")
  done
  printf '%-24s %s\n' "$name" "${values[*]}"
}

# A line's own flags win over those it shares with the others.
run_list() {  # FOLDER LIST FLAG...
  local folder=$1 lines=$2 line name flag flags
  shift 2
  while read -r name line; do
    [[ -n $name ]] || continue
    line=${line//%DATA%/$folder}
    flags=(${line//%MATRIX%/$folder/places.csv})
    for flag in "$@"; do
      [[ " $line" == *" ${flag%%=*}="* ]] || flags+=("$flag")
    done
    run_one "$folder" "$name" "${flags[@]}"
  done <<<"$lines"
}

main() {
  local argument folder
  for argument in "$@"; do
    if [[ $argument == --record ]]; then record=yes; else program=$argument; fi
  done
  if [[ ! -x $program ]]; then
    echo "digests: there is no program $program: build it, or name another" >&2
    return 2
  fi
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  make_data "$folder"
  cp "$(find "$here/../experiments" -name regions10.csv)" "$folder/places.csv"
  {
    run_list "$folder" "$toy" "${common[@]}"
    run_list "$folder" "$models" "${learning[@]}"
  } >"$folder/now.txt"
  if [[ $record == yes ]]; then
    cp "$folder/now.txt" "$list"
    echo "digests: $(wc -l <"$list") runs recorded"
  elif diff -u --label "$list" --label "$program" "$list" "$folder/now.txt"; then
    echo "digests: $(wc -l <"$list") runs, the same to the bit"
  else
    return 1
  fi
}

folder=
main "$@"
