#!/usr/bin/env bash
# Draws the figures of docs/results.md: scripts/figures.sh [RUNS [OUT]]
#
# RUNS is where scripts/results.sh put its sets (default runs/results), OUT where figures go (default docs/figures). One whose runs are not
# all there is left out and named. docs/figures/netns.svg is drawn by scripts/netns_table.py from what scripts/netns.sh measures.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly runs=${1:-runs/results} out=${2:-docs/figures}
left_out=0

draw() {  # SCRIPT FIGURE ARGUMENT...
  if python3 "scripts/$1.py" "$out/$2.svg" "${@:3}"; then echo "$out/$2.svg"; else left_out=1; fi
}

mkdir -p "$out"
# scripts/results.sh jwins
draw curves jwins --x=bytes "full=$runs/jwins/full" "random sampling, 37%=$runs/jwins/random" "JWINS, list of budgets=$runs/jwins/jwins_planes" \
  "JWINS, fixed, int8=$runs/jwins/jwins_int8" "JWINS without wavelet=$runs/jwins/no_wavelet"
# scripts/results.sh async
draw curves async "DivShare=$runs/async/divshare" "wavelet-DivShare, int8=$runs/async/wavelet" "AD-PSGD, pairs=$runs/async/adpsgd" \
  "AD-PSGD, pings=$runs/async/adpsgd_pings" "SWIFT, on a graph=$runs/async/swift" "SWIFT, scatter=$runs/async/swift_scatter"
# scripts/results.sh few-bytes, budgets and jwins
draw ends ends "^merges and pairs=$runs/few-bytes/merges_last_f16" "^pairs=$runs/few-bytes/pairs" "_JWINS, late=$runs/few-bytes/scheduled" \
  "_CHOCO %=$runs/budgets/choco10-step=0.35" "^JWINS %=$runs/budgets/jwins10" "_CHOCO %=$runs/budgets/choco20-step=0.55" \
  "^JWINS %=$runs/budgets/jwins20" "_JWINS %=$runs/jwins/jwins_planes" "^random sampling=$runs/jwins/random" "^full sharing=$runs/few-bytes/full"
exit $left_out
