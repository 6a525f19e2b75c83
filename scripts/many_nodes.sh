#!/usr/bin/env bash
# What a live node takes in a small fleet and in a large one: launches 10 and then 100 processes of
# the quadratic toy on this machine, on a ring and on a graph of degree 4, and prints for a node,
# in the mean: open descriptors, threads, processor time while it waits (a round comes every
# two seconds, beside heartbeats) and the programs' own part of it, how often a thread of it goes to
# sleep and is woken again per second, packets sent per second, and memory (PSS). On a busy machine
# processor time also has what others cost it, in caches that are cold again; how often threads wake
# says how much there is to do.
#
#   scripts/many_nodes.sh [TESSERA] [SECONDS] [NODES...]
#
# TESSERA defaults to build/release/src/cli/tessera, SECONDS (to watch) to 20, NODES to 10 100. Packets
# are counted on the loopback of a network namespace where that is permitted, else on the machine's,
# and then others' are among them; it says so. Needs a kernel with smaps_rollup.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${MANY_NODES_ALONE:-} ]]; then
  if unshare -n true 2>/dev/null; then
    MANY_NODES_ALONE=yes exec unshare -n "$0" "$@"
  fi
  echo "many_nodes: no network namespace is permitted here: packets of others are counted, too"
elif [[ $MANY_NODES_ALONE == yes ]]; then
  ip link set lo up
fi

program=$(realpath "${1:-build/release/src/cli/tessera}")
readonly program seconds=${2:-20}
shift $(($# > 2 ? 2 : $#))
sizes=("$@")
[[ $# -gt 0 ]] || sizes=(10 100)
launcher=
out=
stop() {
  [[ -z $launcher ]] || kill "$launcher" 2>/dev/null || true
  wait || true
  launcher=
  [[ -z $out ]] || rm -rf "$out"
}
trap stop EXIT

nodes_of_launcher() { pgrep -P "$launcher"; }
begun() { "$program" status --json "$out/run" 2>/dev/null | grep -c '"round": [1-9]' || true; }
packets() { awk '$1 == "lo:" { print $11 }' /proc/net/dev; }
# Of all nodes, in clock ticks: all of it, and what the program itself took.
processor() {
  local -a files
  mapfile -t files < <(nodes_of_launcher | sed 's|.*|/proc/&/stat|')
  awk '{ all += $14 + $15; own += $14 } END { print all, own }' "${files[@]}"
}
# Of all threads of all nodes.
wakes() {
  local pid
  for pid in $(nodes_of_launcher); do cat "/proc/$pid/task/"*/status; done |
    awk '$1 == "voluntary_ctxt_switches:" { sum += $2 } END { print sum }'
}

measure() {  # NODES TOPOLOGY
  local nodes=$1 topology=$2 pid descriptors=0 threads=0 pss=0 before_cpu before_own before_packets before_wakes
  out=$(mktemp -d)
  "$program" launch --processes="$nodes" --nodes="$nodes" --model=quadratic:dimension=1000 \
    --topology="$topology" --protocol=dpsgd:rounds=100000 --evaluate=every=100000 --pace=2s \
    --gather=2min --out="$out/run" --quiet >"$out/log" 2>&1 &
  launcher=$!
  until [[ $(begun) -ge $nodes ]]; do
    kill -0 "$launcher" 2>/dev/null || { cat "$out/log" >&2; exit 1; }
    sleep 1
  done
  sleep 15  # Links that were needed for the beginning alone rest by then.
  before_wakes=$(wakes) before_packets=$(packets)
  read -r before_cpu before_own < <(processor)
  sleep "$seconds"
  local cpu own woken sent
  read -r cpu own < <(processor)
  cpu=$((cpu - before_cpu)) own=$((own - before_own))
  sent=$(($(packets) - before_packets)) woken=$(($(wakes) - before_wakes))
  for pid in $(nodes_of_launcher); do
    descriptors=$((descriptors + $(find "/proc/$pid/fd" -mindepth 1 | wc -l)))
    threads=$((threads + $(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)))
    pss=$((pss + $(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup")))
  done
  awk -v n="$nodes" -v t="$topology" -v s="$seconds" -v d="$descriptors" -v th="$threads" \
    -v c="$cpu" -v o="$own" -v hz="$(getconf CLK_TCK)" -v p="$sent" -v w="$woken" -v m="$pss" \
    -v load="$(cut -d' ' -f1 /proc/loadavg)" \
    'BEGIN { printf "%5d  %-16s %11.1f %8.1f %12.3f%% %8.3f%% %8.1f %10.1f %9.1f %6s\n",
             n, t, d / n, th / n, 100 * c / hz / s / n, 100 * o / hz / s / n, w / s / n, p / s / n, m / 1000 / n, load }'
  stop
}

printf '%5s  %-16s %11s %8s %13s %9s %8s %10s %9s %6s\n' nodes topology descriptors threads processor \
  'its own' 'wakes/s' 'packets/s' 'PSS, MB' load
for topology in ring regular:degree=4; do
  for nodes in "${sizes[@]}"; do measure "$nodes" "$topology"; done
done
