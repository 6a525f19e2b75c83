#!/usr/bin/env bash
# A member behind a NAT: three live nodes in network namespaces, of which the third can make
# connections and nobody can make one to it.
#
#   scripts/nat.sh [PROGRAM] [FOLDER]     (default: build/release/src/cli/tessera runs/nat)
#
# alice and bob are on a bridge. carol's namespace has no interface but its loopback, so that there is
# no way in; a relay carries the connections that it makes to the others' addresses out, as a NAT
# does. The roster says dials-out for carol. D-PSGD on a ring of the three must end with the
# simulator's digest. Needs root, iproute2, python3 and a kernel with network namespaces; says so and
# stops with 0 where there are none.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "${1:-build/release/src/cli/tessera}")
readonly program out=${2:-runs/nat} port=5555
readonly spaces=(hub alice bob carol)
say() { echo "nat: $*"; }

started=()
cleanup() {
  local pid space
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait || true
  for space in "${spaces[@]}"; do ip netns del "tessera-nat-$space" 2>/dev/null || true; done
}

# In the background only: what `kill` is given then is the program itself.
inside() { exec ip netns exec "tessera-nat-$1" "${@:2}"; }

make_network() {
  local space
  for space in "${spaces[@]}"; do
    ip netns add "tessera-nat-$space"
    ip -n "tessera-nat-$space" link set lo up
  done
  ip -n tessera-nat-hub link add hub type bridge
  ip -n tessera-nat-hub addr add 10.78.0.254/24 dev hub
  ip -n tessera-nat-hub link set hub up
  add_to_bridge alice 10.78.0.1
  add_to_bridge bob 10.78.0.2
  for space in 1 2; do ip -n tessera-nat-carol addr add "10.78.0.$space/32" dev lo; done
}
add_to_bridge() {  # SPACE ADDRESS
  ip -n "tessera-nat-$1" link add eth0 type veth peer name "to-$1" netns tessera-nat-hub
  ip -n "tessera-nat-$1" addr add "$2/24" dev eth0
  ip -n "tessera-nat-$1" link set eth0 up
  ip -n tessera-nat-hub link set "to-$1" master hub up
}

# Carries each connection on: from HOST:PORT to a file's socket, or from a file's socket to HOST:PORT.
relay() {  # SPACE in|out HOST
  inside "$1" python3 - "$2" "$3" "$port" "$out/$3.sock" <<'END' &
import socket, sys, threading
way, host, port, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
def carry(near):
    far = socket.socket(socket.AF_UNIX if way == "in" else socket.AF_INET)
    try:
        far.connect(path if way == "in" else (host, port))
    except OSError:
        near.close()
        return
    threading.Thread(target=pump, args=(near, far), daemon=True).start()
    pump(far, near)
door = socket.socket(socket.AF_INET if way == "in" else socket.AF_UNIX)
door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
door.bind((host, port) if way == "in" else path)
door.listen(64)
while True:
    threading.Thread(target=carry, args=(door.accept()[0],), daemon=True).start()
END
  started+=($!)
}

readonly lines=(--nodes=3 --topology=ring --model=quadratic:dimension=20000 --sharing=full
  --codec=gamma+f32 --protocol=dpsgd:rounds=30 --evaluate=every=10)

make_roster() {
  local name
  "$program" sim "${lines[@]}" --out="$out/sim" --overwrite --quiet
  for name in alice bob carol; do "$program" keygen "$name" --dir="$out"; done
  "$program" roster add "$out/roster.toml" alice "10.78.0.1:$port" "$out/alice.pub"
  "$program" roster add "$out/roster.toml" bob "10.78.0.2:$port" "$out/bob.pub"
  "$program" roster add "$out/roster.toml" carol dials-out "$out/carol.pub"
}

run_nodes() {
  local name pid failed=0
  local -a nodes=()
  for name in alice bob carol; do
    inside "$name" "$program" node --name="$name" --key="$out/$name.key" \
      --roster="$out/roster.toml" --experiment="$out/sim/config.toml" \
      --folder="$out/live/nodes/$name" 2>"$out/$name.log" &
    nodes+=($!)
    started+=($!)
  done
  for pid in "${nodes[@]}"; do wait "$pid" || failed=1; done
  [[ $failed -eq 0 ]] || { tail -n 5 "$out"/*.log >&2; return 1; }
}

digest() { sed -n 's/.*"model_digest": "\(.*\)".*/\1/p' "$1"; }

main() {
  if [[ $(id -u) -ne 0 ]] || ! ip netns add tessera-nat-hub 2>/dev/null; then
    say "skipped: network namespaces are not permitted here (root and iproute2 are needed)"
    return 0
  fi
  ip netns del tessera-nat-hub
  trap cleanup EXIT
  rm -rf "$out"
  mkdir -p "$out/live/nodes"
  make_network
  local host
  for host in 10.78.0.1 10.78.0.2; do
    relay hub out "$host"
    relay carol in "$host"
  done
  make_roster
  run_nodes
  "$program" launch --collect --out="$out/live" --quiet
  local simulated live
  simulated=$(digest "$out/sim/summary.json") live=$(digest "$out/live/summary.json")
  say "simulated $simulated, live with carol dialling out $live"
  [[ -n $live && $simulated == "$live" ]]
}

main
