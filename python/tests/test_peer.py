"""tessera.Peer: live nodes in loops of one's own, which end with the simulation's bits."""

import ctypes
import itertools
import json
import os
import threading
import time
import unittest

import numpy

import live
import tessera
from tessera import kernels

LINES = dict(nodes=4, topology="ring", protocol="dpsgd:rounds=12", sharing="jwins:budget=0.5")


def pull(model, node, seed):
    """Local steps of the toy: towards a point of the node's own, with noise."""
    model += 0.1 * (node - model) + 0.001 * numpy.random.default_rng(seed).standard_normal(len(model))


class Pull(tessera.Learner):
    """The toy as a simulation trains it."""

    initial = numpy.zeros(50, "float32")

    def train(self, models, nodes, seeds):
        for job in zip(models, nodes, seeds):
            pull(*job)
        return [0.0] * len(models)

    def evaluate(self, models, nodes):
        return [(0.0, float(abs(model - 1.5).mean())) for model in models]


def without_rounds_in_common(rounds):
    for protocol, sharing in (("divshare:fanout=2,", "fragments"), ("swift:", "full"), ("adpsgd:", "full")):
        yield LINES | dict(protocol=f"{protocol}rounds={rounds}", sharing=sharing)


def simulated(**lines):
    run = tessera.Simulation(learner=Pull(), **lines)
    run.run()
    return run


def pulled(net, node, rounds_max=None, lines=LINES, **more):
    """The toy as a live peer, to its end or for some exchanges, and its last model."""
    model = Pull.initial.copy()
    with tessera.Peer(model, **net.settings(node, **(lines | more))) as peer:
        while not peer.finished and rounds_max != 0:
            pull(model, node, peer.seed)
            peer.exchange()
            rounds_max = rounds_max - 1 if rounds_max else None
    return model


