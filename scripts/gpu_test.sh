#!/usr/bin/env bash
# Runs what needs an NVIDIA GPU: every kernel of src/cuda/ beside its plain twin, whole rounds beside the CPU layers, then
# `tessera bench gpu`. Where nvcc and a GPU are on different machines, build on one and copy the folder to the other.
#
#   scripts/gpu_test.sh [BUILD]     BUILD is where the programs were built (default build/core)
set -euo pipefail
build=${1:-$(dirname "$0")/../build/core}
for program in src/cuda/cuda_test src/cli/tessera; do
  if [[ ! -x $build/$program ]]; then
    echo "gpu_test: there is no $build/$program: build the targets cuda_test and tessera where nvcc is found" >&2
    exit 1
  fi
done
if ! nvidia-smi -L; then
  echo "gpu_test: no NVIDIA GPU here: the tests that need one would be skipped" >&2
  exit 1
fi
"$build/src/cuda/cuda_test"
"$build/src/cli/tessera" bench gpu
