#!/usr/bin/env bash
# A round of JWINS here and in decentralizepy, on one machine: scripts/decentralizepy.sh CHECKOUT CIFAR [ROUNDS]
#
# CHECKOUT is one of sacs-epfl/decentralizepy, CIFAR the folder of CIFAR-10's binary batches (scripts/get_data.sh cifar10). Both train the
# network of its tutorial, 16 nodes with the options of its tutorial/JWINS/config.ini: a 4-regular graph, three steps of batch 8 a round,
# sym2 of four levels, its list of budgets. Data are dealt by chance, for with label shards each of its 16 processes holds a copy of
# everything. DEVICE is where ours run (default cpu:convolution=winograd).
#
# Each is run for a few rounds and for ROUNDS more (default 30), and the difference counts: starting up and our test at the end are left out.
# Seconds are those of all cores together, so how many there are does not matter; what else runs on the machine does, a little. Three turns, or
# TURNS. It needs a Python (PYTHON, default python3) with torch, torchvision, numpy, pywt, networkx, matplotlib, zmq and fpzip; without the last,
# Debian's libfpzip1 will do.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly tessera=${TESSERA:-build/core/src/cli/tessera}
readonly python=${PYTHON:-python3}
readonly device=${DEVICE:-cpu:convolution=winograd}
readonly turns=${TURNS:-3}
readonly nodes=16 few=3
readonly folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "decentralizepy: $*" >&2
  exit 2
}

# Starts their nodes the way their own launcher does. Their data come from torchvision, which wants the batches as pickles: here they are
# read from the binary ones, and every sample passes through torchvision's transforms as before.
write_launcher() {
  cat >"$folder/launch.py" <<'PYTHON'
import ast, configparser, ctypes, importlib.util, json, logging, pathlib, sys, types

checkout, cifar, folder, rounds, nodes, port = sys.argv[1:4] + [int(a) for a in sys.argv[4:]]
sys.path.insert(0, f"{checkout}/src")

import numpy
import torch
import torchvision
from PIL import Image


class BinaryBatches(torch.utils.data.Dataset):
    def __init__(self, root, train, download, transform):
        names = [f"data_batch_{i}.bin" for i in range(1, 6)] if train else ["test_batch.bin"]
        rows = numpy.concatenate([numpy.fromfile(pathlib.Path(root, n), numpy.uint8).reshape(-1, 3073) for n in names])
        self.targets = rows[:, 0].tolist()
        self.data = numpy.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.transform = transform

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.data[index])), self.targets[index]


torchvision.datasets.CIFAR10 = BinaryBatches


def fpzip_by_hand():
    """The two calls they make of the module fpzip, through the library itself."""
    library = ctypes.CDLL("libfpzip.so.1")

    class Header(ctypes.Structure):
        _fields_ = [(n, ctypes.c_int) for n in ("type", "prec", "nx", "ny", "nz", "nf")]

    for name in ("fpzip_write_to_buffer", "fpzip_read_from_buffer"):
        getattr(library, name).restype = ctypes.POINTER(Header)
    for name in ("fpzip_write", "fpzip_read"):
        getattr(library, name).restype = ctypes.c_size_t

    def compress(data, precision=0, order="C"):
        data = numpy.ascontiguousarray(data, numpy.float32)
        room = numpy.empty(data.nbytes + 4096, numpy.uint8)
        stream = library.fpzip_write_to_buffer(room.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(room.nbytes))
        stream.contents.type, stream.contents.prec = 0, precision or 32
        stream.contents.nx, stream.contents.ny, stream.contents.nz, stream.contents.nf = data.size, 1, 1, 1
        library.fpzip_write_header(stream)
        size = library.fpzip_write(stream, data.ctypes.data_as(ctypes.c_void_p))
        library.fpzip_write_close(stream)
        return room[:size].tobytes()

    def decompress(data, order="C"):
        stream = library.fpzip_read_from_buffer(data)
        library.fpzip_read_header(stream)
        out = numpy.empty(stream.contents.nx, numpy.float32)
        library.fpzip_read(stream, out.ctypes.data_as(ctypes.c_void_p))
        library.fpzip_read_close(stream)
        return out

    module = types.ModuleType("fpzip")
    module.compress, module.decompress = compress, decompress
    return module


if not importlib.util.find_spec("fpzip"):
    sys.modules["fpzip"] = fpzip_by_hand()
if not importlib.util.find_spec("smallworld"):
    sys.modules["smallworld"] = types.ModuleType("smallworld")  # For graphs that are not used here.

from decentralizepy.graphs.Graph import Graph
from decentralizepy.mappings.Linear import Linear
from decentralizepy.node.DPSGDNode import DPSGDNode


