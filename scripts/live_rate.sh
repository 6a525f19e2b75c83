#!/usr/bin/env bash
# Rounds per second of eight live processes beside the same experiment simulated:
#
#   scripts/live_rate.sh [PROGRAM] [FOLDER]    (default: build/release/src/cli/tessera runs/live-rate)
#
# The digests of the two are compared on the way.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "${1:-build/release/src/cli/tessera}")
readonly program
readonly out=${2:-runs/live-rate}

measure() {  # NAME FLAG...
  local name=$1
  shift
  "$program" sim "$@" --out="$out/$name-sim" --overwrite --quiet >/dev/null
  "$program" launch "$@" --out="$out/$name-live" --overwrite --quiet >/dev/null
  python3 - "$name" "$out/$name-sim" "$out/$name-live" <<'PYTHON'
import json, sys
sim, live = (json.load(open(f"{run}/summary.json")) for run in sys.argv[2:])
rate = [run["rounds"] / run["loop_seconds"] for run in (sim, live)]
same = "same digest" if sim["model_digest"] == live["model_digest"] else "DIFFERENT DIGESTS"
print(f"{sys.argv[1]:<28}{rate[0]:>10.1f}{rate[1]:>10.1f}{rate[1] / rate[0]:>8.2f}  {same}")
sys.exit(same != "same digest")
PYTHON
}

mkdir -p "$out"
printf '%-28s%10s%10s%8s\n' "rounds per second" simulated live ratio
toy=(--nodes=8 --protocol=dpsgd:rounds=300 --evaluate=every=300)
measure toy-1k-full "${toy[@]}" --model=quadratic:dimension=1000
measure toy-100k-full "${toy[@]}" --model=quadratic:dimension=100000
measure toy-100k-jwins "${toy[@]}" --model=quadratic:dimension=100000 --sharing=jwins
if "$program" list models 2>/dev/null | grep -q cnn28; then
  for recipe in full jwins choco; do
    measure "fashion-$recipe" "experiments/fashion_sharings.toml:$recipe" --nodes=8 --protocol=dpsgd:rounds=20 --evaluate=every=20,samples=500
  done
fi
