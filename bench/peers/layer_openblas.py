"""OpenBLAS, as NumPy carries it: linear layers in f32. It has no packed weights, and chooses its kernel by the CPU."""

import ctypes
import pathlib

import numpy

from layer_problems import LINEAR

WAYS = ("layers",)


def load_library():
    """NumPy's own copy, which is loaded already."""
    folder = pathlib.Path(numpy.__file__).resolve().parent.parent / "numpy.libs"
    return ctypes.CDLL(str(next(folder.glob("libscipy_openblas64*.so"))))


LIBRARY = load_library()
LIBRARY.scipy_openblas_get_config64_.restype = ctypes.c_char_p
LIBRARY.scipy_openblas_get_corename64_.restype = ctypes.c_char_p
VERSION = f"{LIBRARY.scipy_openblas_get_config64_().decode().split()[1]} {LIBRARY.scipy_openblas_get_corename64_().decode()}"


class Solver:
    def __init__(self, x, weights, threads):
        self.x, self.weights, self.threads = x, weights, threads
        self.y = numpy.zeros((len(x), weights.shape[1]), dtype=numpy.float32)

    def run(self):
        LIBRARY.scipy_openblas_set_num_threads64_(self.threads)
        numpy.dot(self.x, self.weights, out=self.y)

    def output(self):
        return self.y


def as_stored(problem, x, weights, threads):
    """(out, in), as PyTorch stores weights."""
    return Solver(x, weights.T, threads)


def transposed(problem, x, weights, threads):
    return Solver(x, numpy.ascontiguousarray(weights.T), threads)


def options(way, problem):
    return {"as stored": as_stored, "transposed": transposed} if (problem.kind, problem.type) == (LINEAR, "f32") else {}
