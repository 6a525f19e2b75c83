#!/usr/bin/env bash
# For scripts that run experiments to read (`source scripts/program.sh`): sets `tessera` to $TESSERA, or the program of build/release, of
# build/core, or the one that is installed.
set -euo pipefail

find_tessera() {
  local program
  [[ -z ${TESSERA:-} ]] || { echo "$TESSERA" && return; }
  for program in build/{release,core}/src/cli/tessera "$(command -v tessera || true)"; do
    [[ -x $program ]] && echo "$program" && return
  done
  echo "there is no program in build/release or build/core: cmake --preset core && cmake --build --preset core, or name it by TESSERA=" >&2
  return 2
}

tessera=$(find_tessera)
# shellcheck disable=SC2034  # It is for whoever reads this file.
readonly tessera
