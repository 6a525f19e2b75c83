#!/usr/bin/env python3
"""Measures training through the Python module beside plain PyTorch, on a machine with a GPU:

  steps      GN-LeNet's local steps through the module against PyTorch's own loop
  models     a ResNet-18 and a small transformer on sixteen nodes, JWINS against full sharing, a loop against vmap
  accuracy   GN-LeNet as a torch.nn.Module against the built-in one over three seeds (needs --cifar)

    scripts/python_gpu.py [--part steps,models,accuracy] [--cifar FOLDER] [--device cuda] [--quick]

FOLDER holds CIFAR-10's files, or their first --records records each. Without it, images of that shape are made up.

Where there is no package manager, carry a prefix and build the module there:

    scripts/collect_prefix.sh prefix               # On a Debian 12 machine; copy the folder over.
    cmake --preset core -DTESSERA_TESTS=OFF -DTESSERA_CUDA=OFF -DCMAKE_PREFIX_PATH=$PWD/prefix -DTESSERA_PYTHON=ON \\
      -DPython3_EXECUTABLE=$(which python3) \\
      -DTESSERA_PYBIND11_HEADERS=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')/include
    cmake --build --preset core --target tessera_python_module -j16
    LD_LIBRARY_PATH=$PWD/prefix/lib PYTHONPATH=build/core/python python3 scripts/python_gpu.py
"""

import argparse
import itertools
import os
import statistics
import time

import numpy
import torch
from torch import nn

import tessera

CLASSES, SIDE = 10, 32


def gn_lenet():
    layers = []
    for inputs, outputs in ((3, 32), (32, 32), (32, 64)):
        layers += [nn.Conv2d(inputs, outputs, 5, padding=2), nn.GroupNorm(2, outputs), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 4 * 4, CLASSES))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, norm):
        super().__init__()
        self.path = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), norm(outputs), nn.ReLU(),
                                  nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), norm(outputs))
        self.short = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), norm(outputs))

    def forward(self, features):
        return nn.functional.relu(self.path(features) + self.short(features))


