#!/usr/bin/env python3
"""The judge `beer` of scripts/judge.sh: CHOCO-SGD as liboyue/beer ran it, and its log beside ours.

    PYTHONPATH=build/core/python scripts/judge_beer.py CHECKOUT MNIST OUT [ROUNDS]

Ten nodes, one digit each, a graph of 23 edges, one step of batch 100 a round. Their network has batch norm, always with the batch's own
statistics, so it is a torch module here; told, sent, counted and averaged are tessera's.
"""

import gzip
import itertools
import json
import pathlib
import random
import sys

import numpy
import torch
from torch import nn

import tessera

NODES, EACH, BATCH, CHANCE = 10, 5421, 100, 0.6  # EACH is how many fives there are, the rarest digit.
LOG = "CHOCO_SGD_10_agents_er_graph_lr_0.000100_gamma_0.01000_gsgd_5_cuda/CHOCO_SGD_lr_0.0001_gamma_0.0110_cuda_val.txt"


def first_model():
    """Theirs to the bit: PyTorch's own initial values, drawn in float64 from the seed 0."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    layers = []
    for inputs, outputs in ((1, 16), (16, 32)):
        layers += [nn.Conv2d(inputs, outputs, 5, padding=2), nn.BatchNorm2d(outputs, track_running_stats=False), nn.ReLU(),
                   nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(7 * 7 * 32, 10))
    torch.set_default_dtype(torch.float32)
    return model.float()


def bytes_of(path, skip):
    content = path.read_bytes() if path.exists() else gzip.open(f"{path}.gz").read()
    return numpy.frombuffer(content, numpy.uint8, offset=skip)


def images(folder, half):
    pixels = bytes_of(folder / f"{half}-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
    labels = bytes_of(folder / f"{half}-labels-idx1-ubyte", 8).astype(numpy.int64)
    scaled = (pixels.astype(numpy.float32) / 255 - 0.1307) / 0.3081
    return torch.utils.data.TensorDataset(torch.from_numpy(scaled), torch.from_numpy(labels))


def write_graph(path):
    """networkx's erdos_renyi_graph(10, 0.6, seed=0): a draw of Python's generator for every pair."""
    draw = random.Random(0)
    edges = [pair for pair in itertools.combinations(range(NODES), 2) if draw.random() < CHANCE]
    path.write_text("\n".join([str(NODES), *(f"{a} {b}" for a, b in edges)]) + "\n")


def theirs(checkout):
    log = pathlib.Path(checkout, "experiments/mnist/experiments", LOG)
    rows = [[float(number) for number in line.split()] for line in log.read_text().splitlines()[1:]]
    return {int(row[0]): (row[4], row[5]) for row in rows}


def run(mnist, out, rounds):
    out.mkdir(parents=True, exist_ok=True)
    write_graph(out / "graph.edges")
    torch.set_num_threads(1)
    train, test = images(pathlib.Path(mnist), "train"), images(pathlib.Path(mnist), "t10k")
    parts = [(train.tensors[1] == digit).nonzero()[:EACH, 0].numpy() for digit in range(NODES)]
    learner = tessera.TorchLearner(first_model(), nn.functional.cross_entropy, lambda p: torch.optim.SGD(p, lr=1e-4), train,
                                   test, parts, batch=BATCH, test_batch=BATCH)
    tessera.Simulation(learner=learner, nodes=NODES, seed=90, topology=f"file:path={out}/graph.edges",
                       protocol=f"dpsgd:rounds={rounds},weights=even", sharing="choco:bits=5,step=0.01", codec="range+grid",
                       evaluate=f"every={max(100, rounds // 500 * 100)},start=yes", out=out / "run", existing="resume").run()


def main(checkout, mnist, out, rounds="1000"):
    if not rounds.isdigit() or int(rounds) % 100 or not 0 < int(rounds) <= 8200:
        sys.exit(f"judge: {rounds} rounds: their log has a line every 100, up to 8,200")
    out = pathlib.Path(out, rounds)
    if not (out / "run/summary.json").exists():
        run(mnist, out, int(rounds))
    log = theirs(checkout)
    print("| iteration | loss of the mean of all models: theirs | ours | its accuracy: theirs | ours | sent per node |")
    print("|---:|---:|---:|---:|---:|---:|")
    for line in (out / "run/metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        loss, accuracy = log[row["round"]]
        sent = row["bytes_sent_per_node"]
        print(f"| {row['round']} | {loss:.3f} | {row['merged_loss']:.3f} | {100 * accuracy:.1f} | {100 * row['merged_accuracy']:.1f} "
              f"| {sent / 1e6:.1f} MB |")


if __name__ == "__main__":
    main(*sys.argv[1:])
