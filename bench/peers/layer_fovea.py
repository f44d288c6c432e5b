"""Fovea's layers, through the functions of layer_calls.c."""

import ctypes
import os

import numpy

import layer_problems
from layer_problems import ADDITIVE, GELU, LINEAR, MINILM, SILU
from peer_fovea import VERSION, aligned  # noqa: F401 (VERSION is asked for)

WAYS = ("layers",)
ACTIVATIONS = {GELU: 2, SILU: 4}  # fovea_nn_activation
c_int, c_int64, c_void_p = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p


def load_library():
    library = ctypes.CDLL(os.environ["FOVEA_LAYER_CALLS"])
    library.layer_panel_floats.restype = c_int64
    library.layer_panel_floats.argtypes = [c_int64] * 2
    library.layer_pack.argtypes = [c_int64] * 2 + [c_void_p] * 2
    library.layer_linear.argtypes = [c_int64] * 2 + [c_void_p, c_int64] + [c_void_p] * 2 + [c_int]
    library.layer_activate.argtypes = [c_int] + [c_int64] * 2 + [c_void_p] * 2 + [c_int]
    library.layer_additive.argtypes = [c_int64] * 3 + [c_void_p] * 5 + [c_int]
    library.minilm_open.restype = c_void_p
    library.minilm_open.argtypes = [ctypes.c_char_p, c_int64]
    library.minilm_failure.restype = ctypes.c_char_p
    library.minilm_failure.argtypes = [c_void_p]
    library.minilm_take.argtypes = [c_void_p, c_void_p, c_int64, c_int64]
    library.minilm_run.argtypes = [c_void_p, c_int, c_void_p]
    return library


LIBRARY = load_library()


def floats(*shape):
    """Zeros at a multiple of 64 bytes."""
    return aligned(4 * int(numpy.prod(shape))).view(numpy.float32).reshape(shape)


def copied(array):
    copy = floats(*array.shape)
    copy[:] = array
    return copy


class Solver:
    """Calls `function` with `arguments`; `kept` is the memory that they point to. It returns `success`."""

    def __init__(self, function, arguments, result, kept, success=0):
        self.function, self.arguments, self.result, self.kept = function, arguments, result, kept
        self.success = success

    def run(self):
        if self.function(*self.arguments) != self.success:
            raise RuntimeError("the call fails")

    def output(self):
        return self.result


def linear(problem, x, weights, threads):
    rows, ins, outs = problem.sizes
    x, y = copied(x), floats(rows, outs)
    panels = floats(LIBRARY.layer_panel_floats(ins, outs))
    weights = numpy.ascontiguousarray(weights)
    if LIBRARY.layer_pack(ins, outs, weights.ctypes.data, panels.ctypes.data) != 0:
        raise RuntimeError("weights cannot be packed")
    arguments = ins, outs, panels.ctypes.data, rows, x.ctypes.data, y.ctypes.data, threads
    return Solver(LIBRARY.layer_linear, arguments, y, (x, panels))


def activate(problem, x, threads):
    x, y = copied(x), floats(*x.shape)
    arguments = ACTIVATIONS[problem.kind], *x.shape, x.ctypes.data, y.ctypes.data, threads
    return Solver(LIBRARY.layer_activate, arguments, y, x)


def additive(problem, q, k, v, w, threads):
    q, k, v, w = (copied(tensor) for tensor in (q, k, v, w))
    o = floats(*q.shape)
    arguments = *problem.sizes, *(tensor.ctypes.data for tensor in (w, q, k, v, o)), threads
    return Solver(LIBRARY.layer_additive, arguments, o, (q, k, v, w))


MODEL = {}  # read once


def minilm(problem, tokens, threads):
    if not MODEL:
        MODEL["path"] = f"{layer_problems.model_folder()}/model.safetensors".encode()
        MODEL["model"] = LIBRARY.minilm_open(MODEL["path"], 16)
    model = MODEL["model"]
    if LIBRARY.minilm_failure(model):
        raise RuntimeError(LIBRARY.minilm_failure(model).decode())
    tokens = numpy.ascontiguousarray(tokens, dtype=numpy.int32)
    if not LIBRARY.minilm_take(model, tokens.ctypes.data, *tokens.shape):
        raise RuntimeError("too many tokens")
    vectors = floats(len(tokens), layer_problems.golden.DIM)
    return Solver(LIBRARY.minilm_run, (model, threads, vectors.ctypes.data), vectors, None, success=1)


def options(way, problem):
    return {"panels": {LINEAR: linear, ADDITIVE: additive, MINILM: minilm}.get(problem.kind, activate)}
