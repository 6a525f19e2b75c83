"""The stubs name what the compiled module has, and everything public says what it is for."""

import ast
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import tessera
from tessera import _tessera, kernels

PACKAGE = os.path.dirname(os.path.abspath(tessera.__file__))
MYPY = shutil.which("mypy")
LIVE_ONLY = {"LivePeer", "make_roster", "members_of", "node_keys"}  # Where ZeroMQ is missing.

USE = """
import numpy
import tessera
from tessera import kernels

run = tessera.Simulation(nodes=4, model="quadratic", protocol="dpsgd:rounds=2")
for row in run:
    print(row["accuracy"])
digest: int = run.digest
coefficients = kernels.wavelet_forward(numpy.zeros(8, numpy.float32))
chosen = kernels.select_largest(coefficients, 2)
reveal_type(chosen)
"""


def in_stub():
    """Names of the stub: of functions None, of classes the set of their members."""
    with open(os.path.join(PACKAGE, "_tessera.pyi")) as file:
        names = {}
        for node in ast.parse(file.read()).body:
            if isinstance(node, ast.FunctionDef):
                names[node.name] = None
            elif isinstance(node, ast.ClassDef):
                names[node.name] = {each.name for each in node.body} - {"__init__", "__bytes__"}
        return names


def in_module():
    def members(value):
        return {name for name in vars(value) if not name.startswith("_")} if inspect.isclass(value) else None

    return {name: members(value) for name, value in vars(_tessera).items() if not name.startswith("_")}


def checked(source):
    """What mypy says of a script. It takes half a minute to read torch, which nothing here is about."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("use.py", source), ("mypy.ini", "[mypy]\nignore_missing_imports = True\n"
                                                "[mypy-torch.*]\nfollow_imports = skip\n")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        flags = ["--cache-dir=/dev/null", f"--python-executable={sys.executable}"]
        return subprocess.run([MYPY, *flags, "use.py"], capture_output=True, text=True, cwd=folder,
                              env=os.environ | {"MYPYPATH": os.path.dirname(PACKAGE)})


class Stubs(unittest.TestCase):
    def test_name_what_the_module_has(self):
        stub = in_stub()
        if not hasattr(_tessera, "LivePeer"):
            stub = {name: members for name, members in stub.items() if name not in LIVE_ONLY}
        self.assertEqual(stub, in_module())

    def test_give_functions_the_modules_arguments(self):
        with open(os.path.join(PACKAGE, "_tessera.pyi")) as file:
            functions = [node for node in ast.parse(file.read()).body if isinstance(node, ast.FunctionDef)]
        for function in functions:
            documented = (getattr(_tessera, function.name, None).__doc__ or "").partition("\n")[0]
            if "arg0" not in documented and documented:  # pybind11 writes the signature there.
                arguments = [each.partition(":")[0].strip() for each in
                             documented.partition("(")[2].rpartition(")")[0].split(", ") if ":" in each]
                self.assertEqual([each.arg for each in function.args.args], arguments, documented)

    @unittest.skipUnless(MYPY, "mypy is missing: install mypy")
    def test_hold_for_the_package_and_its_use(self):
        said = checked(USE + 'kernels.wavelet_forward("text")\nrun.digest.nothing\n').stdout
        self.assertRegex(said, "ndarray.*unsignedinteger")
        self.assertIn('incompatible type "str"', said)
        self.assertIn('"int" has no attribute "nothing"', said)
        self.assertIn("Found 2 errors in 1 file", said)


class Help(unittest.TestCase):
    def test_everything_public_says_what_it_is_for(self):
        self.assertTrue(os.path.exists(os.path.join(PACKAGE, "py.typed")))
        for module in (tessera, kernels):
            for name in module.__all__:
                value = getattr(module, name)
                with self.subTest(name):
                    self.assertTrue(self.says(value), "no docstring")
                if inspect.isclass(value) and value.__module__ != "tessera._tessera":
                    for member, each in vars(value).items():
                        if not member.startswith("_") and (callable(each) or isinstance(each, property)):
                            with self.subTest(f"{name}.{member}"):
                                self.assertTrue(inspect.getdoc(getattr(value, member)), "no docstring")

    def says(self, value):
        text = inspect.getdoc(value) or ""
        if inspect.isbuiltin(value):  # Below the signature.
            text = text.partition("\n")[2]
        return len(text.strip()) > 20

    def test_help_is_the_reference(self):
        words = inspect.getdoc(tessera.Simulation)
        for argument in list(inspect.signature(tessera.Simulation).parameters)[:-1]:
            self.assertRegex(words, rf"(?m)^{argument} ")


if __name__ == "__main__":
    unittest.main()
