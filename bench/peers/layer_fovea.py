"""Fovea's layers, through the functions of layer_calls.c.

Linear layers of `layers` compute as the problem's type says: bf16 and int8 mode, on AMX if the system permits it, or
exact mode over quantised weights. Beside it are `exact`, exact mode over the weights of a mode, `f32`, exact mode over
the numbers of bf16 tensors in f32, `f16`, exact mode over the numbers of quantised weights in f16, and `int8`, int8 mode
over quantised weights.
"""

import ctypes
import os

import numpy

import layer_problems
import problems
from cache_problems import Shared
from layer_problems import ADDITIVE, EPS, GELU, LINEAR, MINILM, NORMS, ROW, SILU, SOFTMAX
from peer_fovea import TYPES, VERSION, aligned  # noqa: F401 (VERSION is asked for)

WAYS = ("layers", "exact", "f32", "f16", "int8")
ACTIVATIONS = {GELU: 2, SILU: 4}  # fovea_nn_activation
EXACT, MODES = 0, {"bf16": 1, "int8": 2}  # fovea_mode
c_int, c_int64, c_void_p, c_char_p = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p


def load_library():
    library = ctypes.CDLL(os.environ["FOVEA_LAYER_CALLS"])
    library.layer_weights_bytes.restype = c_int64
    library.layer_weights_bytes.argtypes = [c_char_p] + [c_int64] * 2
    library.layer_weights_make.argtypes = [c_char_p] + [c_int64] * 2 + [c_void_p] * 2
    library.layer_linear.argtypes = [c_char_p, c_int, c_int64, c_int64, c_void_p, c_int64, c_int] + [c_void_p] * 2 + [c_int]
    library.layer_activate.argtypes = [c_int] + [c_int64] * 2 + [c_void_p] * 2 + [c_int]
    library.layer_norm.argtypes = [c_int64] * 2 + [ctypes.c_double] + [c_void_p] * 4 + [c_int]
    library.layer_softmax.argtypes = [c_int64] * 2 + [c_void_p] * 2 + [c_int]
    library.layer_additive.argtypes = [c_int64] * 3 + [c_void_p] * 5 + [c_int]
    for name in ("linear", "activate", "norm", "softmax", "additive"):
        getattr(library, f"layer_{name}").restype = c_void_p
    library.layer_run.argtypes = library.layer_free.argtypes = [c_void_p]
    library.layer_free.restype = None
    library.minilm_open.restype = c_void_p
    library.minilm_open.argtypes = [ctypes.c_char_p, c_int64]
    library.minilm_failure.restype = ctypes.c_char_p
    library.minilm_failure.argtypes = [c_void_p]
    library.minilm_take.argtypes = [c_void_p, c_void_p, c_int64, c_int64]
    library.minilm_run.argtypes = [c_void_p, c_int, c_void_p]
    return library


LIBRARY = load_library()
SHARED = Shared()
ON_AMX = LIBRARY.layer_allow_amx()


def zeros(shape, kind=numpy.float32):
    """At a multiple of 64 bytes."""
    return aligned(numpy.dtype(kind).itemsize * int(numpy.prod(shape))).view(kind).reshape(shape)


def copied(array):
    copy = zeros(array.shape, array.dtype)
    copy[:] = array
    return copy


class Model:
    """Calls `function` with `arguments`, which returns 1."""

    def __init__(self, function, arguments, result):
        self.function, self.arguments, self.result = function, arguments, result

    def run(self):
        if self.function(*self.arguments) != 1:
            raise RuntimeError("the call fails")

    def output(self):
        return problems.widened(self.result)


class Solver:
    """Runs the calls that `function` makes of each list of arguments; `kept` is the memory that they point to. Each is
    a layer."""

    calls = ()

    def __init__(self, function, arguments, result, kept):
        self.result, self.kept, self.layers = result, kept, len(arguments)
        self.calls = [function(*each) for each in arguments]
        if not all(self.calls):
            raise RuntimeError("a call cannot be made")

    def __del__(self):
        for call in self.calls:
            LIBRARY.layer_free(call)

    def run(self):
        for call in self.calls:
            if LIBRARY.layer_run(call):
                raise RuntimeError("the call fails")

    def output(self):
        return problems.widened(self.result)


def packed(kind, problem, weights):
    """Weights as Fovea keeps them."""
    _, ins, outs = problem.linear
    weights = numpy.ascontiguousarray(weights)
    memory = aligned(LIBRARY.layer_weights_bytes(kind, ins, outs))
    if LIBRARY.layer_weights_make(kind, ins, outs, weights.ctypes.data, memory.ctypes.data) != 0:
        raise RuntimeError("weights cannot be packed")
    return memory


