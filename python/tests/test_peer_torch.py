"""Eight live peers with a plain loop of PyTorch end with the bits of TorchLearner in a simulation; killed ones, too."""

import multiprocessing
import os
import time
import unittest

import numpy

try:
    import torch
except ImportError:
    torch = None

import live
import tessera
from tessera import kernels

NODES, ROUNDS, BATCH, STEPS = 8, 12, 8, 2
LINES = dict(nodes=NODES, topology="ring", protocol=f"dpsgd:rounds={ROUNDS}", sharing="jwins")


def make_data():
    random = torch.Generator().manual_seed(1)
    labels = torch.arange(320) % 4
    features = torch.randn(4, 8, generator=random)[labels] + 0.3 * torch.randn(320, 8, generator=random)
    return features, labels, tessera.partition(labels.tolist(), NODES, "shards:per_node=2")


def make_model():
    torch.manual_seed(2)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(),
                               torch.nn.Linear(16, 4))


def make_optimizer(parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


def simulated(**more):
    features, labels, parts = make_data()
    data = torch.utils.data.TensorDataset(features, labels)
    learner = tessera.TorchLearner(make_model(), torch.nn.functional.cross_entropy, make_optimizer, data, data, parts,
                                   batch=BATCH, steps=STEPS)
    run = tessera.Simulation(learner=learner, **(LINES | more))
    run.run()
    return run


def train(net, node, pause=0.0):
    """A script's own loop, in a process of its own."""
    torch.set_num_threads(1)
    features, labels, parts = make_data()
    model = make_model()
    optimizer = make_optimizer(model.parameters())
    with tessera.Peer(model, keep=optimizer, **net.settings(node, **LINES)) as peer:
        while not peer.finished:
            model.train()
            draw = numpy.random.Generator(numpy.random.Philox(peer.seed))
            for _ in range(STEPS):
                batch = parts[node][draw.integers(len(parts[node]), size=BATCH)].astype("int64")
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(features[batch]), labels[batch])
                loss.backward()
                optimizer.step()
            time.sleep(pause)
            peer.exchange(float(loss))
    torch.save(model.state_dict(), f"{net.folder}/{node}.pt")


class Processes:
    """The loops of a network, which end with the block."""

    def __init__(self, net, pause):
        self._net, self._pause = net, pause
        # Forked from a process that has torch already, and no threads of ours.
        self._context = multiprocessing.get_context("fork")
        self._of = {}

    def __enter__(self):
        for node in range(NODES):
            self.start(node)
        return self

    def __exit__(self, *_):
        for process in self._of.values():
            process.kill()
            process.join()

    def start(self, node):
        self._of[node] = self._context.Process(target=train, args=(self._net, node, self._pause))
        self._of[node].start()

    def kill(self, node):
        """At once, as soon as it has a checkpoint of a few rounds."""
        folder, until = f"{self._net.folder}/n{node}/checkpoint", time.monotonic() + live.DEADLINE
        while time.monotonic() < until:
            files = os.listdir(folder) if os.path.isdir(folder) else []
            if any(name.endswith(".bin") and int(name[:-4]) >= 3 for name in files):
                break
            time.sleep(0.01)
        self._of[node].kill()
        self._of[node].join()
        return self._of[node].exitcode

    def join(self):
        until = time.monotonic() + live.DEADLINE
        for process in self._of.values():
            process.join(max(0.0, until - time.monotonic()))
        return [process.exitcode for process in self._of.values()]


def shared(state):
    return numpy.concatenate([state[name].numpy().ravel() for name in
                              ("0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias")])


@unittest.skipIf(torch is None, "torch is missing: install python3-torch")
class Eight(unittest.TestCase):
    def run_network(self, net, killed, pause):
        with Processes(net, pause) as processes:
            for node in killed:
                self.assertEqual(processes.kill(node), -9)
            for node in killed:
                processes.start(node)
            self.assertEqual(processes.join(), [0] * NODES)
        return [torch.load(f"{net.folder}/{node}.pt") for node in range(NODES)]

    def compare(self, states):
        run = simulated()
        self.assertEqual(kernels.digest([shared(state) for state in states]), run.digest)
        for state in states:  # BatchNorm counts its batches; those of steps that were killed count once.
            self.assertEqual(int(state["1.num_batches_tracked"]), ROUNDS * STEPS)

    def test_end_with_the_simulations_bits(self):
        with live.network(NODES) as net:
            self.compare(self.run_network(net, killed=(), pause=0))

    def test_three_killed_and_started_again_finish_the_run(self):
        with live.network(NODES) as net:
            self.compare(self.run_network(net, killed=(1, 4, 6), pause=0.1))


