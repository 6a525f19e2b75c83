"""Protocols written in Python: the built-in one's bits, checkpoints, and what goes wrong."""

import json
import tempfile
import unittest

import numpy

import live
import tessera
from tessera import kernels
from test_own_sharing import LINES, TopK, run, simulation
from test_peer import Pull, pulled


class DPsgd(tessera.Protocol):
    """protocol="dpsgd:rounds=20"."""

    rounds = 20

    def __init__(self):
        self.told, self.heard = False, {}  # By round and sender.

    def on_start(self, node):
        if self.rounds_done == self.rounds:
            node.finish()
        elif not self.told:
            node.train()
        else:
            self.average_if_all_heard(node)

    def on_trained(self, node):
        peers = node.peers(self.rounds_done)
        node.send(node.pack(), peers, round=self.rounds_done, degree=len(peers))
        self.told = True
        self.average_if_all_heard(node)

    def on_share(self, node, share):
        if share.round < self.rounds_done:
            return node.refuse(share.sender, "late")
        self.heard[share.round, share.sender] = share
        self.average_if_all_heard(node)

    def average_if_all_heard(self, node):
        peers = node.peers(self.rounds_done)
        if not self.told or any((self.rounds_done, peer) not in self.heard for peer in peers):
            return
        shares = [self.heard.pop((self.rounds_done, peer)) for peer in peers]
        node.merge([(1 / (max(len(peers), share.degree) + 1), share) for share in shares])
        self.rounds_done, self.told = self.rounds_done + 1, False
        node.finish() if self.rounds_done == self.rounds else node.train()

    def state(self):
        kept = [(*key, bytes(share).hex()) for key, share in self.heard.items()]
        return json.dumps([self.rounds_done, self.told, kept]).encode()

    def set_state(self, state):
        self.rounds_done, self.told, kept = json.loads(state)
        self.heard = {(turn, sender): tessera.Share.from_bytes(bytes.fromhex(saved)) for turn, sender, saved in kept}


class Gossip(tessera.Protocol):
    """Averages with whoever told last, and waits for nobody."""

    synchronous, waits_for_ever, rounds = False, False, 20

    def __init__(self):
        self.newest, self.woken = {}, 0

    def on_start(self, node):
        node.wake_after(0.5)
        node.train()

    def on_wake(self, node):
        self.woken = node.now

    def on_trained(self, node):
        assert self.woken == 0.5, self.woken
        peers = node.peers()
        node.send(node.pack(), [peers[node.seed(self.rounds_done) % len(peers)]], own=b"gossip")
        node.merge([(1 / (len(self.newest) + 1), self.newest[peer]) for peer in sorted(self.newest)])
        self.newest.clear()
        self.rounds_done += 1
        node.finish() if self.rounds_done == self.rounds else node.train()

    def on_share(self, node, share):
        assert share.sender in node.peers() and len(share.values) == 50 and share.own == b"gossip"
        self.newest[share.sender] = share


