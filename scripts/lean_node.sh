#!/usr/bin/env bash
# What a live node takes: launches 16 nodes that learn CIFAR-10 on this machine, and prints the
# proportional set size (PSS) of each, the mean of them and how much of it is beyond a node's model
# and own samples, and the seconds from the start until every node has completed its first round.
#
#   scripts/lean_node.sh [TESSERA] [DATA] [NODES]
#
# TESSERA defaults to build/release/src/cli/tessera, DATA to data/cifar-10-batches-bin. The model has
# 89,834 parameters (0.36 MB), a node's own 3,125 samples are 9.6 MB, the test images 30.7 MB.
set -euo pipefail

program=$(realpath "${1:-build/release/src/cli/tessera}")
data=$(realpath "${2:-data/cifar-10-batches-bin}")
nodes=${3:-16}
out=$(mktemp -d)
launcher=
trap '[[ -z $launcher ]] || kill "$launcher" 2>/dev/null || true; wait; rm -rf "$out"' EXIT

"$program" launch --processes="$nodes" --data=cifar10:dir="$data" --partition=shards:per_node=2 \
  --model=gn-lenet --training=sgd:lr=0.01,batch=8,steps=1 --topology=regular:degree=4 \
  --protocol=dpsgd:rounds=100000 --evaluate=every=100000 --out="$out/run" --quiet \
  >"$out/log" 2>&1 &
launcher=$!

# The nodes that have completed a round, as their status says.
begun() {
  "$program" status --json "$out/run" 2>/dev/null | grep -c '"round": [1-9]' || true
}

start=$(date +%s.%N)
until [[ $(begun) -ge $nodes ]]; do
  kill -0 "$launcher" 2>/dev/null || { cat "$out/log" >&2; exit 1; }
  sleep 0.1
done
seconds=$(echo "$(date +%s.%N) - $start" | bc)
sleep 3

total=0
for pid in $(pgrep -P "$launcher"); do
  pss=$(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup")
  printf 'process %d: %.1f MB\n' "$pid" "$(echo "$pss / 1000" | bc -l)"
  total=$((total + pss))
done
# A sample is 3,072 pixels and a target of 4 bytes.
beyond=$(echo "$total / 1000 / $nodes - 89834 * 4 / 10^6 - 50000 / $nodes * 3076 / 10^6" | bc -l)
printf '%d nodes: %.1f MB each (PSS), %.1f of it beyond model and own samples, %.1f s to the first round of all\n' \
  "$nodes" "$(echo "$total / 1000 / $nodes" | bc -l)" "$beyond" "$seconds"
