"""tessera.Peer: live nodes in loops of one's own, which end with the simulation's bits."""

import json
import os
import signal
import subprocess
import sys
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
                     {"merge": "end"}):
            with self.subTest(**more), live.network(4) as net:
                models = net.on_threads(lambda node: pulled(net, node, lines=LINES | more))
                self.assertEqual(kernels.digest(models), simulated(**(LINES | more)).digest)

    def test_protocols_without_rounds(self):
        for protocol, sharing in (("divshare:fanout=2,rounds=30", "fragments"), ("swift:rounds=30", "full"),
                                  ("adpsgd:rounds=30", "full")):
            with self.subTest(protocol), live.network(4) as net:
                lines = LINES | dict(protocol=protocol, sharing=sharing)
                models = net.on_threads(lambda node: pulled(net, node, lines=lines))
                alone = 0.9 ** 30  # How far from its own point a node would end without the others.
                for node, model in enumerate(models):
                    self.assertTrue(numpy.isfinite(model).all())
                    self.assertGreater(abs(model.mean() - node) if node in (0, 3) else 1, alone)

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
                lines = LINES | dict(nodes=2, protocol="dpsgd:rounds=3", say=said.append, link="silence=1500ms/2s")
                with tessera.Peer(model, **net.settings(node, **lines)) as peer:
                    if node == 0:
                        sum(range(2 * 10**8))  # Seconds in one call, in which no other thread of Python runs.
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


class Trouble(unittest.TestCase):
    def test_wrong_words_raise(self):
        with live.network(2) as net:
            for wrong, words in (({"sharing": "jwin"}, "jwins"), ({"shering": "jwins"}, "no line|has a line 'shering'"),
                                 ({"training": "sgd"}, "brings its training"), ({"name": "eve"}, "not in .*roster add"),
                                 ({"nodes": 1}, "ids begin at 0"), ({"key": "nowhere.key"}, "nowhere.key"),
                                 ({"gather": "soon"}, "gather=soon"), ({"record": "log"}, "cannot be replayed"),
                                 ({"protocol": "divshare:fanout=1", "sharing": "choco"}, "choco")):
                with self.subTest(**wrong), self.assertRaisesRegex(ValueError, words):
                    name = {} if "key" not in wrong else {"name": "n1"}
                    tessera.Peer(Pull.initial.copy(), **(net.settings(1) | LINES | dict(nodes=2) | name | wrong))
            with self.assertRaisesRegex(ValueError, "a node needs key"):
                tessera.Peer(Pull.initial.copy(), roster=net.roster, name="n0")
            for wrong in ([1.0], numpy.zeros(5), numpy.zeros((2, 2), "float32")):
                with self.assertRaisesRegex(ValueError, "one-dimensional numpy array of float32"):
                    tessera.Peer(wrong, **net.settings(0))

    def test_another_ones_folder_is_refused(self):
        with live.network(2) as net:
            lines = LINES | dict(nodes=2)
            net.on_threads(lambda node: pulled(net, node, lines=lines))
            with self.assertRaisesRegex(ValueError, r"is of n0 \(node 0\), and this is n1"):
                pulled(net, 1, lines=lines, folder=f"{net.folder}/n0")
            with self.assertRaisesRegex(ValueError, "config"):
                pulled(net, 1, lines=lines | dict(sharing="full"))

    def test_what_is_in_use_is_refused(self):
        with live.network(2) as net:
            settings = net.settings(0, **(LINES | dict(nodes=2, gather="0s")))
            with tessera.Peer(Pull.initial.copy(), **settings):
                with self.assertRaisesRegex(ValueError, "n0 is in use by process"):
                    tessera.Peer(Pull.initial.copy(), **settings)
                with self.assertRaisesRegex(ValueError, "cannot listen on"):
                    tessera.Peer(Pull.initial.copy(), **(settings | dict(folder=f"{net.folder}/other")))
            tessera.Peer(Pull.initial.copy(), **settings).leave()  # All is free again.

    def test_another_key_is_refused(self):
        with live.network(2) as net:
            tessera.make_roster(f"{net.folder}/elsewhere", ["n1"])
            with self.assertRaisesRegex(ValueError, "our key is not the one the roster has for n1"):
                pulled(net, 1, key=f"{net.folder}/elsewhere/n1.key", lines=LINES | dict(nodes=2))

    def test_alone_it_says_so(self):
        said = []
        with live.network(3) as net:
            lines = LINES | dict(nodes=3, protocol="dpsgd:rounds=4,patience=100ms", pace="400ms", gather="100ms",
                                 linger="100ms")
            model = Pull.initial.copy()
            with tessera.Peer(model, **net.settings(0, **(lines | dict(say=said.append)))) as peer:
                while peer.exchange():
                    pass
            self.assertIn("without a living peer", peer.shortfall)
            self.assertIn("its work is not done", said[-1])

    def test_diverged_it_goes_back_once_and_then_raises(self):
        with live.network(2) as net:
            lines = LINES | dict(nodes=2, protocol="dpsgd:rounds=6,patience=500ms", linger="100ms")

            def loop(node):
                if node == 1:
                    return pulled(net, node, lines=lines)
                model, said, trainings = Pull.initial.copy(), [], 0
                with self.assertRaisesRegex(RuntimeError, "finite|diverged"):
                    peer = tessera.Peer(model, **net.settings(node, **(lines | dict(say=said.append))))
                    while not peer.finished:
                        trainings += 1
                        model[0] = numpy.nan if trainings >= 3 else 0
                        peer.exchange()
                self.assertTrue(any("going back to round 2" in line for line in said), said)
                with self.assertRaisesRegex(RuntimeError, "has left"):
                    peer.exchange()

            net.on_threads(loop)

    def test_a_test_that_raises_is_asked_again(self):
        with live.network(2) as net:
            lines = LINES | dict(nodes=2, protocol="dpsgd:rounds=4", evaluate="every=2")

            def loop(node):
                failed, model = [], Pull.initial.copy()

                def test(model):
                    if node == 0 and not failed:
                        failed.append(True)
                        raise KeyError("the test's own")
                    return 0.0, 0.0

                with tessera.Peer(model, test=test, **net.settings(node, **lines)) as peer:
                    while not peer.finished:
                        pull(model, node, peer.seed)
                        try:
                            peer.exchange()
                        except KeyError:
                            peer.exchange()
                return model

            models = net.on_threads(loop)
            self.assertEqual(kernels.digest(models), simulated(**lines).digest)


