"""Scripts that are written in Python and use the module still run."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Scripts(unittest.TestCase):
    @unittest.skipIf(torch is None, "torch is missing: install python3-torch")
    def test_python_gpu_runs_without_one(self):
        script = os.path.join(ROOT, "scripts", "python_gpu.py")
        done = subprocess.run([sys.executable, "-B", script, "--quick", "--device=cpu"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("jwins"), 6)

    def test_bench_runs(self):
        done = subprocess.run([sys.executable, "-B", "-m", "tessera.bench", "--quick"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"forward +[\d.]+ us +[\d.]+ us +[-+]\d+%")
        self.assertIn("us a cohort", done.stdout)

    def test_judge_refuses_a_folder_that_no_experiment_can_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in "a&b", "a#b", "a,b", "a\\b", 'a"b', "a'b":
                done = subprocess.run([os.path.join(ROOT, "scripts", "judge.sh"), "relaysgd", f"{folder}/{name}", "cpu",
                                       f"{folder}/runs"], capture_output=True, text=True, env=os.environ | {"TESSERA": "false"})
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(f"{folder}/{name}: no & # ,", done.stderr)
            self.assertEqual(os.listdir(folder), [])


class Sooner(unittest.TestCase):
    """scripts/sooner.py: where one run ends, and when another is there."""

    def setUp(self):
        scripts = os.path.join(ROOT, "scripts")
        sys.path.insert(0, scripts)  # As for a script that is run: its own folder comes first.
        self.addCleanup(sys.path.remove, scripts)
        spec = importlib.util.spec_from_file_location("sooner", os.path.join(scripts, "sooner.py"))
        self.sooner = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.sooner)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_of(self, name, *rows):
        """The folder of a run whose rows are (round, accuracy, MiB)."""
        lines = [json.dumps({"round": at, "accuracy": accuracy, "bytes_sent_per_node": mib * 2 ** 20})
                 for at, accuracy, mib in rows]
        (self.folder / name).mkdir()
        (self.folder / name / "metrics.jsonl").write_text("\n".join(lines))
        return self.folder / name

    def test_between_two_rows_a_line_is_drawn(self):
        self.assertEqual(self.sooner.reached([(10, 20.0, 1.0), (20, 40.0, 3.0)], 30.0), (15, 2.0))

    def test_before_the_first_row_nothing_is_made_up(self):
        self.assertEqual(self.sooner.reached([(10, 50.0, 1.0), (20, 60.0, 2.0)], 30.0), (10, 1.0))

    def test_what_is_never_reached(self):
        self.assertIsNone(self.sooner.reached([(10, 20.0, 1.0)], 30.0))

    def test_one_that_sends_nothing_is_refused(self):
        slow, fast = self.run_of("slow", (10, 0.5, 1)), self.run_of("fast", (10, 0.6, 0))
        with self.assertRaisesRegex(ValueError, "fast is there in round 10 and has sent nothing"):
            list(self.sooner.compare(slow, fast))

    def test_a_row_without_a_figure_is_named_with_its_file(self):
        slow = self.run_of("slow", (10, 0.5, 1))
        (slow / "metrics.jsonl").write_text('{"round": 10}')
        with self.assertRaisesRegex(ValueError, "metrics.jsonl has a row without 'accuracy'"):
            self.sooner.rows_of(slow)


if __name__ == "__main__":
    unittest.main()