@unittest.skipIf(torch is None, "torch is missing: install python3-torch")
class Shared(unittest.TestCase):
    """Two peers that each put a number of their own everywhere: what is shared meets in the middle."""

    def models_after(self, make, rounds=1, **more):
        def loop(node):
            model = make()
            lines = dict(topology="ring", protocol=f"dpsgd:rounds={rounds}")
            with tessera.Peer(model, **net.settings(node, **(lines | more))) as peer:
                for value in model.state_dict().values():
                    value.fill_(2 * node + 2)
                while peer.exchange():
                    pass
            return model

        with live.network(2) as net:
            return net.on_threads(loop)

    def values(self, model):
        return {name: float(value.ravel()[0]) for name, value in model.state_dict().items()}

    def test_parameters_and_no_buffers(self):
        for node, model in enumerate(self.models_after(lambda: torch.nn.BatchNorm1d(4))):
            own = 2 * node + 2
            self.assertEqual(self.values(model), dict(weight=3, bias=3, running_mean=own, running_var=own,
                                                      num_batches_tracked=own))

    def test_buffers_when_asked_for(self):
        for node, model in enumerate(self.models_after(lambda: torch.nn.BatchNorm1d(4), buffers=True)):
            self.assertEqual(self.values(model), dict(weight=3, bias=3, running_mean=3, running_var=3,
                                                      num_batches_tracked=2 * node + 2))
            self.assertEqual(model.num_batches_tracked.dtype, torch.int64)

    def test_a_variance_stays_one(self):
        def make():
            model = torch.nn.BatchNorm1d(64)
            model.running_var.copy_(torch.linspace(0, 1, 64))
            return model

        flat = tessera.flat.FlatModule(make(), buffers=True)
        vector = flat.get()
        vector[:] = -1
        flat.put(vector)
        self.assertTrue((flat._module.running_var == 0).all())
        self.assertTrue((flat._module.running_mean == -1).all())

    def test_frozen_parameters_stay(self):
        def make():
            model = torch.nn.Linear(3, 2)
            model.bias.requires_grad_(False)
            return model

        for node, model in enumerate(self.models_after(make)):
            self.assertEqual(self.values(model), dict(weight=3, bias=2 * node + 2))

    def test_tied_parameters_are_shared_once(self):
        def make():
            model = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)])
            model[1].weight = model[0].weight
            return model

        self.assertEqual(tessera.flat.FlatModule(make()).tensors, [9, 3, 3])
        for model in self.models_after(make):
            self.assertEqual(set(self.values(model).values()), {3})
            self.assertIs(model[0].weight, model[1].weight)

    def test_other_types_are_refused(self):
        for model, words in ((torch.nn.Linear(2, 2).double(), "weight is torch.float64: .* must be float32"),
                             (torch.nn.Linear(2, 2).half(), "float16"), (torch.nn.ReLU(), "no parameters")):
            with self.assertRaisesRegex(ValueError, words):
                tessera.Peer(model, roster="nowhere", key="nobody.key")

    def test_what_is_kept_comes_back(self):
        with live.network(2) as net:
            settings = net.settings(0, topology="ring", protocol="dpsgd:rounds=9,patience=50ms", gather="0s")

            def make():
                model = torch.nn.BatchNorm1d(4)
                optimizer = torch.optim.Adam(model.parameters())
                return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 1)

            def step(model, optimizer, scheduler):
                optimizer.zero_grad()
                model(torch.arange(12.0).reshape(3, 4)).square().sum().backward()
                optimizer.step()
                scheduler.step()

            first = make()
            with tessera.Peer(first[0], keep=first[1:], **settings) as peer:
                for _ in range(3):
                    step(*first)
                    peer.exchange()
            second = make()
            with tessera.Peer(second[0], keep=second[1:], **settings):
                for one, other in zip(first, second):
                    self.assertEqual(str(one.state_dict()), str(other.state_dict()))
            with self.assertRaisesRegex(ValueError, "keep: the checkpoint has 2 of them, and here are 0"):
                tessera.Peer(make()[0], **settings)


if __name__ == "__main__":
    unittest.main()