class Exchange(unittest.TestCase):
    def test_ends_with_the_simulations_bits(self):
        for more in ({}, {"sharing": "full"}, {"sharing": "choco"}, {"protocol": "epidemic:fanout=2,rounds=12"},
                     {"merge": "end"}, {"merge": "every:rounds=5,codec=gamma+q8,last=gamma+f32"}):
            with self.subTest(**more), live.network(4) as net:
                models = net.on_threads(lambda node: pulled(net, node, lines=LINES | more))
                self.assertEqual(kernels.digest(models), simulated(**(LINES | more)).digest)

    def test_protocols_without_rounds_end(self):
        for lines in without_rounds_in_common(rounds=30):
            with self.subTest(**lines), live.network(4) as net:
                self.assertTrue(numpy.isfinite(net.on_threads(lambda node: pulled(net, node, lines=lines))).all())

    def test_protocols_without_rounds_hear_others(self):
        for lines in without_rounds_in_common(rounds=10**8):
            with self.subTest(**lines), live.network(4) as net:
                moved = [threading.Event() for _ in range(4)]
                net.on_threads(lambda node: self.pulled_until(net, node, lines, moved))

    def pulled_until(self, net, node, lines, moved):
        """Nobody waits for anybody, so all go on until each has a model that it could not have by itself."""
        model = Pull.initial.copy()
        with tessera.Peer(model, **net.settings(node, **lines)) as peer:
            deadline = time.monotonic() + live.DEADLINE / 2  # Gathering has one of its own.
            for step in itertools.count():
                pull(model, node, peer.seed)
                peer.exchange()
                # The points of nodes 1 and 2 lie between the others', so that their means tell nothing.
                if node in (1, 2) or (step > 30 and abs(model.mean() - node) > 2 * 0.9 ** 30):
                    moved[node].set()
                if all(event.is_set() for event in moved):
                    return
                self.assertLess(time.monotonic(), deadline, f"node {node} heard nobody")

    def test_left_and_made_again_it_ends_with_the_same_bits(self):
        with live.network(4) as net:
            def loop(node):
                if node == 2:
                    pulled(net, node, rounds_max=4)  # Leaves with a model it has not trained.
                    self.half_trained(net, node)
                return pulled(net, node)

            self.assertEqual(kernels.digest(net.on_threads(loop)), simulated(**LINES).digest)

    def half_trained(self, net, node):
        """An exception in the middle of its steps comes out, and they do not count."""
        model = Pull.initial.copy()
        with self.assertRaisesRegex(KeyError, "its own"):
            with tessera.Peer(model, **net.settings(node, **LINES)):
                model += 17
                raise KeyError("its own")

    def test_what_a_node_measures(self):
        with live.network(4) as net:
            def score(model):
                return 0.25, float(abs(model - 1.5).mean())

            models = net.on_threads(lambda node: pulled(net, node, test=score, evaluate="every=4"))
            self.assertEqual(kernels.digest(models), simulated(**LINES).digest)
            with open(f"{net.folder}/n1/metrics.jsonl") as file:
                rows = [json.loads(line) for line in file]
            self.assertEqual([row["round"] for row in rows], [4, 8, 12])
            self.assertEqual(rows[-1]["accuracy"], 0.25)
            self.assertAlmostEqual(rows[-1]["loss"], score(models[1])[1], places=5)
            with open(f"{net.folder}/n1/summary.json") as file:
                self.assertEqual(json.load(file)["model_digest"], f"{kernels.digest([models[1]]):016x}")

    def test_finished_it_knows_so_when_made_again(self):
        with live.network(2) as net:
            lines = LINES | dict(nodes=2, linger="1s")
            models = net.on_threads(lambda node: pulled(net, node, lines=lines))
            model = Pull.initial.copy()
            with tessera.Peer(model, **net.settings(0, **lines)) as peer:
                self.assertTrue(peer.finished)
                self.assertFalse(peer.exchange())
            numpy.testing.assert_array_equal(model, models[0])

    def test_one_that_comes_late_begins_with_the_others_model(self):
        with live.network(3) as net:
            far, begun, said = threading.Event(), threading.Event(), []
            lines = LINES | dict(nodes=3, topology="full", protocol="dpsgd:rounds=100000,patience=200ms")

            def others(node):
                model, done = Pull.initial.copy(), 0
                with tessera.Peer(model, **net.settings(node, **(lines | dict(gather="0s")))) as peer:
                    while not begun.wait(0.02):
                        pull(model, node, peer.seed)
                        peer.exchange()
                        done += 1
                        if done == 10:
                            far.set()

            def late(node):
                far.wait(live.DEADLINE)
                model = Pull.initial.copy()
                try:
                    with tessera.Peer(model, **net.settings(node, **(lines | dict(say=said.append)))):
                        return abs(model).max()
                finally:
                    begun.set()

            self.assertGreater(net.on_threads(lambda node: late(node) if node == 2 else others(node))[2], 0)
            self.assertTrue(any("begins with the model of" in line for line in said), said)

    def test_left_by_another_thread(self):
        with live.network(2) as net:
            lines = LINES | dict(nodes=2, gather="0s")
            peer = tessera.Peer(Pull.initial.copy(), **net.settings(0, **lines))
            other = threading.Timer(0.3, peer.leave)
            other.start()
            with self.assertRaisesRegex(RuntimeError, "has left"):  # It waits for one that is not there.
                peer.exchange()
            other.join()
            self.assertTrue(os.listdir(f"{net.folder}/n0/checkpoint"))

    def test_settings_from_a_file(self):
        with live.network(2) as net:
            for node in (0, 1):
                with open(f"{net.folder}/n{node}.toml", "w") as file:
                    file.write(f'name = "n{node}"\nkey = "n{node}.key"\nroster = "roster.toml"\nfolder = "n{node}"\n'
                               '[experiment]\nnodes = 2\nmodel = "gn-lenet"\ntopology = "ring"\n'
                               'protocol = "dpsgd:rounds=50"\nsharing = "jwins"\n')

            def loop(node):
                model = Pull.initial.copy()
                with tessera.Peer(model, f"{net.folder}/n{node}.toml", protocol="dpsgd:rounds=5", say=None) as peer:
                    while not peer.finished:
                        pull(model, node, peer.seed)
                        peer.exchange()
                return model

            expected = simulated(nodes=2, topology="ring", protocol="dpsgd:rounds=5", sharing="jwins").digest
            self.assertEqual(kernels.digest(net.on_threads(loop)), expected)

    def test_the_network_goes_on_while_python_does_not(self):
        with live.network(2) as net:
            said = []

            def loop(node):
                model = Pull.initial.copy()
                lines = LINES | dict(nodes=2, protocol="dpsgd:rounds=3", say=said.append, link="silence=3s/3s")
                with tessera.Peer(model, **net.settings(node, **lines)) as peer:
                    if node == 0:
                        ctypes.PyDLL(None).usleep(4_000_000)  # With the GIL: no other thread of Python runs.
                    while peer.exchange():
                        pass

            net.on_threads(loop)
            self.assertTrue(any("is alive" in line for line in said))
            self.assertFalse([line for line in said if "silent" in line or "lost" in line], said)

    def test_status(self):
        with live.network(2) as net:
            def loop(node):
                model = Pull.initial.copy()
                with tessera.Peer(model, **net.settings(node, **(LINES | dict(nodes=2)))) as peer:
                    peer.exchange()
                    status = peer.status()
                    while peer.exchange():
                        pass
                return status, peer.status()

            for status, last in net.on_threads(loop):
                self.assertEqual(status["rounds"], 12)
                self.assertEqual((last["state"], last["round"]), ("finished", 12))


if __name__ == "__main__":
    unittest.main()
