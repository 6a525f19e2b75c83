#!/usr/bin/env bash
# Installs what is missing, builds the program, and shows it at work: scripts/quickstart.sh [--no-torch]
#
# The demo: sixteen nodes learn Fashion-MNIST together, sending whole models, a random part of them, what
# JWINS chooses, and the same in 8 bits; the four runs are put side by side, in the terminal and in an HTML page.
# --no-torch leaves LibTorch out, for a small download and a quick build; the nodes then solve a toy problem instead. Safe to run again; what is built is
# not built twice.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly runs=runs/quickstart
readonly log=build/quickstart.log
preset=release

build() {
  mkdir -p build
  if [[ $preset == release ]]; then scripts/setup.sh build core learn; else scripts/setup.sh build core; fi
  # The demo needs no tests; a build folder that already has them keeps them.
  local tests=()
  [[ -e build/$preset/CMakeCache.txt ]] || tests=(-DTESSERA_TESTS=OFF)
  if ! cmake --preset "$preset" "${tests[@]}" >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
  cmake --build --preset "$preset" -j "$(nproc)" --target tessera
}

simulate() {  # NAME EXPERIMENT [FLAG...]
  local arguments=("${@:2}" --out="$runs/$1")
  echo
  echo "\$ tessera sim ${arguments[*]}"
  "$tessera" sim "${arguments[@]}" --overwrite
}

main() {
  case ${1:-} in
    '') [[ -d src/learn ]] || preset=core ;;
    --no-torch) preset=core ;;
    *)
      echo "quickstart: there is no option '$1'. Known: --no-torch." >&2
      return 2
      ;;
  esac
  tessera=build/$preset/src/cli/tessera
  build
  if [[ $preset == release ]]; then
    simulate full experiments/fashion/full.toml
    simulate random experiments/fashion/random.toml
    simulate jwins experiments/fashion/jwins.toml
    simulate jwins-int8 experiments/fashion/jwins_int8.toml
  else
    simulate full experiments/toy.toml --sharing=full
    simulate random experiments/toy.toml --sharing=random
    simulate jwins experiments/toy.toml
    simulate jwins-int8 experiments/toy.toml --codec=gamma+int8
  fi
  echo
  echo "\$ tessera compare $runs/full $runs/random $runs/jwins $runs/jwins-int8"
  "$tessera" compare "$runs/full" "$runs/random" "$runs/jwins" "$runs/jwins-int8"
  echo
  echo "\$ tessera report $runs --out=$runs/report.html"
  if "$tessera" report "$runs/full" "$runs/random" "$runs/jwins" "$runs/jwins-int8" \
    --title="Sixteen nodes, four ways to share" --out="$runs/report.html"; then
    echo
    echo "Open $runs/report.html in a browser: the four runs in one page that needs nothing else."
  fi
  echo "Each run's figures are in its folder: $runs/jwins/summary.json and metrics.jsonl, for example."
  echo "The program is $tessera; try '$tessera list' and '$tessera bench'."
}

main "$@"
