#!/usr/bin/env bash
# Installs what is missing, builds the program, and shows it at work: scripts/quickstart.sh [--no-torch]
#
# --no-torch leaves LibTorch out: a small download and a quick build, without the training demo.
# Safe to run again; when nothing changed it goes straight to the demo. Results: build/quickstart.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly out=build/quickstart
readonly fashion_mnist=/usr/share/datasets/fashion-mnist
preset=release

offers() {  # COMMAND: whether the program has it
  "$tessera" --help | grep -qE "^  $1 "
}

build() {
  mkdir -p "$out"
  if [[ $preset == release ]]; then scripts/setup.sh build core learn; else scripts/setup.sh build core; fi
  # The demo needs no tests; a build folder that already has them keeps them.
  local tests=()
  [[ -e build/$preset/CMakeCache.txt ]] || tests=(-DTESSERA_TESTS=OFF)
  cmake --preset "$preset" "${tests[@]}" >"$out/configure.log" 2>&1 || {
    cat "$out/configure.log"
    return 1
  }
  cmake --build --preset "$preset" --target tessera
}

# What a share passes through, timed beside the libraries people use for the same jobs.
show_kernels() {
  "$tessera" bench --sizes=89834 --no-python | tee "$out/bench.txt"
  echo
  echo "The timings are in $out/bench.txt; '$tessera bench' has all sizes and the Python references."
}

show_training() {
  if [[ ! -d $fashion_mnist ]]; then
    echo "Fashion-MNIST is not at $fashion_mnist (Debian's dataset-fashion-mnist): no training demo."
    return
  fi
  "$tessera" train --data="fashion-mnist:dir=$fashion_mnist" | tee "$out/train.txt"
  echo
  echo "The training log is in $out/train.txt."
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
  if offers train; then show_training; fi
  show_kernels
}

main "$@"
