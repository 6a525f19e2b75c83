#!/usr/bin/env bash
# Runs the Python module's tests with the module's own code under GCC's address sanitizer: scripts/python_asan.sh [BUILD]
#
# BUILD is a build folder with tests that was configured with GCC (default build/core). Python is not sanitized, so its
# runtime is loaded ahead of everything, and what Python itself never frees is not reported as a leak:
# python/tests/test_leaks.py looks for those. Tests that start the program or read torch are left out.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build/core}" && pwd)
cmake --build "$build" --target tessera_python_asan
export PYTHONPATH=$build/python_asan ASAN_OPTIONS=detect_leaks=0
export LD_PRELOAD
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so)"
failed=0
for tests in "test_kernels.py Codecs Sharing" "test_simulation.py OwnLearner" test_own_sharing.py test_own_protocol.py \
  test_peer.py; do
  # shellcheck disable=SC2086  # A file, and classes in it.
  (cd "$root/python/tests" && /usr/bin/python3 -B $tests) || failed=$((failed + 1))
done
echo "$failed files with failures"
[[ $failed -eq 0 ]]
