#!/usr/bin/env bash
# The experiments of the ranks' tests (src/run/ranks_matrix.h) on many ranks beside one process: every row, byte and digest is compared.
#
#   [BUILD=build/core] [NODES=N] scripts/smpi.sh [RANKS]     (default: 64 ranks)
#
# SimGrid plays the ranks in one process and one thread (Debian: libsimgrid-dev). The experiments have nine or ten nodes: of 64 ranks
# most hold none, go through the same instants and take part in every exchange. NODES=96 gives every experiment so many.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly build=${BUILD:-build/core} ranks=${1:-64}
folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT

if ! command -v smpirun >/dev/null; then
  echo "smpi: there is no smpirun; Debian has it in libsimgrid-dev (scripts/setup.sh test)" >&2
  exit 2
fi
[[ -e $build/CMakeCache.txt ]] || cmake --preset core -B "$build" >/dev/null
cmake --build "$build" --target smpi_test >"$folder/build.log" || { cat "$folder/build.log" >&2; exit 1; }

seq -f 'machine-%.0f' 0 $((ranks - 1)) >"$folder/machines"
{
  echo '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
  echo '<platform version="4.1"><zone id="all" routing="None">'
  sed 's#.*#<host id="&" speed="1Gf"/>#' "$folder/machines"
  echo '</zone></platform>'
} >"$folder/machines.xml"
# How long things take in SimGrid's world does not matter here.
smpirun -np "$ranks" -platform "$folder/machines.xml" -hostfile "$folder/machines" --cfg=network/model:Constant --cfg=network/latency-factor:1e-6 \
  --cfg=smpi/simulate-computation:no --log=root.thresh:error "$build/src/cluster/libsmpi_test.so" ${NODES:+"$NODES"}
