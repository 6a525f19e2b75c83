#!/usr/bin/env bash
# Installs what is missing, and nothing when nothing is: scripts/setup.sh [NEED...]
#
# Needs (see the list below); all of them when none is named:
#
#   build  a compiler and what drives it        data   Fashion-MNIST, for the quick start
#   core   the libraries of the preset core     torch  LibTorch, for the preset release
#   test   what the tests need beside them      cluster  MPI, for one simulation on many machines
#   arm64  what scripts/arm64.sh builds with, when it is named
#
# On Debian 12 this is one call of apt-get, through sudo where we are not root. Elsewhere it looks for
# the same things, says which it did not find, and stops. TESSERA_SKIP_SETUP=1 takes your word for it.
set -euo pipefail

# One line each: the need, the package's name in Debian 12, and how another system shows that it has
# it: a command, a header, a Python module, or "-" for what only Debian's LibTorch and the demo use.
# The kernels of src/cuda/ (cuda_runtime_api.h, cudart, nvcc) are built where NVIDIA's toolkit is installed, which is no package
# of Debian's and nothing here asks for.
readonly packages='
build  g++                    command:g++
build  cmake                  command:cmake
build  ninja-build            command:ninja
build  git                    command:git
core   libfmt-dev             header:fmt/format.h
core   libhwy-dev             header:hwy/highway.h
core   librandom123-dev       header:Random123/philox.h
core   libxxhash-dev          header:xxhash.h
core   libfpzip-dev           header:fpzip.h
core   libzstd-dev            header:zstd.h
core   libkissfft-dev         header:kissfft/kiss_fftr.h
core   zlib1g-dev             header:zlib.h
core   libjpeg-dev            header:jpeglib.h
core   libpng-dev             header:png.h
core   nlohmann-json3-dev     header:nlohmann/json.hpp
core   libtomlplusplus-dev    header:toml++/toml.h
core   libcli11-dev           header:CLI/CLI.hpp
core   libzmq3-dev            header:zmq.h
core   cppzmq-dev             header:zmq.hpp
core   libsodium-dev          header:sodium.h
core   libcpp-httplib-dev     header:httplib.h
data   dataset-fashion-mnist  -
test   ccache                 -
test   libgtest-dev           header:gtest/gtest.h
test   libsimgrid-dev         header:simgrid/s4u.hpp
test   clang                  command:clang++
test   libclang-rt-14-dev     -
test   lld                    command:ld.lld
test   clang-format-14        command:clang-format-14
test   lintian                -
test   man-db                 command:man
test   adduser                -
test   systemd                -
test   nftables               -
test   chromium               command:chromium
test   npm                    command:npm
test   python3-numpy          python:numpy
test   pybind11-dev           header:pybind11/pybind11.h
test   python3-dev            -
test   python3-pip            -
test   python3-pywt           python:pywt
test   mypy                   command:mypy
test   libopenmpi-dev         header:mpi.h
test   openmpi-bin            command:mpirun
test   slurm-wlm              -
test   munge                  -
arm64  g++-aarch64-linux-gnu  command:aarch64-linux-gnu-g++
arm64  qemu-user-static       command:qemu-aarch64-static
cluster libopenmpi-dev        header:mpi.h
cluster openmpi-bin           command:mpirun
torch  libtorch-dev           header:torch/csrc/api/include/torch/torch.h
torch  libopenblas0-pthread   -
torch  python3-torch          python:torch
'

say() { echo "setup: $*" >&2; }

# The lines of the list that belong to the needs named in the arguments.
wanted() {
  local need package probe
  while read -r need package probe; do
    [[ -n $need && " $* " == *" $need "* ]] && echo "$package $probe"
  done <<<"$packages"
  return 0
}

is_debian_12() {
  [[ -r /etc/os-release ]] && command -v dpkg-query apt-get >/dev/null &&
    (. /etc/os-release && [[ ${ID:-} == debian && ${VERSION_ID:-} == 12 ]])
}

# Of the package names in the arguments, those that are not installed. A command of a package's name counts too: npm
# often comes with Node.js from elsewhere, and Debian's would not go beside it.
not_installed() {
  local present package
  present=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qxF "$package installed" <<<"$present" || command -v "$package" >/dev/null || echo "$package"
  done
}

# Whether this system, whatever it is, has the thing a probe describes. Headers are also looked for
# under the folders of CMAKE_PREFIX_PATH, where clusters keep what has no package.
has() {
  local what=${1#*:} include=() folder
  IFS=';:' read -r -a folders <<<"${CMAKE_PREFIX_PATH:-}"
  for folder in "${folders[@]}"; do include+=("-I$folder/include"); done
  case $1 in
    -) true ;;
    command:*) command -v "$what" >/dev/null ;;
    header:*)
      printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$what" |
        "${CXX:-c++}" -std=c++20 "${include[@]}" -E -x c++ - &>/dev/null
      ;;
    python:*) python3 -c "import $what" &>/dev/null || /usr/bin/python3 -c "import $what" &>/dev/null ;;
  esac
}

install_debian() {
  local missing=() as_root=()
  mapfile -t missing < <(not_installed "$@")
  [[ ${#missing[@]} -eq 0 ]] && return
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      say "these packages are missing, and there is no sudo to install them with. As root, run:"
      say "  apt-get install --no-install-recommends ${missing[*]}"
      return 1
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get -q update >&2 || say "some package lists could not be refreshed; trying anyway"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
    install --no-install-recommends "${missing[@]}" >&2
}

look_elsewhere() {
  local package probe missing=()
  while read -r package probe; do
    has "$probe" || missing+=("$package (${probe#*:})")
  done
  [[ ${#missing[@]} -eq 0 ]] && return
  say "this is not Debian 12, so install these yourself (Debian's package, and what was not found):"
  printf '  %s\n' "${missing[@]}" >&2
  say "then run this again, or set TESSERA_SKIP_SETUP=1 if they are where CMake finds them."
  return 1
}

main() {
  local need
  for need in "$@"; do
    if [[ ! $need =~ ^(build|core|data|test|torch|cluster|arm64)$ ]]; then
      say "there is no need called '$need'. Known: build, core, data, test, torch, cluster, arm64."
      return 2
    fi
  done
  [[ $# -eq 0 ]] && set -- build core data test torch
  [[ ${TESSERA_SKIP_SETUP:-} == 1 ]] && return
  if is_debian_12; then
    # shellcheck disable=SC2046  # One word per package is what we want.
    install_debian $(wanted "$@" | cut -d' ' -f1)
  else
    wanted "$@" | look_elsewhere
  fi
}

main "$@"