def resnet18(width, norm):
    """For images of CIFAR's size: the first layer neither strides nor pools.

    Group norm rather than batch norm: what is averaged over a batch of eight is noisy, running statistics are of one
    node's data and are not shared, and a node is tested with its own.
    """
    norm = {"group": lambda channels: nn.GroupNorm(min(32, channels // 2), channels), "batch": nn.BatchNorm2d}[norm]
    layers, inputs = [nn.Conv2d(3, width, 3, 1, 1, bias=False), norm(width), nn.ReLU()], width
    for stage, block in itertools.product(range(4), range(2)):
        outputs = width << stage
        layers.append(Block(inputs, outputs, 2 if stage > 0 and block == 0 else 1, norm))
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, CLASSES))


class Transformer(nn.Module):
    """Patches of 4x4 pixels as words. Without dropout, whose draws a loop and vmap could not have in common."""

    def __init__(self, width, depth):
        super().__init__()
        self.words = nn.Conv2d(3, width, 4, stride=4)
        self.places = nn.Parameter(0.02 * torch.randn(1, (SIDE // 4) ** 2, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.last = nn.Linear(width, CLASSES)

    def forward(self, features):
        return self.last(self.encoder(self.words(features).flatten(2).transpose(1, 2) + self.places).mean(dim=1))


class Timed(tessera.TorchLearner):
    """Notes when each cohort began to train, and how long that took."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.began, self.took = [], []

    def train(self, models, nodes, seeds):
        self.began.append(time.perf_counter())
        losses = super().train(models, nodes, seeds)
        self.took.append(time.perf_counter() - self.began[-1])
        return losses

    def seconds_per_round(self):
        """The first rounds are left out: torch looks for its algorithms then."""
        return statistics.median(numpy.diff(self.began)[1:])

    def seconds_per_cohort(self):
        return statistics.median(self.took[2:])


def made_up(count, seed):
    """Smooth prototypes and noise, of CIFAR-10's shape."""
    prototypes = nn.functional.interpolate(torch.randn(CLASSES, 3, 4, 4, generator=torch.Generator().manual_seed(1)),
                                           size=SIDE, mode="bilinear", align_corners=False)
    random = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=random)
    return prototypes[labels] + torch.randn(count, 3, SIDE, SIDE, generator=random), labels


def read_cifar(folder, names, records):
    parts = [numpy.fromfile(os.path.join(folder, name), "uint8").reshape(-1, 3073)[:records] for name in names]
    rows = numpy.concatenate(parts)
    features = torch.from_numpy(rows[:, 1:].astype("float32") / 127.5 - 1).reshape(-1, 3, SIDE, SIDE)
    return features, torch.from_numpy(rows[:, 0].astype("int64"))


def load(options):
    if options.cifar:
        halves = (read_cifar(options.cifar, [f"data_batch_{i}.bin" for i in range(1, 6)], options.records),
                  read_cifar(options.cifar, ["test_batch.bin"], options.records))
    else:
        halves = made_up(400 if options.quick else 8000, 2), made_up(100 if options.quick else 500, 3)
    return [torch.utils.data.TensorDataset(*(each.to(options.device) for each in half)) for half in halves]


def learner(options, module, rate, data, nodes, test=None, **more):
    train, whole_test = data
    parts = tessera.partition(train.tensors[1].tolist(), nodes, "shards:per_node=4")
    return Timed(module, nn.functional.cross_entropy, lambda p: torch.optim.SGD(p, lr=rate), train,
                 test or torch.utils.data.Subset(whole_test, range(min(500, len(whole_test)))), parts,
                 device=options.device, **more)


def simulation(nodes, rounds, **more):
    return tessera.Simulation(nodes=nodes, topology="regular:degree=4", protocol=f"dpsgd:rounds={rounds}",
                              evaluate=f"every={rounds}", **more)


def wait(options):
    if options.device != "cpu":
        torch.cuda.synchronize()


def plain_seconds(options, data, part, steps):
    """A local step of a loop as people write it, in seconds."""
    module, (features, labels) = gn_lenet().to(options.device), data[0].tensors
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    draw = numpy.random.default_rng(1)
    wait(options)
    begin = time.perf_counter()
    for _ in range(steps):
        rows = torch.from_numpy(part[draw.integers(len(part), size=8)])
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(features[rows]), labels[rows]).backward()
        optimizer.step()
    wait(options)
    return (time.perf_counter() - begin) / steps


def door_seconds(options, data, nodes, rounds, steps, batched):
    ours = learner(options, gn_lenet(), 0.05, data, nodes, steps=steps, batched=batched)
    simulation(nodes, rounds, learner=ours, sharing="jwins").run()
    return ours.seconds_per_cohort() / (nodes * steps)


def measure_steps(options, data):
    nodes, rounds = (5, 4) if options.quick else (16, 12)
    part = numpy.arange(len(data[0]))
    print("\nGN-LeNet, batch 8: microseconds of a node's step")
    print(f"{'steps':>6} {'PyTorch':>9} {'loop':>9} {'more':>7} {'vmap':>9}")
    for steps in (1, 8):
        plain, loop = [], []
        for _ in range(1 if options.quick else 3):  # In turn, so that a slow moment is everyone's.
            plain.append(plain_seconds(options, data, part, 40 if options.quick else 1000))
            loop.append(door_seconds(options, data, nodes, rounds, steps, False))
        plain, loop = statistics.median(plain), statistics.median(loop)
        vmap = door_seconds(options, data, nodes, rounds, steps, True)
        print(f"{steps:6} {1e6 * plain:9.1f} {1e6 * loop:9.1f} {100 * (loop / plain - 1):6.1f}% {1e6 * vmap:9.1f}")


def models(options):
    """Name, a function that makes it, and how many rounds."""
    if options.quick:
        return ("GN-LeNet", gn_lenet, 4), ("ResNet-18", lambda: resnet18(8, options.norm), 4), (
            "transformer", lambda: Transformer(16, 1), 4)
    return ("GN-LeNet", gn_lenet, 20), ("ResNet-18", lambda: resnet18(64, options.norm), 7), (
        "transformer", lambda: Transformer(192, 4), 20)


def measure_models(options, data):
    nodes, steps = (5, 1) if options.quick else (16, 4)
    print(f"\n{nodes} nodes, batch 8, {steps} local step(s) a round")
    print(f"{'model':12} {'parameters':>10} {'rounds':>6} {'sharing':8} {'steps':6} {'rounds/s':>8} {'training':>9} "
          f"{'rest':>9} {'MB/node':>8} {'loss':>6} {'accuracy':>8}")
    for (name, make, rounds), (sharing, batched) in itertools.product(
            models(options), (("full", False), ("full", True), ("jwins", False), ("jwins", True))):
        torch.manual_seed(1)
        ours = learner(options, make(), 0.05, data, nodes, steps=steps, batched=batched)
        *_, row = simulation(nodes, rounds, learner=ours, sharing=sharing)
        whole, training = ours.seconds_per_round(), ours.seconds_per_cohort()
        print(f"{name:12} {len(ours.initial):10} {rounds:6} {sharing:8} {'vmap' if batched else 'loop':6} "
              f"{1 / whole:8.2f} {1e3 * training:6.1f} ms {1e3 * (whole - training):6.1f} ms "
              f"{row['bytes_sent_per_node'] / 1e6:8.1f} {row['loss']:6.3f} {row['accuracy']:8.3f}", flush=True)


def measure_accuracy(options, data):
    if not options.cifar:
        print("\naccuracy: left out, since --cifar says no folder")
        return
    nodes, rounds, steps = 8, 2 if options.quick else 100, 8
    lines = dict(nodes=nodes, topology="regular:degree=4", protocol=f"dpsgd:rounds={rounds}", sharing="jwins",
                 evaluate=f"every={rounds}")
    built_in, ours = [], []
    for seed in (90, 91, 92):
        *_, row = tessera.Simulation(**lines, seed=seed, model="gn-lenet", partition="shards:per_node=4",
                                     data=f"cifar10:dir='{options.cifar}',records={options.records}",
                                     training=f"sgd:lr=0.05,batch=8,steps={steps}")
        built_in.append(row["accuracy"])
        torch.manual_seed(seed)
        module = learner(options, gn_lenet(), 0.05, data, nodes, test=data[1], steps=steps)
        *_, row = tessera.Simulation(**lines, seed=seed, learner=module)
        ours.append(row["accuracy"])
    print(f"\nGN-LeNet on CIFAR-10, {5 * options.records} images, {nodes} nodes, {rounds} rounds of {steps} steps: "
          "accuracy")
    for name, scores in (("built-in", built_in), ("nn.Module", ours)):
        print(f"{name:10} {' '.join(f'{score:.3f}' for score in scores)}  mean {statistics.mean(scores):.3f}, "
              f"deviation {statistics.stdev(scores):.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Training through the Python module beside plain PyTorch.")
    parser.add_argument("--part", default="steps,models,accuracy")
    parser.add_argument("--cifar", help="CIFAR-10's folder")
    parser.add_argument("--records", type=int, default=10000, help="of each of its files")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--norm", choices=("group", "batch"), default="group", help="of the ResNet-18")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    options = parser.parse_args()
    begin, data = time.perf_counter(), load(options)
    name = torch.cuda.get_device_name() if options.device != "cpu" else "CPU"
    print(f"torch {torch.__version__}, {name}, {len(data[0])} images to train with")
    for part in options.part.split(","):
        {"steps": measure_steps, "models": measure_models, "accuracy": measure_accuracy}[part](options, data)
    print(f"\n{time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
