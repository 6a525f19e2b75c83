#!/usr/bin/env bash
# Live nodes behind slow links, beside the simulator's prediction for the same links:
#
#   scripts/netns.sh [PROGRAM] [FOLDER]     (default: build/release/src/cli/tessera runs/netns)
#
# Eight nodes, each in a network namespace of its own, joined by a bridge. Every up-link and
# down-link is shaped by tc; half of the nodes have a fifth of the others' bandwidth. Synchronous
# D-PSGD and DivShare run live, and then simulated with network=links. Needs root, iproute2 and a
# kernel with network namespaces; says so and stops with 0 where there are none.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "${1:-build/release/src/cli/tessera}")
readonly program
readonly out=${2:-runs/netns}
readonly nodes=8 slow=4
readonly fast_rate=20 slow_rate=4  # Mbit/s, each way.
readonly pace=500ms                # What a training takes, live and simulated.

say() { echo "netns: $*"; }

cleanup() {
  local id
  for ((id = 0; id < nodes; ++id)); do ip netns del "tessera-$id" 2>/dev/null || true; done
  ip netns del tessera-hub 2>/dev/null || true
}

# A namespace for the node, a cable to the hub, and a bucket at either end of it.
make_node() {  # ID RATE
  local name=tessera-$1
  ip netns add "$name"
  ip -n "$name" link add eth0 type veth peer name "port$1" netns tessera-hub
  ip -n "$name" addr add "10.77.0.1$1/24" dev eth0
  ip -n "$name" link set lo up
  # What the path to a slow link holds is known here, and BBR's guess of it suffers when both
  # directions are full.
  ip netns exec "$name" sysctl -q -w net.ipv4.tcp_congestion_control=reno || true
  ip netns exec "$name" sysctl -q -w net.ipv4.tcp_slow_start_after_idle=0 || true
  ip -n "$name" link set eth0 up
  ip -n tessera-hub link set "port$1" master hub up
  tc -n "$name" qdisc add dev eth0 root tbf rate "$2mbit" burst 16kb limit 256kb
  tc -n tessera-hub qdisc add dev "port$1" root tbf rate "$2mbit" burst 16kb limit 256kb
}

make_network() {
  local id
  ip netns add tessera-hub
  ip -n tessera-hub link add hub type bridge
  ip -n tessera-hub link set hub up
  for ((id = 0; id < nodes; ++id)); do
    make_node "$id" $((id < slow ? slow_rate : fast_rate))
  done
}

readonly common=(--nodes="$nodes" --topology=regular:degree=4 "--model=quadratic:dimension=50000,lr=0.05"
  --codec=gamma+f32)
readonly dpsgd=(--protocol=dpsgd:rounds=20 --sharing=full --evaluate=every=1)
readonly divshare=("--protocol=divshare:fanout=4,until=40s" --sharing=fragments --evaluate=every=2s)

live() {  # NAME FLAG...
  local name=$1
  shift
  "$program" launch "${common[@]}" "$@" --pace=$pace \
    --prefix='ip netns exec tessera-{id}' --host='10.77.0.1{id}' \
    --out="$out/$name-live" --overwrite --quiet
}

# tc counts packets whole, of which 1448 bytes in 1514 are ours.
simulated() {  # NAME FLAG...
  local name=$1 rate=$((fast_rate * 1000 * 1448 / 1514))
  shift
  "$program" sim "${common[@]}" "$@" --compute=constant:round=$pace \
    --network="links:up=${rate}kbit/s,latency=0.1ms,parallel=8,stragglers=$slow,slowdown=$((fast_rate / slow_rate)),noise=0,half_sent=finished" \
    --out="$out/$name-sim" --overwrite --quiet
}

main() {
  if [[ $(id -u) -ne 0 ]] || ! ip netns add tessera-hub 2>/dev/null; then
    say "skipped: network namespaces are not permitted here (root and iproute2 are needed)"
    return 0
  fi
  ip netns del tessera-hub
  trap cleanup EXIT
  make_network
  mkdir -p "$out"
  live dpsgd "${dpsgd[@]}"
  live divshare "${divshare[@]}"
  simulated dpsgd "${dpsgd[@]}"
  simulated divshare "${divshare[@]}"
  python3 scripts/netns_table.py "$out" "$out/loss.svg"
}

main
