#!/usr/bin/env bash
# Collects the libraries a build needs, LibTorch apart, into one folder that can be carried to a
# machine without a package manager: scripts/collect_prefix.sh DEST
#
# Runs on Debian 12 with everything installed (scripts/setup.sh). There, build with
#   cmake --preset core -DCMAKE_PREFIX_PATH=DEST
# The C++ library and glibc of that machine must not be older than Debian 12's (GCC 12, glibc 2.36).
set -euo pipefail

readonly packages=(
  libfmt-dev libfmt9 libhwy-dev libhwy1 librandom123-dev libxxhash-dev libxxhash0
  libfpzip-dev libfpzip1 libzstd-dev libzstd1 libkissfft-dev libkissfft-float131
  zlib1g-dev zlib1g
  libjpeg-dev libjpeg62-turbo-dev libjpeg62-turbo libpng-dev libpng16-16
  nlohmann-json3-dev libtomlplusplus-dev libtomlplusplus3 libcli11-dev
  libgtest-dev
)
readonly size_max_kib=$((40 * 1024))

# Every file and link of the packages, one per line. Some of Debian's libraries are listed under
# /lib and lie in /usr/lib.
files_of_packages() {
  dpkg-query -L "${packages[@]}" | sed 's#^/lib/#/usr/lib/#' | sort -u
}

# Debian keeps libraries and configurations in a folder named after the machine's kind, where CMake
# on other systems does not look. Everything goes to lib/, and what refers to it follows.
destination() {  # FILE: its place under DEST, nothing if it is not needed
  local file=${1#/usr/}
  file=${file/lib\/$triplet\//lib/}
  file=${file/include\/$triplet\//include/}
  file=${file/#share\/cmake\//lib/cmake/}
  case $file in
    *.py | lib/pkgconfig/* | lib/*/pkgconfig/*) ;;
    include/* | lib/*.so | lib/*.so.* | lib/*.a | lib/cmake/*) echo "$file" ;;
  esac
}

copy() {
  local file place
  while read -r file; do
    if [[ -d $file && ! -L $file ]]; then continue; fi
    place=$(destination "$file")
    if [[ -z $place ]]; then continue; fi
    mkdir -p "$dest/$(dirname "$place")"
    if [[ -L $file && $(readlink "$file") == */* ]]; then
      cp -L "$file" "$dest/$place" # A link out of its folder would not survive the move.
    else
      cp -P "$file" "$dest/$place"
    fi
  done < <(files_of_packages)
}

# The licences of what was copied go where it goes.
copy_licences() {
  local package
  for package in "${packages[@]}"; do
    install -D -m 644 "/usr/share/doc/$package/copyright" "$dest/share/licenses/$package"
  done
}

# Configurations find their files by going up from where they stand, which is now one folder less.
relocate() {
  local file
  while read -r file; do
    sed -i -E \
      -e '/^# Use original install prefix when loaded/,/^unset\(_realCurr\)/d' \
      -e "s#lib/$triplet#lib#g; s#include/$triplet#include#g" \
      -e 's#(CMAKE_CURRENT_LIST_DIR\}/)\.\./\.\./\.\./\.\./?#\1../../../#' "$file"
    # Generated target files go up by repeating one line; drop one of them where there are five.
    if [[ $(grep -cE 'get_filename_component\(_IMPORT_PREFIX ' "$file") -ge 5 ]]; then
      sed -i '0,/get_filename_component(_IMPORT_PREFIX "${_IMPORT_PREFIX}" PATH)/{//d}' "$file"
    fi
  done < <(find "$dest/lib/cmake" -name '*.cmake')
}

main() {
  if [[ $# -ne 1 ]]; then
    echo "usage: scripts/collect_prefix.sh DEST" >&2
    return 2
  fi
  if ! command -v dpkg-query >/dev/null; then
    echo "collect_prefix: this collects from a Debian 12 machine, and here is no dpkg" >&2
    return 1
  fi
  triplet=$(gcc -print-multiarch)
  mkdir -p "$1"
  dest=$(cd "$1" && pwd)
  copy
  copy_licences
  relocate
  if grep -rnE "/usr/|$triplet" "$dest/lib/cmake"; then
    echo "collect_prefix: the lines above still name places of this machine" >&2
    return 1
  fi
  local size
  size=$(du -sk "$dest" | cut -f1)
  echo "$dest: $((size / 1024)) MiB, $(find "$dest" -type f | wc -l) files"
  if [[ $size -gt $size_max_kib ]]; then
    echo "collect_prefix: more than $((size_max_kib / 1024)) MiB" >&2
    return 1
  fi
}

main "$@"
