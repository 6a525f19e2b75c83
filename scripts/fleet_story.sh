#!/usr/bin/env bash
# Plays the story of docs/deploy.md, word for word: scripts/fleet_story.sh PROGRAM
#
#   SHOTS=FOLDER scripts/fleet_story.sh PROGRAM     also takes pictures of what the operator sees (tessera watch), by Chromium
#
# Takes the experiment and the commands from the section that the page marks, and types each command on its machine: a network
# namespace with an address, a folder and data of its own. `TOKEN` is what `invite` wrote last for that machine. A line
# "# NAME's machine is lost" ends the machine at once, network and all; the next command typed there is another machine's. One
# that joins with --address=dials-out is behind a NAT (story_nat.sh). Shows that all begin together, that nobody can connect to
# the one behind the NAT, which takes part all the same, that the others go on without the lost one and the new one with them,
# and prints the seconds to the first round and the number of commands. Exits with 77 where network namespaces are not permitted.
set -euo pipefail

readonly page=$(cd "$(dirname "$0")/.." && pwd)/docs/deploy.md
readonly program=$(realpath "$1")
readonly home=$(mktemp -d /tmp/tessera-story-XXXXXX)
readonly net=story-$$
readonly patience=120  # Whatever is waited for comes within so many seconds.
readonly shots=${SHOTS:+$(mkdir -p "$SHOTS" && realpath "$SHOTS")}
declare -A life token behind  # By machine: which one of its name it is, and so on.
machines=0 commands=0 began=$SECONDS
. "$(dirname "$0")/story_nat.sh"

say() { echo "story: $*"; }
fail() {
  say "FAILED: $*"
  tail -n 20 "$home"/*/log "$home"/*/out 2>/dev/null || true
  exit 1
}

place() { echo "$net-$1-${life[$1]}"; }
in_place() { ip netns exec "$(place "$1")" "${@:2}"; }

end_machine() {  # NAME
  local id
  while [[ -n $(ip netns pids "$(place "$1")" 2>/dev/null) ]]; do
    for id in $(ip netns pids "$(place "$1")"); do kill -KILL "$id" 2>/dev/null || true; done
    sleep 0.05
  done
  ip netns del "$(place "$1")" 2>/dev/null || true
  end_nat "$1"
}
cleanup() {
  local name
  for name in "${!life[@]}"; do end_machine "$name"; done
  ip netns del "$net-hub" 2>/dev/null || true
  rm -rf "$home"
}

# A cable to the hub, an address, a folder with a table of its own.
plug_in() {  # NAMESPACE NUMBER
  ip -n "$1" link add eth0 type veth peer name "port$2" netns "$net-hub"
  ip -n "$1" addr add "10.0.0.$2/24" dev eth0
  ip -n "$1" link set lo up
  ip -n "$1" link set eth0 up
  ip -n "$net-hub" link set "port$2" master hub up
}
make_machine() {  # NAME WORDS... (of the first command that is typed there)
  local name=$1 number
  machines=$((machines + 1)) life[$name]=$((${life[$name]:-0} + 1)) number=$machines
  ip netns add "$(place "$name")"
  if [[ ${*:2} == *--address=dials-out* ]]; then
    make_nat "$name" "$number"
  else
    plug_in "$(place "$name")" "$number"
  fi
  mkdir -p "$home/$name-${life[$name]}"
  awk -v seed="$number" -v OFS=, 'BEGIN {
    srand(seed); print "pressure,wind,weather"
    for (i = 0; i < 200; ++i) { storm = i % 2; print 990 + 20 * !storm + 8 * rand(), 5 + 9 * storm + 6 * rand(), storm ? "storm" : "calm" }
  }' >"$home/$name-${life[$name]}/readings.csv"
}
folder_of() { echo "$home/$1-${life[$1]}"; }

await() {  # WHAT COMMAND...
  local until=$((SECONDS + patience)) what=$1
  shift
  until "$@"; do
    ((SECONDS < until)) || fail "$what did not come within $patience s"
    sleep 0.1
  done
}
round_of() { in_place "$1" "$program" status "$(folder_of "$1")/$1" --json 2>/dev/null | sed -n 's/^  "round": \([0-9]*\),$/\1/p'; }
is_at() { (($(round_of "$1" || true) + 0 >= $2)); }
# Whether the link of one to another stands, by what it says itself.
hears() { in_place "$1" "$program" status "$(folder_of "$1")/$1" 2>/dev/null | grep -Eq "^ *$2 +alive"; }