def value_of(text):
    try:
        value = ast.literal_eval(text)
        return text if isinstance(value, list) else value
    except (SyntaxError, ValueError):
        return text


if __name__ == "__main__":
    parser = configparser.ConfigParser(inline_comment_prefixes=";")
    parser.read(f"{checkout}/tutorial/JWINS/config.ini")
    config = {name: {key: value_of(text) for key, text in parser[name].items()} for name in parser.sections()}
    config["DATASET"].update(train_dir=cifar, test_dir=cifar, partition_niid="iid")
    config["DATASET"].pop("shards", None)
    addresses = pathlib.Path(folder, "addresses.json")
    addresses.write_text(json.dumps({"0": "127.0.0.1"}))
    config["COMMUNICATION"].update(addresses_filepath=str(addresses), offset=port)
    graph = Graph()
    graph.read_graph_from_file(f"{checkout}/tutorial/JWINS/regular_16.txt", "edges")
    never = rounds + 1
    processes = [
        torch.multiprocessing.Process(
            target=DPSGDNode,
            args=[rank, 0, Linear(1, nodes), graph, config, rounds, folder, folder, logging.INFO, never, never, 0],
        )
        for rank in range(nodes)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    sys.exit(max(abs(process.exitcode) for process in processes))
PYTHON
}

theirs() {  # ROUNDS
  mkdir -p "$folder/theirs"
  OMP_NUM_THREADS=1 "$python" "$folder/launch.py" "$checkout" "$cifar" "$folder/theirs" "$1" $nodes 21000
}

ours() {  # ROUNDS
  "$tessera" sim --nodes=$nodes --seed=90 --data="cifar10:dir=$cifar" --partition=iid --model=gn-lenet --device="$device" \
    --training=sgd:lr=0.01,batch=8,steps=3 --topology=file:path="$folder/graph.edges" --protocol=dpsgd:rounds="$1" \
    --sharing=jwins:budget=0.1/0.15/0.2/0.25/0.3/0.4/1 --codec=gamma+planes --evaluate=every="$1",samples=16 --threads=1 \
    --out="$folder/ours" --overwrite --quiet
}

# "USER SYSTEM WALL" in seconds of a command that must succeed, in FILE.
time_into() {  # FILE COMMAND...
  local file=$1 TIMEFORMAT='%U %S %R' went_well=yes
  shift
  { time "$@" >"$folder/said" 2>&1 || went_well=no; } 2>"$file"
  [[ $went_well == yes ]] && return
  tail -20 "$folder/said" >&2
  fail "$1 failed after $(<"$file") s; its last words are above"
}

# Milliseconds per node and round in FILE: of all cores, and by the clock.
cost_into() {  # FILE NAME ROUNDS
  time_into "$folder/short" "$2" $few
  time_into "$folder/long" "$2" $((few + $3))
  paste -d ' ' "$folder/short" "$folder/long" |
    awk -v each=$(($3 * nodes)) '{ print 1000 * ($4 + $5 - $1 - $2) / each, 1000 * ($6 - $3) / each }' >"$1"
}

[[ $# -ge 2 ]] || fail "scripts/decentralizepy.sh CHECKOUT CIFAR [ROUNDS]"
checkout=$(realpath "$1")
cifar=$(realpath "$2")
rounds=${3:-30}
[[ -e $checkout/tutorial/JWINS/config.ini ]] || fail "$1 is no checkout of sacs-epfl/decentralizepy: there is no tutorial/JWINS/config.ini"
[[ -e $cifar/data_batch_1.bin ]] || fail "$2 has no data_batch_1.bin: scripts/get_data.sh cifar10 fetches it"
[[ -x $tessera ]] || fail "there is no program $tessera: build it, or name another (TESSERA=...)"
write_launcher
cp "$checkout/tutorial/JWINS/regular_16.txt" "$folder/graph.edges"

printf '%-28s %14s %14s\n' "ms per node and round" "of all cores" "by the clock"
for ((turn = 1; turn <= turns; ++turn)); do
  cost_into "$folder/theirs.cost" theirs "$rounds"
  cost_into "$folder/ours.cost" ours "$rounds"
  printf '%-28s %14.2f %14.2f\n' "decentralizepy, $turn" $(<"$folder/theirs.cost")
  printf '%-28s %14.2f %14.2f\n' "tessera, $turn" $(<"$folder/ours.cost")
  paste "$folder/theirs.cost" "$folder/ours.cost" | awk '{ printf "%-28s %13.2fx %13.2fx\n", "so many times less", $1 / $3, $2 / $4 }'
done
