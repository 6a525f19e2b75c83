#!/usr/bin/env bash
# Installs what is missing, builds the program, and shows it at work: scripts/quickstart.sh [--with-torch]
#
# The demo: sixteen nodes learn Fashion-MNIST together, sending whole models, a random part of them, what
# JWINS chooses, and the same in 8 bits; the four runs are put side by side, in the terminal and in an HTML page.
# --with-torch builds the preset release, which needs LibTorch: models of your own by TorchScript. The
# demo is the same. Safe to run again; what is built is not built twice.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly runs=runs/quickstart
readonly log=build/quickstart.log
preset=core
needs=(build core data)

# A fresh build folder gets no tests, and in core files are compiled together, which takes about half the time. The
# preset by itself, as the README has it, brings both back.
configure() {
  local together=OFF
  [[ $preset == core ]] && together=ON
  if [[ -e build/$preset/CMakeCache.txt ]]; then
    cmake "build/$preset"
  else
    cmake --preset "$preset" -DTESSERA_TESTS=OFF -DTESSERA_UNITY="$together"
  fi
}

build() {
  mkdir -p build
  scripts/setup.sh "${needs[@]}"
  if ! configure >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
  cmake --build --preset "$preset" -j "$(nproc)" --target tessera
}

simulate() {  # NAME EXPERIMENT
  echo
  echo "\$ tessera sim $2 --out=$runs/$1"
  "$tessera" sim "$2" --out="$runs/$1" --overwrite
}

main() {
  case ${1:-} in
    '') ;;
    --with-torch)
      preset=release
      needs+=(torch)
      ;;
    *)
      echo "quickstart: there is no option '$1'. Known: --with-torch." >&2
      return 2
      ;;
  esac
  tessera=build/$preset/src/cli/tessera
  build
  simulate full experiments/fashion.toml
  simulate random experiments/fashion_sharings.toml:random
  simulate jwins experiments/fashion_sharings.toml:jwins
  simulate jwins-int8 experiments/fashion_sharings.toml:jwins_int8
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
