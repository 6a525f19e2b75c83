#!/usr/bin/env bash
# A page in a real browser: browser_test.sh TESSERA WORK [fleet]
#
# Makes runs, has TESSERA report them, and drives Chromium through the page; or does so with live nodes and the page of
# their fleet. WORK is a folder of the build. Leaves
# screenshots there. Says "skipped" and exits with 77 where npm, Chromium or the network is missing.
set -euo pipefail

readonly tessera=$1 work=$2 page=${3:-report}
here=$(cd "$(dirname "$0")" && pwd)
readonly here chromium=${CHROMIUM:-chromium}

skip() {
  echo "skipped: $*"
  exit 77
}

command -v node >/dev/null && command -v npm >/dev/null || skip "there is no npm; scripts/setup.sh installs it"
command -v "$chromium" >/dev/null || skip "there is no Chromium; scripts/setup.sh installs it, or set CHROMIUM"

mkdir -p "$work"
cp "$here"/package.json "$here"/package-lock.json "$here"/*.mjs "$work"
if ! cmp -s "$work/package-lock.json" "$work/installed"; then
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline >npm.log 2>&1) ||
    skip "npm could not fetch playwright-core; see $work/npm.log"
  cp "$work/package-lock.json" "$work/installed"
fi

cd "$work"
rm -rf samples shots && mkdir shots
[[ $page != fleet ]] || exec node fleet_test.mjs "$tessera" "$(command -v "$chromium")"
node samples.mjs samples/small
node samples.mjs samples/large large
exec node browser_test.mjs "$tessera" "$(command -v "$chromium")"
