#!/usr/bin/env bash
# Live clusters whose nodes are killed, frozen and restarted at random, beside undisturbed ones:
#
#   scripts/nemesis.sh [SECONDS] [PROGRAM] [FOLDER]   (default: 120, build/release/src/cli/tessera, runs/nemesis)
#
# Twelve nodes on Fashion-MNIST (NEMESIS_TOY=1: on the quadratic toy, which needs no files), for each
# of D-PSGD, JWINS and DivShare. In the disturbed cluster one node in twelve tells the others random
# values, disks are full now and then, and the roster has a thirteenth member whose name nobody knows.
# The undisturbed cluster, in which all are honest, runs beside it, and the same nodes are compared.
# Fails when a run does not end, when an honest node did not come to its end, when a checkpoint had to
# be passed over or a row was lost, or when the disturbed run is more than three points of accuracy
# below the undisturbed one. The disturbed run lasts a little longer than the nemesis does. NEMESES=jwins makes one of the
# three only, DATA names another folder of Fashion-MNIST.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly seconds=${1:-120}
program=$(realpath "${2:-build/release/src/cli/tessera}")
readonly program
readonly out=${3:-runs/nemesis}
readonly nodes=12 pace_ms=${NEMESIS_PACE_MS:-1000}
failed=0

say() { echo "nemesis: $*"; }

launch() {  # NAME FLAG...
  local name=$1
  shift
  timeout $((seconds * 3 + 300)) "$program" launch "${lesson[@]}" --nodes=$nodes "$@" --pace=${pace_ms}ms \
    --checkpoint=2s --link=heartbeat=200ms,silence=1s/5s,retry=100ms/1s \
    --out="$out/$name" --overwrite --quiet > "$out/$name.out" 2>&1
}

# Mean accuracy of the nodes that are honest in the disturbed run, in both; rows that were lost.
figures() {  # NAME
  awk 'FNR == 1 { file++ }
    /\[\]/ { next }
    /"node_accuracy": \[/ { list = "accuracy"; n = 0; next }
    /"hostile": \[/ { list = "hostile"; next }
    /\]/ { list = "" }
    /"rows-lost":/ && file == 2 { lost = $2 + 0 }
    list == "accuracy" { accuracy[file, n++] = $1 + 0 }
    list == "hostile" && file == 2 { hostile[$1 + 0] = 1 }
    END { for (i = 0; i < n; i++) if (!(i in hostile)) { honest++; calm += accuracy[1, i]; rough += accuracy[2, i] }
          printf "%.4f %.4f %d\n", calm / honest, rough / honest, lost }' \
    "$out/$1-calm/summary.json" "$out/$1-rough/summary.json"
}

count() {  # NAME WORDS: lines with these words in the disturbed nodes' logs
  cat "$out/$1-rough"/logs/*.log | grep -c "$2" || true
}

compare() {  # NAME FLAG...
  local name=$1 calm rough lost torn ended=0
  shift
  [[ " ${NEMESES:-$name} " == *" $name "* ]] || return 0
  say "$name, from $(date +%T)"
  launch "$name-calm" "$@" &
  launch "$name-rough" "$@" --faults=hostile=1,attack=random:sigma=1 --restart \
    --nemesis="for=${seconds}s,every=1s,frozen=3s,full=5s,absent=1" || ended=$?
  wait $! || ended=$?
  if [[ $ended -ne 0 ]]; then
    tail -n 3 "$out/$name-calm.out" "$out/$name-rough.out"
    say "FAILED: $name did not end"
    failed=1
    return
  fi
  read -r calm rough lost < <(figures "$name")
  torn=$(count "$name" 'passed over')
  say "$name: accuracy $calm undisturbed, $rough disturbed; $(count "$name" 'resuming after') times resumed," \
    "$torn checkpoints passed over, $lost rows lost; $(grep -h ^nemesis: "$out/$name-rough.out")"
  if ! awk "BEGIN { exit !($calm - $rough <= 0.03 && $torn == 0 && $lost == 0) }"; then
    say "FAILED: $name"
    failed=1
  fi
}

main() {
  # Whoever waits for nodes that are gone does fewer rounds in the same time.
  local rounds=$((seconds * 700 / pace_ms)) until=$((seconds + 15))s samples=samples=2000
  if [[ ${NEMESIS_TOY:-} == 1 ]]; then
    lesson=("--model=quadratic:dimension=5000,lr=0.03" "--rule=clipped")
  else
    lesson=(experiments/fashion.toml "--partition=iid" "--rule=clipped" "--data=fashion-mnist${DATA:+:dir=$DATA}")
  fi
  mkdir -p "$out"
  compare dpsgd --protocol="dpsgd:rounds=$rounds,patience=5s" --evaluate="every=$((rounds / 4)),$samples"
  compare jwins --protocol="dpsgd:rounds=$rounds,patience=5s" --sharing=jwins --codec=gamma+planes \
    --evaluate="every=$((rounds / 4)),$samples"
  compare divshare --protocol="divshare:fanout=4,until=$until" --sharing=fragments --evaluate="every=20s,$samples"
  [[ $failed -eq 0 ]] && say "all went through"
  return $failed
}

main