SCRIPT = """
import sys, threading
import numpy, tessera
roster, key, folder, how = sys.argv[1:]
model = numpy.zeros(50, "float32")
peer = tessera.Peer(model, roster=roster, key=key, folder=folder, topology="ring", protocol="dpsgd:rounds=12",
                    gather="0s", say=None)
print("begun", flush=True)
if how == "forgotten":
    sys.exit(0)
if how == "fork":
    import os
    child = os.fork()
    if child == 0:
        sys.exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit(0)
try:
    peer.exchange()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


class Processes(unittest.TestCase):
    def start(self, net, how):
        return subprocess.Popen([sys.executable, "-B", "-c", SCRIPT, net.roster, f"{net.folder}/n0.key",
                                 f"{net.folder}/n0", how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_a_script_that_forgets_its_peer_ends(self):
        with live.network(2) as net:
            out, err = self.start(net, "forgotten").communicate(timeout=live.DEADLINE)
            self.assertEqual((out, err), ("begun\n", ""))
            self.assertTrue(os.listdir(f"{net.folder}/n0/checkpoint"))

    def test_a_forked_child_ends_without_it(self):
        with live.network(2) as net:
            out, err = self.start(net, "fork").communicate(timeout=live.DEADLINE)
            self.assertEqual((out, err), ("begun\n5\n", ""))

    def test_ctrl_c_while_it_waits(self):
        with live.network(2) as net:
            process = self.start(net, "waits")
            self.assertEqual(process.stdout.readline(), "begun\n")
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=live.DEADLINE)
            self.assertEqual(out, "interrupted\n")
            self.assertIn("KeyboardInterrupt", err)
            self.assertTrue(os.listdir(f"{net.folder}/n0/checkpoint"))


if __name__ == "__main__":
    unittest.main()
