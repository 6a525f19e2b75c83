#!/usr/bin/env bash
# service_test.sh DEPLOY PROGRAM: systemd reads the unit, alone and with each drop-in, and finds nothing to say; how exposed it
# is stays within bounds (0 is not at all, 10 is wholly).
set -euo pipefail
deploy=$1 program=$2
readonly exposure_max=30  # Tenths.
if ! command -v systemd-analyze >/dev/null; then
  echo "skipped: no systemd here"
  exit
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
units=$root/etc/systemd/system

# What the unit names: a program to start, and the manual's page of it.
mkdir -p "$units" "$root/usr/local/bin"
cp "$program" "$root/usr/local/bin/tessera"
cp "$deploy/tessera@.service" "$units"

verify() {  # WITH
  local said
  said=$(systemd-analyze verify --root="$root" --man=no --recursive-errors=no tessera@alice.service 2>&1) && [[ -z $said ]] && return
  echo "with $1: $said"
  return 1
}

verify "nothing beside it"
systemd-analyze security --root="$root" --offline=true --threshold=$exposure_max tessera@alice.service | tail -n 1
for drop_in in "$deploy"/drop-ins/*.conf; do
  mkdir "$units/tessera@.service.d"
  cp "$drop_in" "$units/tessera@.service.d"
  verify "${drop_in##*/}"
  rm -r "$units/tessera@.service.d"
done
