"""tessera.Simulation: the program's digests from Python, learners of one's own, and what goes wrong."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import unittest

import numpy

import tessera

LINES = dict(nodes=8, model="logistic", data="synthetic:samples=400,test=100", protocol="dpsgd:rounds=6",
             evaluate="every=2", topology="ring", sharing="jwins")


class Pull(tessera.Learner):
    """Every node pulls its model towards a point of its own."""

    def __init__(self, fail_at=None, interrupt_at=None):
        self.initial = numpy.zeros(50, "float32")
        self.calls, self.fail_at, self.interrupt_at = 0, fail_at, interrupt_at

    def train(self, models, nodes, seeds):
        self.calls += 1
        if self.calls == self.fail_at:
            raise KeyError("the learner's own")
        if self.calls == self.interrupt_at:
            os.kill(os.getpid(), signal.SIGINT)
        for model, node, seed in zip(models, nodes, seeds):
            model += 0.1 * (node - model) + 0.001 * numpy.random.default_rng(seed).standard_normal(50)
        return [0.0] * len(models)

    def evaluate(self, models, nodes):
        return [(0.0, float(abs(model - 3.5).mean())) for model in models]

    def state(self):
        return str(self.calls).encode()

    def set_state(self, state):
        self.calls = int(state)


def pulled(**more):
    lines = dict(nodes=8, topology="ring", protocol="dpsgd:rounds=30", evaluate="every=5", sharing="jwins:budget=0.5")
    return tessera.Simulation(**(lines | more))


class BuiltIn(unittest.TestCase):
    def test_the_programs_digest(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = [f"--{key}={value}" for key, value in LINES.items()]
            subprocess.run([os.environ["TESSERA_PROGRAM"], "sim", *flags, "--quiet", f"--out={folder}/run"],
                           check=True, capture_output=True)
            with open(f"{folder}/run/summary.json") as file:
                theirs = json.load(file)
            with open(f"{folder}/run/metrics.jsonl") as file:
                rows = [json.loads(line) for line in file]
        run = tessera.Simulation(**LINES)
        self.assertEqual(list(run), rows)
        self.assertEqual(run.summary()["model_digest"], theirs["model_digest"])
        self.assertEqual(f"{run.digest:016x}", theirs["model_digest"])
        ours = run.summary()["made"]
        for key in ("version", "commit", "host"):
            self.assertEqual(ours[key], theirs["made"][key])
        self.assertEqual(ours["version"], tessera.__version__)

    def test_a_file_and_a_keyword_over_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "e.toml")
            with open(path, "w") as file:
                file.write('nodes = 4\nmodel = "quadratic"\nprotocol = "dpsgd:rounds=3"\ntopology = "ring"\n')
            run = tessera.Simulation(path, nodes=5)
            run.run()
            self.assertEqual((run.nodes, run.rounds_done), (5, 3))

    def test_wrong_words_raise(self):
        for wrong, words in (({"sharing": "jwin"}, "jwins"), ({"nodes": "many"}, "many"), ({"node": 3}, "no line"),
                             ({"protocol": "divshare", "sharing": "choco"}, "choco")):
            with self.assertRaisesRegex(ValueError, words):
                tessera.Simulation(**(LINES | wrong))
        with self.assertRaisesRegex(ValueError, "brings its model"):
            tessera.Simulation(learner=Pull(), model="logistic")

    def test_models_and_their_mean(self):
        run = tessera.Simulation(**LINES)
        run.run()
        models = [run.model(node) for node in range(8)]
        numpy.testing.assert_allclose(run.merged_model(), numpy.mean(models, axis=0), atol=1e-6)
        with self.assertRaises(ValueError):
            run.model(8)

    def test_two_at_once_and_threads(self):
        digests = []

        def simulate():
            run = tessera.Simulation(**LINES)
            run.run()
            digests.append(run.digest)

        threads = [threading.Thread(target=simulate) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(digests)), 1)
        self.assertEqual(len(digests), 3)

    def test_folder_report_and_table(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = []
            for sharing in ("full", "jwins"):
                runs.append(tessera.Simulation(**(LINES | {"sharing": sharing}), out=f"{folder}/{sharing}"))
                runs[-1].run()
            self.assertIn("jwins", runs[0].compare(runs[1]))
            page = runs[0].report(f"{folder}/page.html")
            with open(page) as file:
                self.assertIn("<html", file.read())
            with self.assertRaisesRegex(ValueError, "is there already|holds a run|resume|overwrite"):
                tessera.Simulation(**LINES, out=f"{folder}/jwins")


class OwnLearner(unittest.TestCase):
    def test_learns_what_none_knows_alone(self):
        run = pulled(learner=Pull())
        last = list(run)[-1]
        self.assertLess(last["loss"], 1.5)  # Alone a node ends 2 from the middle, on average.

    def test_an_exception_comes_out_and_the_run_goes_on_later(self):
        whole = pulled(learner=Pull())
        whole.run()
        with tempfile.TemporaryDirectory() as folder:
            run = pulled(learner=Pull(fail_at=17), out=f"{folder}/run")
            rows = 0
            with self.assertRaisesRegex(KeyError, "the learner's own"):
                for _ in run:
                    rows += 1
                    run.checkpoint()
            self.assertEqual(rows, 3)  # After rounds 5, 10 and 15.
            del run
            again = pulled(learner=Pull(), out=f"{folder}/run", existing="resume")
            again.run()
            self.assertEqual(again.digest, whole.digest)

    def test_ctrl_c_saves_and_raises(self):
        whole = pulled(learner=Pull())
        whole.run()
        with tempfile.TemporaryDirectory() as folder:
            run = pulled(learner=Pull(interrupt_at=12), out=f"{folder}/run")
            with self.assertRaises(KeyboardInterrupt):
                run.run()
            del run
            again = pulled(learner=Pull(), out=f"{folder}/run", existing="resume")
            again.run()
            self.assertEqual(again.digest, whole.digest)

    def test_a_loop_that_is_left_can_be_taken_up_again(self):
        whole = pulled(learner=Pull())
        whole.run()
        with tempfile.TemporaryDirectory() as folder:
            run = pulled(learner=Pull(), out=f"{folder}/run")
            for _ in run:
                break
            run.run()
            self.assertEqual(run.digest, whole.digest)
            self.assertEqual(run.rows, whole.rows)
            with open(f"{folder}/run/metrics.jsonl") as file:
                self.assertEqual([json.loads(line) for line in file], whole.rows)

    def test_a_run_is_made_longer(self):
        whole = pulled(learner=Pull())
        whole.run()
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/run"
            pulled(learner=Pull(), protocol="dpsgd:rounds=12", out=out, keep=True).run()
            longer = pulled(learner=Pull(), out=out, existing="resume", keep=True)
            longer.run()
            self.assertEqual(longer.digest, whole.digest)
            with open(f"{out}/metrics.jsonl") as file:
                self.assertEqual([json.loads(line) for line in file], whole.rows)
            with open(f"{out}/config.toml") as file:
                self.assertIn("rounds=30", file.read())
            with self.assertRaisesRegex(ValueError, "ends sooner|shorter|sooner"):
                pulled(learner=Pull(), protocol="dpsgd:rounds=20", out=out, existing="resume")

    def test_a_run_that_is_over_ends_there_on_another_device_too(self):
        lines = dict(LINES, model="mlp:hidden=16", data="synthetic:classes=4,samples=400")
        with tempfile.TemporaryDirectory() as folder:
            first = tessera.Simulation(**lines, out=f"{folder}/run")
            first.run()
            again = tessera.Simulation(**dict(lines, device="cpu:chunk=3"), out=f"{folder}/run", existing="resume")
            again.run()
            self.assertEqual(again.digest, first.digest)

    def test_a_run_that_kept_nothing_cannot_be_made_longer(self):
        with tempfile.TemporaryDirectory() as folder:
            pulled(learner=Pull(), protocol="dpsgd:rounds=12", out=f"{folder}/run").run()
            with self.assertRaisesRegex(ValueError, "keep=True"):
                pulled(learner=Pull(), out=f"{folder}/run", existing="resume")

    def test_wrong_results_are_named(self):
        class Short(Pull):
            def train(self, models, nodes, seeds):
                return [0.0]

        with self.assertRaisesRegex(ValueError, "train gave 1 results for 8 models"):
            pulled(learner=Short()).run()


if __name__ == "__main__":
    unittest.main()
