"""tessera.Peer when something is wrong: with what it is told, with its peers, its loop or its process."""

import os
import signal
import subprocess
import sys
import time
import unittest

import numpy

import live
import tessera
from tessera import kernels
from test_peer import LINES, Pull, pull, pulled, simulated


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
