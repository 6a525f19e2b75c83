#!/usr/bin/env bash
# Builds for 64-bit ARM on this machine and runs that under qemu: scripts/arm64.sh [STEP...]
#
#   sysroot  fetches Debian's arm64 libraries into build/arm64-sysroot; nothing of this machine is changed
#   build    the program and the tests of the core, in build/arm64
#   test     these tests
#   digests  a short run of everything, compared with the digests that any CPU must come to
#
# All of them by default. Time under qemu says nothing of ARM processors.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly steps=(sysroot build test digests)
readonly sysroot=$PWD/build/arm64-sysroot
readonly folders=(base math codec topology sharing node protocol sim learn)

say() { echo "arm64: $*"; }

# The libraries' names in Debian are those of scripts/setup.sh; an apt of our own, with its own lists and nothing installed, knows
# what they need.
make_sysroot() {
  if [[ -e $sysroot/.made ]]; then return; fi
  local apt=build/arm64-apt package
  mkdir -p "$apt"/{lists/partial,cache/archives/partial} "$sysroot"
  : >"$apt/status"
  local for_arm=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Debug::NoLocking=1
    -o Dir::State="$PWD/$apt" -o Dir::State::status="$PWD/$apt/status" -o Dir::State::lists="$PWD/$apt/lists"
    -o Dir::Cache="$PWD/$apt/cache" -o APT::Sandbox::User=root)
  "${for_arm[@]}" update
  mapfile -t packages < <(sed -nE 's/^(core|test) +(lib[a-z0-9+-]+-dev|cppzmq-dev|zlib1g-dev|nlohmann-json3-dev) .*/\2/p' scripts/setup.sh |
    grep -vE '^lib(simgrid|openmpi|clang-rt)')
  "${for_arm[@]}" -y --download-only --no-install-recommends install libc6-dev libstdc++6 "${packages[@]}"
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$sysroot"; done
  rm -r "$apt"
  touch "$sysroot/.made"
}

step_sysroot() {
  scripts/setup.sh build arm64
  make_sysroot
  say "$(find "$sysroot/usr/lib/aarch64-linux-gnu" -name '*.so' | wc -l) libraries in $sysroot"
}

step_build() {
  cmake --preset arm64
  nice cmake --build --preset arm64 --target tessera "${folders[@]/%/_test}"
}

step_test() { ctest --preset arm64 -j "$(nproc)" -L "^($(IFS='|' && echo "${folders[*]}"))\$"; }

# The script takes one program.
step_digests() {
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %q %q "$@"\n' "$sysroot" "$PWD/build/arm64/src/cli/tessera" >build/arm64/tessera
  chmod 755 build/arm64/tessera
  scripts/digests.sh build/arm64/tessera
}

main() {
  local chosen=("$@") step
  [[ $# -gt 0 ]] || chosen=("${steps[@]}")
  for step in "${chosen[@]}"; do
    if [[ " ${steps[*]} " != *" $step "* ]]; then
      say "there is no step called '$step'. Known: ${steps[*]}."
      return 2
    fi
    "step_$step"
  done
}

main "$@"
