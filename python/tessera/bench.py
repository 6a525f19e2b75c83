"""What the way through Python costs: python -m tessera.bench [--quick]

First the kernels on a million floats, beside the program's own figures where it is found (TESSERA_PROGRAM, or in PATH).
Then what a simulation pays for a learner written in Python, beside its training: a learner that does nothing against
the built-in model that does next to nothing.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import time

import numpy

import tessera
from tessera import kernels

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


class Idle(tessera.Learner):
    """Trains nothing, so that all the time a run takes is not the learner's."""

    def __init__(self, dimension):
        self.initial = numpy.zeros(dimension, "float32")

    def train(self, models, nodes, seeds):
        """Nothing."""
        return [0.0] * len(models)

    def evaluate(self, models, nodes):
        """Nothing."""
        return [(0.0, 0.0)] * len(models)


def median_seconds(call, seconds):
    """Of calls for so many seconds, after one that warms up."""
    call()
    took, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(took) < 5:
        begin = time.perf_counter()
        call()
        took.append(time.perf_counter() - begin)
    return statistics.median(took)


def kernel_calls(count):
    """Kernels as `tessera bench` names them: the heading it stands under, its line, and the same call from Python."""
    x = numpy.random.default_rng(1).standard_normal(count).astype("float32")
    coefficients = kernels.wavelet_forward(x)
    chosen = numpy.sort(numpy.random.default_rng(2).choice(count, count // 10, replace=False)).astype("uint32")
    gamma = kernels.encode_indices(chosen, count)
    back = numpy.empty_like(x)
    return [
        ("wavelet", "forward", lambda: kernels.wavelet_forward(x, out=coefficients)),
        ("wavelet", "inverse", lambda: kernels.wavelet_inverse(coefficients, count, out=back)),
        ("select the 10%", "select_largest", lambda: kernels.select_largest(x, count // 10)),
        ("indices of 10%", "gamma encode", lambda: kernels.encode_indices(chosen, count)),
        ("indices of 10%", "gamma decode", lambda: kernels.decode_indices(gamma, count, len(chosen))),
    ]


def figures_of_program(count):
    """{(heading, line): seconds} as `tessera bench` prints them; empty where there is no program."""
    program = os.environ.get("TESSERA_PROGRAM") or shutil.which("tessera")
    if not program:
        return {}
    told = subprocess.run([program, "bench", "wavelet", "select", "codecs", f"--sizes={count}", "--no-python"],
                          capture_output=True, text=True, check=True).stdout
    figures, heading, before = {}, "", ""
    for line in told.splitlines():
        if line.startswith("---"):
            heading = before
        elif match := re.match(r"(.+?) {2,}([\d.]+) (ns|us|ms|s)\b", line):
            figures[heading, match[1]] = float(match[2]) * _UNITS[match[3]]
        before = line
    return figures


def bench_kernels(count, seconds):
    """Prints a line for each kernel."""
    figures = figures_of_program(count)
    print(f"kernels, {count} floats{'':22} Python    program")
    for heading, name, call in kernel_calls(count):
        ours = median_seconds(call, seconds)
        known = [figure for (where, line), figure in figures.items() if where.startswith(heading) and line == name]
        theirs = f"{1e6 * known[0]:7.1f} us  {100 * (ours / known[0] - 1):+.0f}%" if known else "      -"
        print(f"{name:34} {1e6 * ours:7.1f} us {theirs}")


def seconds_per_round(rounds, **lines):
    """Of a ring whose nodes tell next to nothing, in as many bytes whatever it is."""
    run = tessera.Simulation(topology="ring", protocol=f"dpsgd:rounds={rounds}", evaluate=f"every={rounds}",
                             sharing="full", codec="raw32+f32", threads=1, **lines)
    begin = time.perf_counter()
    run.run()
    return (time.perf_counter() - begin) / rounds


def bench_cohorts(rounds, repetitions):
    """Prints what a cohort costs, and each node in it: a line through the costs of few and many nodes."""
    few, many, cost = 3, 96, {}
    for nodes in (few, many):
        differences, as_long = [], rounds * many // nodes
        for _ in range(repetitions):  # In turn, so that a slow moment is everyone's.
            python = seconds_per_round(as_long, nodes=nodes, learner=Idle(8))
            differences.append(python - seconds_per_round(as_long, nodes=nodes, model="quadratic:dimension=8,noise=0"))
        cost[nodes] = statistics.median(differences)
    node = (cost[many] - cost[few]) / (many - few)
    print(f"\na learner in Python: {1e6 * (cost[few] - few * node):.1f} us a cohort and {1e6 * node:.2f} us a node, "
          "beside its training")


def main():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tessera.bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="tiny inputs: does everything still run?")
    quick = parser.parse_args().quick
    bench_kernels(10_000 if quick else 1_000_000, 0.01 if quick else 1.0)
    bench_cohorts(20 if quick else 500, 1 if quick else 9)


if __name__ == "__main__":
    main()
