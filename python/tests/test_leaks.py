"""Memory does not grow from run to run. TESSERA_LEAK_RUNS=1000 makes more of them than the suite has time for."""

import gc
import os
import unittest

import numpy

import tessera
from tessera import kernels

RUNS = int(os.environ.get("TESSERA_LEAK_RUNS", "200"))
GROWTH_MAX = 2**20  # Bytes; a model that stayed behind in each run would be eight times that in 200 runs.
DIMENSION = 10_000


class Pull(tessera.Learner):
    initial = numpy.zeros(DIMENSION, "float32")

    def train(self, models, nodes, seeds):
        for model, node in zip(models, nodes):
            model += 0.1 * (node - model)
        return [0.0] * len(models)

    def evaluate(self, models, nodes):
        return [(0.0, 0.0)] * len(models)


class Full(tessera.Sharing):
    def pack(self, model, seed):
        return model

    def merge(self, model, others):
        for weight, _, values, _ in others:
            model += numpy.float32(weight) * (values - model)


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def simulate(**lines):
    run = tessera.Simulation(**(dict(nodes=3, topology="ring", protocol="dpsgd:rounds=2", evaluate="every=1",
                                     threads=1) | lines))
    run.run()
    run.merged_model()
    for _ in tessera.Simulation(**(dict(nodes=3, topology="ring", protocol="dpsgd:rounds=2", threads=1) | lines)):
        break  # One that is left on the way.


def use_kernels():
    x = numpy.ones(DIMENSION, "float32")
    sharing = kernels.Sharing("jwins", x)
    sharing.merge(x, [(0.5, message) for message in sharing.pack(x, 1)])
    kernels.decode_values(kernels.encode_values(kernels.wavelet_forward(x)), len(kernels.wavelet_forward(x)))


def refuse():
    for wrong in (dict(sharing="jwin"), dict(nodes="many")):
        try:
            simulate(model="quadratic", **wrong)
        except ValueError:
            pass


class Leaks(unittest.TestCase):
    def grows_by(self, once):
        """From a tenth of the runs to the last."""
        for count in range(RUNS):
            if count == RUNS // 10:
                gc.collect()
                before = resident_bytes()
            once()
        gc.collect()
        growth = resident_bytes() - before
        print(f"{before / 2**20:.1f} MiB after {RUNS // 10} runs, {growth / 2**10:+.0f} KiB by {RUNS}", flush=True)
        return growth

    def test_no_run_leaves_anything(self):
        for name, once in (("built in", lambda: simulate(model="quadratic:dimension=10000", sharing="jwins")),
                           ("a learner", lambda: simulate(learner=Pull(), sharing="jwins")),
                           ("a sharing", lambda: simulate(learner=Pull(), sharing=Full)),
                           ("kernels", use_kernels), ("refusals", refuse)):
            with self.subTest(name):
                print(f"{name:10}", end=" ")
                self.assertLess(self.grows_by(once), GROWTH_MAX)


if __name__ == "__main__":
    unittest.main()
