#!/usr/bin/env bash
# Builds for 64-bit ARM on this machine and runs that under qemu: scripts/arm64.sh [STEP...]
#
#   sysroot  fetches Debian's arm64 libraries into build/arm64-sysroot; nothing of this machine is changed
#   build    the program and the tests of the core, in build/arm64
#   test     these tests
#   digests  a short run of everything, compared with the digests that any CPU must come to
#   fleet    live nodes, every other of them on ARM, compared with a simulation on this machine's CPU
#
# All of them by default. Time under qemu says nothing of ARM processors. The fleet needs a program for this machine: TESSERA, or that
# of the preset core.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly steps=(sysroot build test digests fleet)
readonly sysroot=$PWD/build/arm64-sysroot
readonly folders=(base math codec topology sharing node protocol sim learn live live_link live_sign)
readonly here=${TESSERA:-$PWD/build/core/src/cli/tessera}

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

# How well a model learns is a matter of minutes under qemu. Its user mode keeps no limit of memory and does not answer TCP_INFO, by
# which links count the bytes of a peer.
readonly not_under_qemu='LearnWhatIsThere|DoesNotFitIntoMemory|TooManyParts|ConfirmsWhatItDoesNotRead|TakesTheBytesOnTheWire'
step_test() {
  ctest --preset arm64 -j "$(nproc)" -L "^($(IFS='|' && echo "${folders[*]}"))\$" -E "$not_under_qemu"
}

# The script takes one program. `jwins-fft` adds up in Debian's KISS FFT, which is compiled with fused multiply-adds there.
step_digests() {
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %q %q "$@"\n' "$sysroot" "$PWD/build/arm64/src/cli/tessera" >build/arm64/tessera
  chmod 755 build/arm64/tessera
  local -a ended
  set +e
  scripts/digests.sh build/arm64/tessera | tee build/arm64/digests.log
  ended=("${PIPESTATUS[@]}")
  set -e
  if [[ ${ended[0]} -eq 0 ]]; then return; fi
  if ! grep -qE '^[-+]' build/arm64/digests.log || grep ' failed: ' build/arm64/digests.log; then return 1; fi
  if grep -E '^[-+][a-z]' build/arm64/digests.log | grep -vE '^[-+]jwins-fft '; then
    say "these digests differ from other CPUs'"
    return 1
  fi
}

digest_of() { sed -nE 's/.*"model_digest": *"([0-9a-f]+)".*/\1/p' "$1/summary.json"; }

# Put before a node's command, it leaves the even ones as they are.
make_either() {
  cat >build/arm64/either <<EITHER
#!/bin/sh
id=\$1
shift
[ \$((id % 2)) = 0 ] && exec "\$@"
shift
exec qemu-aarch64-static -L "$sysroot" "$PWD/build/arm64/src/cli/tessera" "\$@"
EITHER
  chmod 755 build/arm64/either
}

step_fleet() {
  local out=build/arm64/fleet sharing flags
  if [[ ! -x $here ]]; then
    say "there is no program $here for this machine: build it (cmake --preset core), or name another (TESSERA=...)"
    return 2
  fi
  make_either
  for sharing in full jwins choco; do
    flags=(--nodes=4 --data=synthetic:samples=800,test=200 --model=mlp:hidden=32 --topology=ring --protocol=dpsgd:rounds=20
      --training=sgd:lr=0.1,batch=8,steps=2 --sharing="$sharing" --evaluate=every=20 --quiet --overwrite)
    "$here" sim "${flags[@]}" --out="$out/simulated" >/dev/null
    "$here" launch "${flags[@]}" --out="$out/live" --gather=1min --prefix="$PWD/build/arm64/either {id}" >/dev/null
    if [[ -z $(digest_of "$out/live") || $(digest_of "$out/live") != "$(digest_of "$out/simulated")" ]]; then
      say "$sharing: two ARM and two $(uname -m) nodes end elsewhere than the simulation here"
      return 1
    fi
    say "$sharing: two ARM and two $(uname -m) nodes end in the simulation's bits, $(digest_of "$out/live")"
  done
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
