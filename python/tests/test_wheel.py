"""The wheel, made from a finished build and installed elsewhere: the package and the program are in it."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.path.join(os.path.dirname(os.environ["TESSERA_PROGRAM"]), "..", ".."))
HAS_PIP = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0


class Wheel(unittest.TestCase):
    @unittest.skipUnless(HAS_PIP, "pip is missing: install python3-pip")
    def test_installs_offline(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
            shutil.copytree(os.path.join(ROOT, "python"), os.path.join(source, "python"))
            for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
                shutil.copy(os.path.join(ROOT, name), source)
            flags = ["--no-build-isolation", "--no-deps", "--no-index", "--quiet", f"--target={target}"]
            environment = os.environ | {"TESSERA_BUILD": BUILD, "PIP_ROOT_USER_ACTION": "ignore",
                                        "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            subprocess.run([sys.executable, "-m", "pip", "install", *flags, source], check=True, env=environment)
            environment["PYTHONPATH"] = target
            program = os.path.join(target, "bin", "tessera")
            version = subprocess.run([program, "--version"], check=True, env=environment, capture_output=True, text=True)
            self.assertEqual(version.stdout, "0.1.0\n")
            subprocess.run([sys.executable, "-c", "import tessera; tessera.Simulation(model='quadratic', nodes=4,"
                            "topology='ring', protocol='dpsgd:rounds=2').run()"], check=True, env=environment)


if __name__ == "__main__":
    unittest.main()
