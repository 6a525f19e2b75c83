"""Sharings written in Python: the built-in ones' bits, memory over checkpoints, and what goes wrong."""

import tempfile
import unittest

import numpy

import live
import tessera
from tessera import kernels
from test_peer import Pull, pulled

LINES = dict(nodes=8, topology="ring", protocol="dpsgd:rounds=20", evaluate="every=5")


def simulation(**more):
    return tessera.Simulation(learner=Pull(), **(LINES | more))


def run(**more):
    made = simulation(**more)
    return made.run(), made.digest


class Full(tessera.Sharing):
    def pack(self, model, seed):
        return model

    def merge(self, model, others):
        change = numpy.zeros_like(model)
        for weight, indices, values, sender in others:
            assert indices is None
            change += numpy.float32(weight) * (values - model)
        model += change


class TopK:
    """sharing="topk:budget=0.2", with the changes that are still untold as its memory; inherits from nothing."""

    def start(self, model):
        self.begin, self.told = model, model.copy()

    def pack(self, model, seed):
        chosen = kernels.select_largest(model - self.told, round(0.2 * len(model)))
        self.told[chosen] = self.begin[chosen]
        return chosen, model[chosen]

    def merge(self, model, others):
        change = numpy.zeros_like(model)
        for weight, indices, values, sender in others:
            change[indices] += numpy.float32(weight) * (values - model[indices])
        self.begin = model + change
        return self.begin

    def state(self):
        return self.begin.tobytes() + self.told.tobytes()

    def set_state(self, state):
        self.begin, self.told = numpy.frombuffer(state, "float32").reshape(2, -1).copy()


class Wavelets(tessera.Sharing):
    """Everything, as a wavelet's coefficients, of which there are more than parameters."""

    def start(self, model):
        self.dimension = len(kernels.wavelet_forward(model))

    def pack(self, model, seed):
        return kernels.wavelet_forward(model)

    def merge(self, model, others):
        mean = kernels.wavelet_forward(model)
        kernels.average(mean, [values for _, _, values, _ in others], [weight for weight, *_ in others])
        return kernels.wavelet_inverse(mean, len(model))

    def state(self):
        return str(self.dimension).encode()

    def set_state(self, state):
        self.dimension = int(state)


class OwnSharing(unittest.TestCase):
    def test_the_built_in_ones_bits(self):
        for own, built_in, more in ((Full, "full", {}), (TopK, "topk:budget=0.2", {}),
                                    (TopK, "topk:budget=0.2", {"threads": 4}),
                                    (Full, "full", {"protocol": "epidemic:fanout=2,rounds=20"}),
                                    (Full, "full", {"topology": "regular:degree=4,redraw=yes", "threads": 3}),
                                    (TopK, "topk:budget=0.2", {"protocol": "swift:rounds=20", "evaluate": "every=5s"})):
            with self.subTest(own.__name__, **more):
                (ours, our_digest), (theirs, their_digest) = run(sharing=own, **more), run(sharing=built_in, **more)
                self.assertEqual(our_digest, their_digest)
                self.assertEqual(ours["bytes_sent_per_node"], theirs["bytes_sent_per_node"])

    def test_coefficients(self):
        self.assertLess(run(sharing=Wavelets)[0]["loss"], 2)

    def test_memory_survives_a_checkpoint(self):
        whole = run(sharing=TopK)[1]
        with tempfile.TemporaryDirectory() as folder:
            first = simulation(sharing=TopK, out=f"{folder}/run")
            for _ in first:
                break
            del first
            again = simulation(sharing=TopK, out=f"{folder}/run", existing="resume")
            again.run()
            self.assertEqual(again.digest, whole)

    def test_memory_that_would_be_lost_is_refused(self):
        class Forgetful(Full):
            def start(self, model):
                self.memory = model

        class ForgetfulToo:
            start, pack, merge = Forgetful.start, Full.pack, Full.merge

        for own in (Forgetful, ForgetfulToo):
            with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(ValueError, "state.. and set_state"):
                rows = iter(simulation(sharing=own, out=f"{folder}/run"))
                next(rows)
                rows.close()  # Saves the run.

    def test_an_exception_comes_out(self):
        class Broken(Full):
            def merge(self, model, others):
                raise KeyError("the sharing's own")

        for threads in (1, 4):
            with self.assertRaisesRegex(KeyError, "the sharing's own"):
                run(sharing=Broken, threads=threads)

    def test_wrong_results_are_named(self):
        def packs(told):
            return type("Wrong", (Full,), {"pack": lambda self, model, seed: told(model)})

        two = numpy.arange(2, dtype="uint32")
        for told, words in ((lambda m: m[:-1], "49 values for 50"), (lambda m: m.astype("float64"), "float64"),
                            (lambda m: (two[::-1].copy(), m[:2]), "increase strictly"),
                            (lambda m: None, "the values of pack"), (lambda m: (two + 49, m[:2]), "stay below 50"),
                            (lambda m: (two, m), "50 values for 2"),
                            (lambda m: (two.astype("int64"), m[:2]), "int64")):
            with self.assertRaisesRegex(ValueError, words):
                run(sharing=packs(told))
        shorter = type("Shorter", (Full,), {"merge": lambda self, model, others: model[:-1]})
        with self.assertRaisesRegex(ValueError, "returns 49 values"):
            run(sharing=shorter)

    def test_wrong_lines_are_refused(self):
        for lines, words in ((dict(sharing=3), "a text, a class"),
                             (dict(sharing="python:class=Nobody"), "no such class"),
                             (dict(sharing=Full, rule="median"), "rule of its own"),
                             (dict(sharing=Full, protocol="divshare:fanout=2", evaluate="every=5s"), None)):
            with self.subTest(**lines):
                if words is None:
                    simulation(**lines)
                else:
                    self.assertRaisesRegex(ValueError, words, simulation, **lines)

    def test_live(self):
        with live.network(4) as net:
            lines = LINES | dict(nodes=4, sharing=TopK)

            def loop(node):
                if node == 1:
                    pulled(net, node, rounds_max=5, lines=lines)
                return pulled(net, node, lines=lines)

            self.assertEqual(kernels.digest(net.on_threads(loop)), run(nodes=4, sharing="topk:budget=0.2")[1])

    def test_live_an_exception_comes_out(self):
        class Broken(Full):
            def merge(self, model, others):
                raise KeyError("the sharing's own")

        # With patience: who fails first may be gone before the other was told its share.
        lines = LINES | dict(nodes=2, sharing=Broken, protocol="dpsgd:rounds=20,patience=1s")
        with live.network(2) as net:
            def loop(node):
                with self.assertRaisesRegex(KeyError, "the sharing's own"):
                    pulled(net, node, lines=lines)

            net.on_threads(loop)


if __name__ == "__main__":
    unittest.main()