def linear(mode):
    """x, weights and y are of the problem's type, but of int8, where only the weights are."""

    def build(problem, x, weights, threads):
        rows, ins, outs = problem.linear
        kind, memory = problem.type.encode(), packed(problem.type.encode(), problem, weights)
        x, y = copied(x), zeros((rows, outs), x.dtype)
        arguments = (kind, mode, ins, outs, memory.ctypes.data, rows, TYPES.get(problem.type, TYPES["f32"]), x.ctypes.data,
                     y.ctypes.data, threads)
        return Solver(LIBRARY.layer_linear, [arguments], y, (x, memory))

    return build


def in_f32(problem, x, weights, threads):
    rows, ins, outs = problem.linear
    memory = packed(b"f32", problem, problems.widened(weights))
    x, y = copied(problems.widened(x)), zeros((rows, outs))
    arguments = b"f32", EXACT, ins, outs, memory.ctypes.data, rows, TYPES["f32"], x.ctypes.data, y.ctypes.data, threads
    return Solver(LIBRARY.layer_linear, [arguments], y, (x, memory))


def copies(kind, problem, weights):
    """Weights as Fovea keeps them, one copy for each layer."""
    if kind != problem.type:
        weights = problems.narrowed(layer_problems.numbers(problem, weights), kind)
    first = packed(kind.encode(), problem, weights)
    step = -(-first.size // 64) * 64
    memory = aligned(step * layer_problems.copies(step)).reshape(-1, step)
    memory[:, : first.size] = first
    return memory


def row(kind, mode=EXACT):
    def build(problem, x, weights, threads):
        _, ins, outs = problem.linear
        memory = SHARED.get((problem, kind), lambda: copies(kind, problem, weights))
        x, y = copied(x), zeros((1, outs))
        arguments = [(kind.encode(), mode, ins, outs, place.ctypes.data, 1, TYPES["f32"], x.ctypes.data, y.ctypes.data,
                      threads) for place in memory]
        return Solver(LIBRARY.layer_linear, arguments, y, (x, memory))

    return build


def activate(problem, x, threads):
    x, y = copied(x), zeros(x.shape)
    arguments = ACTIVATIONS[problem.kind], *x.shape, x.ctypes.data, y.ctypes.data, threads
    return Solver(LIBRARY.layer_activate, [arguments], y, x)


def normalise(problem, x, *rest):
    """Of two factors the second is beta; a norm without it is RMSNorm."""
    *factors, threads = rest
    x, y = copied(x), zeros(x.shape)
    gamma, beta = ([copied(factor) for factor in factors] + [None])[:2]
    arguments = (*x.shape, EPS, gamma.ctypes.data, beta.ctypes.data if beta is not None else None, x.ctypes.data,
                 y.ctypes.data, threads)
    return Solver(LIBRARY.layer_norm, [arguments], y, (x, gamma, beta))


def softmax(problem, x, threads):
    x, y = copied(x), zeros(x.shape)
    return Solver(LIBRARY.layer_softmax, [(*x.shape, x.ctypes.data, y.ctypes.data, threads)], y, x)


def additive(problem, q, k, v, w, threads):
    q, k, v, w = (copied(tensor) for tensor in (q, k, v, w))
    o = zeros(q.shape)
    arguments = *problem.sizes, *(tensor.ctypes.data for tensor in (w, q, k, v, o)), threads
    return Solver(LIBRARY.layer_additive, [arguments], o, (q, k, v, w))


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
    vectors = zeros((len(tokens), layer_problems.golden.DIM))
    return Model(LIBRARY.minilm_run, (model, threads, vectors.ctypes.data), vectors)


def options(way, problem):
    if way == "f16":
        return {"panels": row("f16")} if problem.kind == ROW else {}
    if way == "int8":
        return {"codes": row(problem.type, MODES["int8"])} if problem.kind == ROW else {}
    if way == "f32":
        return {"panels": in_f32} if problem.type == "bf16" else {}
    if way == "exact":
        return {"panels" if problem.type == "bf16" else "codes": linear(EXACT)} if problem.type in MODES else {}
    if problem.type in MODES:
        return {"AMX" if ON_AMX else "without AMX": linear(MODES[problem.type])}
    kinds = {LINEAR: linear(EXACT), ROW: row(problem.type), ADDITIVE: additive, MINILM: minilm,
             SOFTMAX: softmax} | dict.fromkeys(NORMS, normalise)
    return {"codes" if problem.kind == ROW else "panels": kinds.get(problem.kind, activate)}
