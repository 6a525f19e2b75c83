"""Scripts that are written in Python and use the module still run."""

import os
import subprocess
import sys
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


if __name__ == "__main__":
    unittest.main()
