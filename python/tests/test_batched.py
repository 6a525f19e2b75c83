"""Nodes that take their steps together end as if each had taken them alone."""

import contextlib
import importlib.util
import io
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

import numpy

import tessera

NODES, CLASSES = 5, 3


def has_vmap():
    return torch is not None and any(importlib.util.find_spec(name) for name in ("torch.func", "functorch"))


def data():
    random = torch.Generator().manual_seed(1)
    labels = torch.arange(300) % CLASSES
    features = torch.randn(CLASSES, 4, 6, generator=random)[labels] + 0.3 * torch.randn(300, 4, 6, generator=random)
    return torch.utils.data.TensorDataset(features, labels)


class Attention(torch.nn.Module if torch else object):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.TransformerEncoderLayer(6, 2, 12, dropout=0.0, batch_first=True)
        self.last = torch.nn.Linear(6, CLASSES)

    def forward(self, features):
        return self.last(self.encoder(features).mean(dim=1))


def modules():
    nn = torch.nn
    frozen = nn.Sequential(nn.Flatten(), nn.Linear(24, 8), nn.Tanh(), nn.Linear(8, CLASSES))
    frozen[1].weight.requires_grad_(False)
    return {
        "linear": nn.Sequential(nn.Flatten(), nn.Linear(24, 8), nn.ReLU(), nn.Linear(8, CLASSES)),
        "GroupNorm": nn.Sequential(nn.Conv1d(4, 8, 3), nn.GroupNorm(2, 8), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(),
                                   nn.Linear(16, CLASSES)),
        "BatchNorm": nn.Sequential(nn.Conv1d(4, 8, 3), nn.BatchNorm1d(8), nn.ReLU(), nn.Flatten(),
                                   nn.Linear(32, CLASSES)),
        "frozen": frozen,
        "attention": Attention(),
    }


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "groups": lambda p: torch.optim.SGD([{"params": [each for each in p if each.ndim > 1], "weight_decay": 0.1},
                                         {"params": [each for each in p if each.ndim == 1]}], lr=0.05),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5),
}


def learner(module, optimizer, kind=None, **more):
    parts = tessera.partition(data().tensors[1].tolist(), NODES, "iid")
    return (kind or tessera.TorchLearner)(module, torch.nn.functional.cross_entropy, optimizer, data(), data(), parts,
                                          steps=2, **more)


def module(name):
    torch.manual_seed(2)
    return modules()[name]


def trained(learner, cohorts):
    """Models, losses and scores after trainings of these nodes, one after the other."""
    models, losses = [learner.initial.copy() for _ in range(NODES)], []
    for count, cohort in enumerate(cohorts):
        losses.append(learner.train([models[i] for i in cohort], cohort, [100 * count + i for i in cohort]))
    return models, losses, learner.evaluate(models, range(NODES))


