"""Builds the wheel: the package, its compiled half and the program, by CMake. Needs what scripts/setup.sh installs, and
neither LibTorch nor the network:

    pip install --no-build-isolation .

TESSERA_BUILD=DIR takes what an earlier CMake build made instead of building again.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        root = Path(__file__).parent.resolve()
        built = os.environ.get("TESSERA_BUILD")
        if built is None:
            built = Path(self.build_temp).resolve()
            subprocess.run(["cmake", "-S", root, "-B", built, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                            "-DTESSERA_TORCH=OFF", "-DTESSERA_TESTS=OFF", "-DTESSERA_PYTHON=ON",
                            f"-DPython3_EXECUTABLE={sys.executable}"], check=True)
            subprocess.run(["cmake", "--build", built, "--target", "tessera", "tessera_python_module"], check=True)
        target = Path(self.get_ext_fullpath(extension.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        module = next(Path(built, "python", "tessera").glob("_tessera.*.so"))
        shutil.copy2(module, target)
        shutil.copy2(Path(built, "src", "cli", "tessera"), target.parent / "tessera-program")


setup(
    package_dir={"": "python"},
    packages=["tessera"],
    package_data={"tessera": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("tessera._tessera", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
