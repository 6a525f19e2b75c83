#!/usr/bin/env bash
# Live clusters whose nodes are killed, frozen and restarted at random, beside undisturbed ones:
#
#   scripts/nemesis.sh [SECONDS] [PROGRAM] [FOLDER]   (default: 120, build/release/src/cli/tessera, runs/nemesis)
#
# Twelve nodes on Fashion-MNIST (NEMESIS_TOY=1: on the quadratic toy, which needs no LibTorch), for
# each of D-PSGD, JWINS and DivShare. The run lasts a little longer than the nemesis does. Fails when
# a run does not end, when a node is left behind, when a checkpoint had to be passed over, or when the
# disturbed run is more than three points of accuracy below the undisturbed one.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly seconds=${1:-120}
program=$(realpath "${2:-build/release/src/cli/tessera}")
readonly program
readonly out=${3:-runs/nemesis}
readonly nodes=12 pace_ms=250
failed=0

say() { echo "nemesis: $*"; }

figure() {  # RUN NAME
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$out/$1/summary.json" "$2"
}

launch() {  # NAME FLAG...
  local name=$1
  shift
  timeout $((seconds * 5 + 300)) "$program" launch "${lesson[@]}" --nodes=$nodes "$@" --pace=${pace_ms}ms \
    --checkpoint=2s --link=heartbeat=200ms,silence=1s/5s,retry=100ms/1s \
    --out="$out/$name" --overwrite --quiet
}

compare() {  # NAME FLAG...
  local name=$1 calm rough torn restarts
  shift
  say "$name"
  launch "$name-calm" "$@"
  if ! launch "$name-rough" "$@" --restart --nemesis="for=${seconds}s,every=1s,frozen=3s"; then
    say "FAILED: $name did not end"
    failed=1
    return
  fi
  calm=$(figure "$name-calm" accuracy)
  rough=$(figure "$name-rough" accuracy)
  torn=$(cat "$out/$name-rough"/logs/*.log | grep -c 'passed over' || true)
  restarts=$(cat "$out/$name-rough"/logs/*.log | grep -c 'resuming after' || true)
  say "$name: accuracy $calm undisturbed, $rough disturbed; $restarts times resumed, $torn checkpoints passed over"
  if ! python3 -c "exit(not ($calm - $rough <= 0.03 and $torn == 0))"; then
    say "FAILED: $name"
    failed=1
  fi
}

main() {
  local rounds=$((seconds * 1100 / pace_ms)) until=$((seconds + 15))s
  if [[ ${NEMESIS_TOY:-} == 1 ]]; then
    lesson=("--model=quadratic:dimension=5000,lr=0.03")
  else
    lesson=(experiments/fashion/full.toml)
  fi
  mkdir -p "$out"
  compare dpsgd --protocol="dpsgd:rounds=$rounds,patience=5s" --sharing=full --evaluate="every=$((rounds / 4))"
  compare jwins --protocol="dpsgd:rounds=$rounds,patience=5s" --sharing=jwins --codec=gamma+planes \
    --evaluate="every=$((rounds / 4))"
  compare divshare --protocol="divshare:fanout=4,until=$until" --sharing=fragments --evaluate=every=20s
  [[ $failed -eq 0 ]] && say "all three went through"
  return $failed
}

main