@unittest.skipUnless(has_vmap(), "neither torch.func (torch 2.0) nor functorch (1.13) is here")
class Batched(unittest.TestCase):
    # All, some, one alone, and then nodes that have made different numbers of steps.
    COHORTS = [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [4, 1, 2], [3], [0, 1, 2, 3, 4]]

    def compare(self, name, optimizer, tolerance=2e-5):
        alone = trained(learner(module(name), optimizer, batched=False), self.COHORTS)
        together = trained(learner(module(name), optimizer, batched=True), self.COHORTS)
        for one, other in zip(*map(lambda each: each[0], (alone, together))):
            numpy.testing.assert_allclose(one, other, atol=tolerance)
        for one, other in zip(alone[1] + alone[2], together[1] + together[2]):
            numpy.testing.assert_allclose(one, other, atol=tolerance)

    def test_equals_the_loop_for_every_model(self):
        for name in modules():
            with self.subTest(name):
                self.compare(name, OPTIMIZERS["momentum"])

    def test_equals_the_loop_for_every_optimizer(self):
        for name, optimizer in OPTIMIZERS.items():
            with self.subTest(name):
                self.compare("GroupNorm", optimizer, 2e-4 if name in ("AdamW", "RMSprop") else 2e-5)

    def test_buffers_stay_with_their_node(self):
        together = learner(module("BatchNorm"), OPTIMIZERS["SGD"], batched=True)
        trained(together, [[0, 1, 2], [0, 1]])
        counts = [int(together._nodes[node][0][1].num_batches_tracked) for node in (0, 1, 2)]
        self.assertEqual(counts, [4, 4, 2])

    def test_a_run_repeats_and_resumes_to_the_same_bits(self):
        def simulation(**more):
            return tessera.Simulation(learner=learner(module("BatchNorm"), OPTIMIZERS["AdamW"], batched=True),
                                      nodes=NODES, topology="ring", protocol="dpsgd:rounds=10", evaluate="every=5",
                                      sharing="jwins", **more)

        runs = [simulation() for _ in range(2)]
        for run in runs:
            run.run()
        self.assertEqual(runs[0].digest, runs[1].digest)
        with tempfile.TemporaryDirectory() as folder:
            for _ in simulation(out=f"{folder}/run"):
                break
            again = simulation(out=f"{folder}/run", existing="resume")
            again.run()
            self.assertEqual(again.digest, runs[0].digest)


class OnAnotherDevice(tessera.TorchLearner):
    """As if it were: "auto" leaves the CPU to the loop."""

    def _apart_from_cpu(self):
        return True


@unittest.skipIf(torch is None, "torch is missing: install python3-torch")
class WhereItCannotBe(unittest.TestCase):
    def dropout(self):
        nn = torch.nn
        return nn.Sequential(nn.Flatten(), nn.Linear(24, 8), nn.Dropout(0.5), nn.Linear(8, CLASSES))

    def said(self, learner):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            results = trained(learner, Batched.COHORTS)
        return results, said.getvalue()

    def test_auto_is_the_loop_on_the_cpu_and_says_nothing(self):
        auto, said = self.said(learner(module("linear"), OPTIMIZERS["SGD"]))
        loop, _ = self.said(learner(module("linear"), OPTIMIZERS["SGD"], batched=False))
        self.assertEqual(said, "")
        numpy.testing.assert_array_equal(auto[0], loop[0])

    def test_auto_falls_back_and_says_why_once(self):
        torch.manual_seed(2)
        for optimizer, word in ((OPTIMIZERS["SGD"], "random"), (torch.optim.Rprop, "Rprop may treat")):
            auto = learner(self.dropout(), optimizer, OnAnotherDevice)
            loop = learner(auto._module, optimizer, batched=False)
            ours, said = self.said(auto)
            theirs, _ = self.said(loop)
            self.assertEqual(said.count("\n"), 1)
            self.assertRegex(said, f"one after the other: .*({word}|torch.func)")
            self.assertFalse(auto.batched)
            numpy.testing.assert_array_equal(ours[0], theirs[0])

    @unittest.skipUnless(torch and importlib.util.find_spec("torch.func"), "functorch has no gradients of dropout")
    def test_true_batches_dropout(self):
        models, _, _ = trained(learner(self.dropout(), OPTIMIZERS["SGD"], batched=True), Batched.COHORTS)
        self.assertTrue(numpy.isfinite(models).all())

    @unittest.skipUnless(has_vmap(), "neither torch.func (torch 2.0) nor functorch (1.13) is here")
    def test_true_raises_what_it_cannot(self):
        with self.assertRaisesRegex(ValueError, "Rprop may treat a tensor as a whole"):
            trained(learner(module("linear"), torch.optim.Rprop, batched=True), Batched.COHORTS)

    def test_other_words_raise(self):
        with self.assertRaisesRegex(ValueError, "batched='yes'"):
            learner(module("linear"), OPTIMIZERS["SGD"], batched="yes")


if __name__ == "__main__":
    unittest.main()
