"""The contract of modes (tests/modes/contract_modes.c), built as a shared library and called row by row."""

import ctypes
import os
import pathlib
import subprocess

import numpy

import fixed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ("bench/accuracy/contract_rows.c", "tests/modes/contract_modes.c", "tests/contract.c")
MODES = {"exact": 0, "bf16": 1, "int8": 2}
FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC", "-I.", "-Iinclude", "-Itests")


def fma_flags():
    """On x86-64 fmaf() is a slow function unless the compiler may use the instruction; the results are the same."""
    cpu = pathlib.Path("/proc/cpuinfo")
    return ("-mfma",) if cpu.exists() and " fma " in cpu.read_text() else ()


def build(place):
    """Compiles the contract into the folder `place`."""
    library = pathlib.Path(place) / "libcontract_rows.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, *FLAGS, *fma_flags(), *SOURCES, "-lm", "-o", str(library.resolve())], cwd=ROOT, check=True)
    return Contract(library)


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


def f32(array):
    return None if array is None else numpy.ascontiguousarray(array, numpy.float32)


class Contract:
    def __init__(self, library):
        self.rows = ctypes.CDLL(str(pathlib.Path(library).resolve())).contract_rows
        self.rows.restype = None
        self.rows.argtypes = [ctypes.c_int] * 2 + [ctypes.c_int64] * 3 + [ctypes.c_double] + [ctypes.c_void_p] * 8

    def attend(self, scores, values, head, key_centre=None, key_scale=None, value_scale=None, turn=False):
        """Rows of `head` (reference.Head). With fixed vectors, K and V are divided as a caller would. A caller who turns
        Q and K by a Hadamard matrix moves and scales them, too."""
        q, k = head.q, head.k if key_scale is None else head.k / key_scale
        v = head.v if value_scale is None else head.v / value_scale
        if key_centre is not None and key_scale is not None:
            key_centre = key_centre / key_scale
        if turn:
            q, k = q if key_scale is None else q * key_scale, k if key_centre is None else k - key_centre
            q, k = (x @ fixed.hadamard(q.shape[1]) for x in (q, k))
            key_centre = key_scale = None
        q, k, v, key_centre, key_scale, value_scale = map(f32, (q, k, v, key_centre, key_scale, value_scale))
        last = numpy.ascontiguousarray(head.last, numpy.int64)
        out = numpy.empty_like(q)
        self.rows(MODES[scores], MODES[values], len(q), len(k), q.shape[1], head.scale,
                  *map(pointer, (q, last, k, v, key_centre, key_scale, value_scale, out)))
        return out
