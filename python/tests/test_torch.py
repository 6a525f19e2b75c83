"""tessera.TorchLearner: modules, optimizers and datasets of torch."""

import io
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

import numpy

import tessera
from tessera import kernels

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def learner(momentum=0.9):
    random = torch.Generator().manual_seed(1)
    labels = torch.arange(300) % 3
    features = torch.randn(3, 8, generator=random)[labels] + 0.3 * torch.randn(300, 8, generator=random)
    data = torch.utils.data.TensorDataset(features, labels)
    torch.manual_seed(2)
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(),
                                 torch.nn.Dropout(0.1), torch.nn.Linear(16, 3))
    return tessera.TorchLearner(module, torch.nn.functional.cross_entropy,
                                lambda p: torch.optim.SGD(p, lr=0.05, momentum=momentum), data, data,
                                tessera.partition(labels.tolist(), 6, "iid"), batch=8, steps=2)


def simulation(**more):
    lines = dict(nodes=6, topology="ring", protocol="dpsgd:rounds=10", evaluate="every=5", sharing="jwins")
    return tessera.Simulation(**(lines | more))


@unittest.skipIf(torch is None, "torch is missing: install python3-torch")
class Torch(unittest.TestCase):
    def test_learns(self):
        run = simulation(learner=learner())
        self.assertGreater(list(run)[-1]["accuracy"], 0.9)
        self.assertLess(run.summary()["consensus_relative"], 1)

    def test_the_same_again_and_after_a_stop(self):
        runs = [simulation(learner=learner()) for _ in range(2)]
        for run in runs:
            run.run()
        self.assertEqual(runs[0].digest, runs[1].digest)
        with tempfile.TemporaryDirectory() as folder:
            first = simulation(learner=learner(), out=f"{folder}/run")
            for _ in first:
                break
            del first
            again = simulation(learner=learner(), out=f"{folder}/run", existing="resume")
            again.run()
            self.assertEqual(again.digest, runs[0].digest)

    def test_a_state_from_elsewhere_calls_nothing(self):
        class Evil:
            def __reduce__(self):
                return os.mkdir, (os.path.join(folder, "called"),)

        with tempfile.TemporaryDirectory() as folder:
            by_torch = io.BytesIO()
            torch.save(["{}", [Evil()]], by_torch)
            for evil in (pickle.dumps(Evil()), by_torch.getvalue()):
                with self.assertRaisesRegex(ValueError, "cannot be read"):
                    learner().set_state(evil)
            self.assertEqual(os.listdir(folder), [])

    def test_models_are_state_dicts(self):
        run = simulation(learner=learner())
        run.run()
        state = run.merged_model()
        self.assertEqual(list(state), list(learner()._module.state_dict()))
        self.assertEqual(tuple(state["0.weight"].shape), (16, 8))
        mean = numpy.mean([run.model(i)["0.weight"].numpy() for i in range(6)], axis=0)
        numpy.testing.assert_allclose(state["0.weight"].numpy(), mean, atol=1e-6)

    def test_a_tensor_is_seen_where_it_is(self):
        tensor = torch.randn(100)
        self.assertEqual(kernels.seen_at(tensor.numpy()), tensor.data_ptr())
        self.assertEqual(kernels.seen_at(numpy.from_dlpack(tensor)), tensor.data_ptr())

    def test_a_learner_sees_the_models_themselves(self):
        seen = []

        class Seen(tessera.TorchLearner):
            def train(self, models, nodes, seeds):
                seen.extend((model.flags.owndata, model.flags.writeable, kernels.seen_at(model) == model.ctypes.data)
                            for model in models)
                return super().train(models, nodes, seeds)

        ours = learner()
        ours.__class__ = Seen
        simulation(learner=ours).run()
        self.assertEqual(set(seen), {(False, True, True)})

    def test_other_types_are_refused(self):
        module = torch.nn.Linear(2, 2).double()
        with self.assertRaisesRegex(ValueError, "float32"):
            tessera.TorchLearner(module, None, None, [], [], [])


@unittest.skipIf(torch is None, "torch is missing: install python3-torch")
class Examples(unittest.TestCase):
    def test_they_run(self):
        folder = os.path.join(ROOT, "examples", "python")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                with self.subTest(name):
                    done = subprocess.run([sys.executable, "-B", os.path.join(folder, name)], capture_output=True,
                                          text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(done.stderr, "")

    def test_the_readme_runs(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            section = file.read().partition("## From Python")[2]
        lines = section.partition("```python\n")[2].partition("```")[0]
        ours = learner()
        printed = []
        names = dict(torch=torch, model=ours._module, train=ours._train, test=ours._test,
                     labels=[int(target) for _, target in ours._train], print=lambda *row: printed.append(row))
        exec(compile(lines, "README.md", "exec"), names)
        self.assertEqual(printed[-1][0], 30)


if __name__ == "__main__":
    unittest.main()
