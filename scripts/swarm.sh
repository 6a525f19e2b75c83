#!/usr/bin/env bash
# Runs random worlds with faults and hostile nodes for a while, on all cores: scripts/swarm.sh [SECONDS] [FIRST]
#
# Sixty seconds by default, from world 1,000,000 on (the test suite has the first few thousand). A world that fails is
# printed with its number: `tessera replay --swarm=NUMBER` runs it again. `tessera replay --swarm=0..99999` runs so many and no more; a core
# does about 500 a second.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly seconds=${1:-60} first=${2:-1000000} block=1000
readonly tessera=${TESSERA:-build/core/src/cli/tessera}
readonly cores=$(nproc)
readonly end=$((SECONDS + seconds))

run_every() {  # START: its share of the blocks, until the time is up
  local start=$1 worlds=0
  while ((SECONDS < end)); do
    "$tessera" replay --swarm="$start..$((start + block - 1))" | grep -v ' 0 failed' || true
    worlds=$((worlds + block))
    start=$((start + block * cores))
  done
  echo "$worlds worlds done"
}

for ((core = 0; core < cores; ++core)); do run_every $((first + core * block)) & done
wait
