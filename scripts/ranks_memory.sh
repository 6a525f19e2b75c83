#!/usr/bin/env bash
# Where the memory of ranks goes: scripts/ranks_memory.sh data|checkpoint
#
#   data        four ranks (RANKS) that learn CIFAR-10, with and without the decoded data in a file they share: the sum of their
#               proportional set sizes (Pss in /proc/PID/smaps_rollup) while they train
#   checkpoint  600 GN-LeNets (NODES) as one process and as two ranks, without checkpoints, with one after each round, and resumed from
#               one: the peak of every process
#
# TESSERA names the program (default: build/core/src/cli/tessera), MPIRUN mpirun, DATA the folder of CIFAR-10 (default:
# data/cifar-10-batches-bin).
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "${TESSERA:-build/core/src/cli/tessera}")
readonly program
readonly mpirun=${MPIRUN:-mpirun}
data=cifar10:dir=$(realpath "${DATA:-data/cifar-10-batches-bin}")
readonly data
folder=$(mktemp -d)
readonly folder
started=
trap '[[ -z $started ]] || kill "$started" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi

# What starts so many ranks; nothing where it is one.
starter() {  # RANKS
  start=()
  if (($1 > 1)); then start=("$mpirun" --bind-to none --oversubscribe -n "$1"); fi
}

# The ranks among the processes that mpirun started, below a daemon of its own or not.
ranks_below() {  # PID
  local pid
  for pid in $(pgrep -P "$1"); do
    if [[ $(readlink "/proc/$pid/exe") == "$program" ]]; then echo "$pid"; else ranks_below "$pid"; fi
  done
}

# Prints the sum when rank 0 has written a row, and a second later.
measure_pss() {  # RANKS CACHE
  local out=$folder/run pids pid total=0
  rm -rf "$out"
  starter "$1"
  TESSERA_CACHE=$2 "${start[@]}" "$program" sim --nodes=96 --seed=90 --data="$data" --partition=shards:per_node=2 \
    --model=gn-lenet --training=sgd:lr=0.01,batch=8,steps=3 --topology=regular:degree=4 --protocol=dpsgd:rounds=100000 \
    --sharing=jwins --evaluate=every=3,samples=100,merged=no --checkpoint-every=none --threads=1 --out="$out" --quiet \
    >"$folder/log" 2>&1 &
  started=$!
  until [[ -s $out/metrics.jsonl ]]; do
    kill -0 "$started" 2>/dev/null || { cat "$folder/log" >&2; return 1; }
    sleep 0.2
  done
  sleep 1
  pids=$(ranks_below "$started")
  [[ $(wc -w <<<"$pids") -eq $1 ]] || { echo "ranks_memory: looked for $1 ranks and found: $pids" >&2; return 1; }
  for pid in $pids; do total=$((total + $(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup"))); done
  kill "$started"
  wait "$started" 2>/dev/null || true
  started=
  echo "$((total / 1024)) MiB together"
}

measure_data() {
  local ranks=${RANKS:-4}
  printf '%d ranks, each with data of its own:          ' "$ranks"
  measure_pss "$ranks" off
  printf '%d ranks, the first run, which writes a file: ' "$ranks"
  measure_pss "$ranks" "$folder/cache"
  printf '%d ranks, later runs, which map it:           ' "$ranks"
  measure_pss "$ranks" "$folder/cache"
}

# The peak of each process of a run of four rounds, as the kernel has it.
peaks() {  # RANKS FLAG...
  starter "$1"
  shift
  rm -f "$folder"/peak-*
  # shellcheck disable=SC2016  # Each rank's shell has a number of its own.
  "${start[@]}" bash -c 'exec /usr/bin/time -f %M -o "$0/peak-$$" "$@"' "$folder" "$program" sim --nodes="${NODES:-600}" --seed=90 \
    --data="$data" --partition=iid --model=gn-lenet --topology=regular:degree=4 --training=sgd:lr=0.01,batch=1,steps=1 \
    --protocol=dpsgd:rounds=4 --sharing=full --evaluate=every=4,samples=1,merged=no --threads=1 --quiet "$@" >"$folder/log" 2>&1 ||
    { cat "$folder/log" >&2; return 1; }
  sort -rn "$folder"/peak-* | awk '{ printf "%s%d MiB", (NR > 1 ? " and " : ""), $1 / 1024 } END { print "" }'
}

measure_checkpoint() {
  local ranks
  export TESSERA_CACHE=$folder/cache
  peaks 1 --checkpoint-every=none --out="$folder/first" >/dev/null  # Writes the file of decoded data.
  for ranks in 1 2; do
    printf 'ranks: %d, no checkpoint:                   ' "$ranks"
    peaks "$ranks" --checkpoint-every=none --out="$folder/none-$ranks"
    printf 'ranks: %d, a checkpoint after each round:   ' "$ranks"
    peaks "$ranks" --checkpoint-every=1 --out="$folder/each-$ranks"
    rm "$folder/each-$ranks/summary.json"
    printf 'ranks: %d, resumed, without checkpoints:    ' "$ranks"
    peaks "$ranks" --checkpoint-every=none --resume --out="$folder/each-$ranks"
  done
}

case ${1:-} in
  data) measure_data ;;
  checkpoint) measure_checkpoint ;;
  *)
    echo "ranks_memory: choose one of data, checkpoint" >&2
    exit 2 ;;
esac