class OwnProtocol(unittest.TestCase):
    def test_the_built_in_ones_bits(self):
        for more in ({}, {"sharing": "jwins"}, {"sharing": TopK}, {"topology": "regular:degree=3", "threads": 4},
                     {"topology": "regular:degree=4,redraw=yes"}, {"merge": "every:rounds=7"},
                     {"network": "links:up=1kB/s", "compute": "constant:round=1s,noise=0.2"}):
            with self.subTest(**more):
                (ours, our_digest), (theirs, their_digest) = run(protocol=DPsgd, **more), run(**more)
                self.assertEqual(our_digest, their_digest)
                for figure in ("bytes_sent_per_node", "loss", "virtual_seconds"):
                    self.assertEqual(ours[figure], theirs[figure])

    def test_without_rounds_in_common(self):
        summary, digest = run(protocol=Gossip, evaluate="every=5s", threads=2)
        self.assertLess(summary["loss"], 2)
        self.assertEqual(digest, run(protocol=Gossip, evaluate="every=5s", threads=1)[1])

    def test_it_survives_a_checkpoint(self):
        whole = run()[1]
        with tempfile.TemporaryDirectory() as folder:
            # Paces differ, so that the checkpoint has shares that are waited with.
            pace = dict(compute="constant:round=1s,noise=0.5", protocol=DPsgd)
            first = simulation(out=f"{folder}/run", **pace)
            for _ in first:
                break
            del first
            again = simulation(out=f"{folder}/run", existing="resume", **pace)
            again.run()
            self.assertEqual(again.digest, whole)

    def test_live(self):
        with live.network(4) as net:
            lines = LINES | dict(nodes=4, protocol=DPsgd)

            def loop(node):
                if node == 1:
                    pulled(net, node, rounds_max=5, lines=lines)
                return pulled(net, node, lines=lines)

            self.assertEqual(kernels.digest(net.on_threads(loop)), run(nodes=4)[1])

    def test_what_goes_wrong(self):
        def starts(act, **more):
            return type("Wrong", (DPsgd,), {"on_start": lambda self, node: act(self, node)} | more)

        kept = []

        def twice(self, node):
            node.train()
            node.train()

        def counts(done):
            def act(self, node):
                self.rounds_done = done
            return act

        for act, kind, words in ((twice, RuntimeError, "trains already"), (counts(21), ValueError, "from 0 to 21"),
                                 (lambda self, node: node.send(node.pack(), [8]), ValueError, "cannot tell node 8"),
                                 (lambda self, node: node.send(node.pack(), [node.id]), ValueError, "cannot tell"),
                                 (lambda self, node: node.send(node.pack(), [], own=bytes(256)), ValueError, "256 "),
                                 (lambda self, node: node.merge([(0.5, node.pack())]), ValueError, "that were heard"),
                                 (lambda self, node: node.wake_after(-1), ValueError, "is no time"),
                                 (lambda self, node: kept.append(node) or kept[0].train(), RuntimeError, "hooks runs"),
                                 (lambda self, node: tessera.Share.from_bytes(b""), ValueError, "set_state"),
                                 (lambda self, node: {}["its own"], KeyError, "its own")):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                run(protocol=starts(act), threads=1)
        with self.assertRaisesRegex(RuntimeError, "wait"):
            run(protocol=starts(lambda self, node: None))
        for lines, words in ((dict(protocol=type("Endless", (DPsgd,), {"rounds": 0})), "no `rounds`"),
                             (dict(protocol=DPsgd, sharing="choco"), "choco"), (dict(protocol=3), "a text, a class"),
                             (dict(protocol=DPsgd, sharing="fragments"), "pieces|fragments")):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                run(**lines)

    def test_shares_in_a_checkpoint_are_looked_at(self):
        heard = []

        class Hears(DPsgd):
            def on_share(self, node, share):
                heard.append(bytes(share))
                super().on_share(node, share)

        class Reads(DPsgd):
            def set_state(self, state):
                super().set_state(state)
                tessera.Share.from_bytes(self.saved)

        class Shorter(Pull):
            initial = numpy.zeros(40, "float32")

        run(protocol=Hears)
        for saved, learner, kind, words in ((heard[0], Pull, None, ""),
                                            (heard[0][:-1], Pull, ValueError, "not the bytes"),
                                            (heard[0], Shorter, RuntimeError, "a saved share is not for this model")):
            Reads.saved = saved
            with tempfile.TemporaryDirectory() as folder, self.subTest(words):
                lines = LINES | dict(learner=learner(), protocol=Reads, out=f"{folder}/run")
                rows = iter(tessera.Simulation(**lines))
                next(rows)
                rows.close()
                again = tessera.Simulation(**lines, existing="resume")
                if kind is None:
                    again.run()
                else:
                    self.assertRaisesRegex(kind, words, again.run)


if __name__ == "__main__":
    unittest.main()
