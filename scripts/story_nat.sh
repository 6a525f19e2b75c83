#!/usr/bin/env bash
# A machine of fleet_story.sh behind a NAT: it can make connections, and nobody can make one to it.
#
# It is in a network of its own, 192.168.N.0/24, of which the others know nothing. Its router has the address 10.0.0.N among
# them, hides it (masquerade) and lets in what was asked for from inside, as a home's does: by nftables or iptables, whichever
# is there and works. Where neither does, its namespace has no interface but the loopback and a relay carries the connections
# that it makes to the others' addresses out.
#
# Sourced by fleet_story.sh, whose functions it uses.
set -euo pipefail

readonly story_port=5555 relayed=9
router_of() { echo "$net-router-$1-${life[$1]}"; }

make_nat() {  # NAME NUMBER
  local name=$1 number=$2 router inside
  router=$(router_of "$name") inside=$(place "$name")
  behind[$name]=192.168.$number.2
  ip netns add "$router"
  plug_in "$router" "$number"
  ip -n "$inside" link set lo up
  if ! masquerade "$router"; then
    say "$name is behind a relay: there is neither nftables nor iptables here that works"
    make_relays "$name"
    return
  fi
  ip -n "$inside" link add eth0 type veth peer name home netns "$router"
  ip -n "$inside" addr add "192.168.$number.2/24" dev eth0
  ip -n "$inside" link set eth0 up
  ip -n "$router" addr add "192.168.$number.1/24" dev home
  ip -n "$router" link set home up
  ip -n "$inside" route add default via "192.168.$number.1"
  ip netns exec "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
  routes+=("192.168.$number.0/24 via 10.0.0.$number")
  say "$name is behind a NAT, at ${behind[$name]} with a router at 10.0.0.$number"
}
routes=()

masquerade() {  # NAMESPACE
  ip netns exec "$1" nft -f - 2>/dev/null <<'END' && return
table ip home {
  chain out { type nat hook postrouting priority 100; oifname "eth0" masquerade; }
  chain through {
    type filter hook forward priority 0; policy drop;
    iifname "home" accept
    ct state established,related accept
  }
}
END
  ip netns exec "$1" iptables -t nat -A POSTROUTING -o eth0 -j MASQUERADE 2>/dev/null &&
    ip netns exec "$1" iptables -A FORWARD -i home -j ACCEPT &&
    ip netns exec "$1" iptables -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT &&
    ip netns exec "$1" iptables -P FORWARD DROP
}

end_nat() {  # NAME
  local id
  [[ -n ${behind[$1]:-} ]] || return 0
  for id in $(ip netns pids "$(router_of "$1")" 2>/dev/null); do kill -KILL "$id" 2>/dev/null || true; done
  ip netns del "$(router_of "$1")" 2>/dev/null || true
}

# Every address that a machine of the story may have is carried out of the namespace, whoever has it by then.
make_relays() {  # NAME
  local host way space
  for ((host = 1; host <= relayed; ++host)); do ip -n "$(place "$1")" addr add "10.0.0.$host/32" dev lo; done
  for way in out in; do
    space=$([[ $way == out ]] && router_of "$1" || place "$1")
    ip netns exec "$space" python3 - "$way" "$home/relay-$1" "$story_port" "$relayed" <<'END' >/dev/null 2>&1 &
import socket, sys, threading, time
way, path, port, hosts = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
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
def carry(near, host):
    far = socket.socket(socket.AF_UNIX if way == "in" else socket.AF_INET)
    try:
        far.connect(f"{path}-{host}" if way == "in" else (f"10.0.0.{host}", port))
    except OSError:
        near.close()
        return
    threading.Thread(target=pump, args=(near, far), daemon=True).start()
    pump(far, near)
def serve(host):
    door = socket.socket(socket.AF_INET if way == "in" else socket.AF_UNIX)
    door.bind((f"10.0.0.{host}", port) if way == "in" else f"{path}-{host}")
    door.listen(64)
    while True:
        threading.Thread(target=carry, args=(door.accept()[0], host), daemon=True).start()
for host in range(1, hosts + 1):
    threading.Thread(target=serve, args=(host,), daemon=True).start()
while True:
    time.sleep(3600)
END
    disown
  done
}

connects() {  # FROM HOST PORT
  in_place "$1" timeout 2 bash -c ": <'/dev/tcp/$2/$3'" 2>/dev/null
}

# Something listens there for once, so that a way in would be found; it is found from inside.
show_nat() {  # NAME
  local name=$1 port=5999 number=${behind[$1]} listener host listening
  number=${number#192.168.} number=${number%.2}
  listening=$(in_place "$name" cat /proc/net/tcp /proc/net/tcp6 | awk '$4 == "0A"' | wc -l)
  if ((${#routes[@]} > 0)); then
    ((listening == 0)) || fail "$name listens at $listening ports, and should at none"
    ip -n "$(place alice)" route add ${routes[0]}
  fi
  in_place "$name" python3 -c "
import socket, time
door = socket.create_server(('', $port), backlog=16)
time.sleep(60)" &
  listener=$!
  await "a listener at $name" connects "$name" 127.0.0.1 "$port"
  for host in "${behind[$name]}" "10.0.0.$number"; do
    if connects alice "$host" "$port"; then fail "$name can be connected to at $host"; fi
  done
  kill "$listener"
  ((${#routes[@]} == 0)) || ip -n "$(place alice)" route del ${routes[0]}
  await "alice to hear $name" hears alice "$name"
  in_place alice "$program" status "$(folder_of alice)/roster.toml" --key="$(folder_of alice)/alice.key" | grep -Eq "^$name +heard" ||
    fail "the fleet's table does not say that $name is heard"
  await "rounds of $name" is_at "$name" 5
  say "nobody can connect to $name, and it takes part: it is at round $(round_of "$name"), where alice is at $(round_of alice)"
}
