#!/usr/bin/env bash
# Throws mutated bytes at every decoder: scripts/fuzz.sh [SECONDS] [TARGET...]
#
# SECONDS is for the whole run (default 1800), shared evenly by the targets, of which as many run at a
# time as there are cores. Targets are named after the files x_fuzz.cc; all of them by default. What a run
# learns stays in build/fuzz-corpus/TARGET and the next one starts there; inputs that crash go to its
# crashes/. TESSERA_BUILT=1 takes the programs in build/dev as they are, on a machine without Clang.
set -euo pipefail
cd "$(dirname "$0")/.."

at_a_time=$(nproc)
readonly at_a_time
readonly home=build/fuzz-corpus

all_targets() {
  find src -name '*_fuzz.cc' -exec basename {} _fuzz.cc ';' | sort
}

# Newer kernels place programs where the sanitizers of GCC 12 and Clang 14 do not expect them.
unshuffled() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

build() {  # TARGET...
  scripts/setup.sh build core test
  cmake --preset dev -DTESSERA_UNITY=ON -DTESSERA_WERROR="${TESSERA_WERROR:-OFF}" >/dev/null
  cmake --build --preset dev --target "$@"
}

fuzz() {
  local target=$1 seconds=$2
  local program
  program=$(find build/dev/src -name "fuzz_$target" -type f)
  mkdir -p "$home/$target/corpus" "$home/$target/crashes"
  # A crash is reported in the table; the other targets still get their time.
  unshuffled "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$home/$target/crashes/" "$home/$target/corpus" \
    >"$home/$target/log" 2>&1 || touch "$home/$target/failed"
}

# One row of the table: executions, coverage, corpus and crashes, from libFuzzer's own log.
summarize() {
  local target=$1 log=$home/$1/log runs coverage inputs crashes
  runs=$(grep -oE '^#[0-9]+' "$log" | tail -n 1 | tr -d '#' || true)
  coverage=$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1 | cut -d' ' -f2 || true)
  inputs=$(find "$home/$target/corpus" -type f | wc -l)
  crashes=$(find "$home/$target/crashes" -type f | wc -l)
  printf '%-20s %14s %10s %8s %8s%s\n' "$target" "${runs:-0}" "${coverage:-0}" "$inputs" "$crashes" \
    "$([[ -e $home/$target/failed ]] && echo "  failed, see $log")"
}

main() {
  local seconds=1800 targets=() target each bad=0
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then
    seconds=$1
    shift
  fi
  targets=("$@")
  [[ $# -gt 0 ]] || mapfile -t targets < <(all_targets)
  if [[ ${#targets[@]} -eq 0 ]]; then
    echo "fuzz: there is no x_fuzz.cc in src" >&2
    return 1
  fi

  [[ ${TESSERA_BUILT:-} == 1 ]] || build "${targets[@]/#/fuzz_}"

  local waves=$(((${#targets[@]} + at_a_time - 1) / at_a_time))
  each=$((seconds / waves > 0 ? seconds / waves : 1))
  echo "fuzzing ${#targets[@]} targets for $each s each, $at_a_time at a time"
  for target in "${targets[@]}"; do
    rm -f "$home/$target/failed"
    while [[ $(jobs -rp | wc -l) -ge $at_a_time ]]; do wait -n || true; done
    fuzz "$target" "$each" &
  done
  wait

  printf '%-20s %14s %10s %8s %8s\n' target executions coverage corpus crashes
  for target in "${targets[@]}"; do
    summarize "$target"
    [[ -e $home/$target/failed ]] && bad=1
  done
  return $bad
}

main "$@"