# Commands that stay are left running; the others must come to an end and say that all is well.
type_command() {  # MACHINE WORDS...
  local name=$1 words=${*:2} folder
  folder=$(folder_of "$name")
  commands=$((commands + 1))
  words=${words//TOKEN/${token[$name]:-}}
  words=${words/#tessera /"$program" }
  say "$name\$ ${*:2}"
  case ${*:2} in
    'tessera node '* | 'tessera join '*)
      (cd "$folder" && exec ip netns exec "$(place "$name")" bash -c "exec $words" >>out 2>>log) &
      disown
      ;;
    *) (cd "$folder" && ip netns exec "$(place "$name")" timeout "$patience" bash -c "$words" >out 2>err) || fail "$(cat "$folder/err")" ;;
  esac
  if [[ ${*:2} == 'tessera invite '* ]]; then
    while read -r who what; do token[$who]=$what; done <"$folder/out"
  fi
}

# What happened so far is looked at when a new part of the story begins.
look() {
  case $1 in
    1)
      for name in alice bob carol dave erin; do await "$name's first round" is_at "$name" 1; done
      say "five machines: $commands commands, $((SECONDS - began)) s to the first round of all"
      for name in "${!behind[@]}"; do show_nat "$name"; done
      shoot 1-all-are-there
      ;;
    2)
      await "carol's first round on another machine" is_at carol 1
      await "a round after that" is_at alice $(($(round_of alice) + 5))
      grep -q "begins with the model of" "$(folder_of carol)/log" || fail "carol was told no model"
      for name in "${!behind[@]}"; do
        await "the new carol to hear $name" hears carol "$name"
        await "a round of $name" is_at "$name" $(($(round_of "$name") + 5))
      done
      shoot 3-replaced
      say "replaced while the others went on: $commands commands in all, $((SECONDS - began)) s"
      ;;
  esac
}

lose() {  # NAME
  local before
  before=$(round_of alice)
  end_machine "$1"
  await "a round without $1" is_at alice $((before + 5))
  shoot 2-lost
}

# What the operator sees. The page asks the fleet every second; three seconds of it are waited for.
shoot() {  # NAME
  [[ -n $shots ]] || return 0
  local folder
  folder=$(folder_of alice)
  if [[ ! -e $folder/page ]]; then
    (cd "$folder" && exec ip netns exec "$(place alice)" "$program" watch roster.toml --key=alice.key >page 2>&1) &
    disown
    await "the page's address" grep -q http "$folder/page"
  fi
  sleep 4  # Whoever is lost is so after the patience of a question or two.
  in_place alice "${CHROMIUM:-chromium}" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$home/chromium" \
    --window-size=1280,1000 --virtual-time-budget=3000 --screenshot="$shots/$1.png" \
    "$(grep -o 'http://[0-9.:]*' "$folder/page" | head -n 1)" >"$home/chromium.log" 2>&1 || fail "$(tail -n 5 "$home/chromium.log")"
  say "a picture: $shots/$1.png"
}

play() {
  local line part=0 inside='' name words
  while IFS= read -r line; do
    case $line in
      '```toml') inside=toml ;;
      '```console') inside=console ;;
      '```') [[ $inside == console ]] && look $((++part)); inside='' ;;
      *)
        [[ $inside == toml ]] && echo "$line" >>"$home/sensors.toml"
        if [[ $inside == console && $line =~ ^\#\ ([a-z]+)\'s\ machine\ is\ lost ]]; then
          name=${BASH_REMATCH[1]}
          say "$line"
          lose "$name"
          make_machine "$name"
        elif [[ $inside == console && $line =~ ^([a-z]+)\$\ +(.*) ]]; then
          name=${BASH_REMATCH[1]} words=${BASH_REMATCH[2]%%   \#*}
          [[ -n ${life[$name]:-} ]] || make_machine "$name" "$words"
          [[ $name == alice ]] && cp -n "$home/sensors.toml" "$(folder_of alice)/"
          type_command "$name" "$words"
        fi
        ;;
    esac
  done < <(sed -n '/^<!-- story/,/^<!-- end of the story/p' "$page")
  ((part == 2)) || fail "docs/deploy.md has $part parts of a story where 2 are expected"
}

main() {
  if [[ $(id -u) -ne 0 ]] || ! ip netns add "$net-hub" 2>/dev/null; then
    rm -rf "$home"
    say "skipped: network namespaces are not permitted here (root and iproute2 are needed)"
    exit 77
  fi
  trap cleanup EXIT
  ip -n "$net-hub" link add hub type bridge
  ip -n "$net-hub" link set hub up
  play
  say "done"
}

main
