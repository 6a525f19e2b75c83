#!/usr/bin/env bash
# lintian_test.sh FOLDER: Debian's own judge of its packages. Warnings are printed and allowed.
set -euo pipefail
if ! command -v lintian >/dev/null; then
  echo "skipped: no lintian here"
  exit
fi
lintian --allow-root --fail-on error "$1"/*.deb
