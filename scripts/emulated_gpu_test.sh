#!/usr/bin/env bash
# Runs the tests of src/cuda/ where there is neither nvcc nor a GPU: the kernels as plain C++, thread by thread on the CPU (src/cuda/emulated/).
# A GPU still has the last word (scripts/gpu_test.sh): what the driver and the hardware do, and how fast, is not emulated.
#
#   scripts/emulated_gpu_test.sh [ORDER...]     ascending, descending, or seeds: who goes first among a block's threads (default: ascending)
#
#   SANITIZE=address,undefined    checks every access of the kernels, too, and takes several times as long
#   FILTER='CudaKernels.*'        only these tests
#
# One process for each core; what a process had to say stands in build/emulated*/shard-*.log.
set -euo pipefail
cd "$(dirname "$0")/.."
sanitize=${SANITIZE:-}
build=build/emulated${sanitize:+-sanitized}
orders=("${@:-ascending}")
processes=$(nproc)

cmake --preset core -B "$build" -DTESSERA_CUDA_EMULATED=ON -DTESSERA_UNITY=ON -DTESSERA_PYTHON=OFF -DTESSERA_LIVE=OFF \
  -DTESSERA_SANITIZE="$sanitize" -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG -g1 -Wno-maybe-uninitialized"
cmake --build "$build" -j "$processes" --target cuda_test

status=0
for order in "${orders[@]}"; do
  SECONDS=0
  children=()
  for ((shard = 0; shard < processes; ++shard)); do
    TESSERA_EMULATED_ORDER=$order GTEST_TOTAL_SHARDS=$processes GTEST_SHARD_INDEX=$shard \
      "$build/src/cuda/cuda_test" --gtest_filter="${FILTER:-*}" >"$build/shard-$shard.log" 2>&1 &
    children+=($!)
  done
  outcome=passed
  for child in "${children[@]}"; do wait "$child" || outcome=FAILED; done
  [[ $outcome == passed ]] || status=1
  grep -hE '^\[  FAILED  \] .*ms\)|Failure$|^ERROR|runtime error|the emulated GPU' "$build"/shard-*.log || true
  echo "emulated_gpu_test: $order: $outcome, $SECONDS s"
done
exit $status
