"""ggml's GGML_OP_MUL_MAT on the CPU over quantised weights, as llama.cpp runs it: over weights as they are given, and in
each layout that ggml has for this CPU (its extra buffer types, whose weights lie in another order for vectors or AMX). It
rounds x to 8 bits, with a scale for each 32 or 256 dims."""

import ctypes
import os
import sys

import numpy

import cache_problems
import layer_problems
from cache_ggml import BASE, CPU, HEADS_FIRST, TYPES, VERSION, Context, Graph  # noqa: F401 (VERSION is asked for)
from layer_problems import LINEAR, ROW

WAYS = ("layers",)
c_bool, c_char_p, c_int, c_int64, c_size_t, c_void_p = (
    ctypes.c_bool, ctypes.c_char_p, ctypes.c_int, ctypes.c_int64, ctypes.c_size_t, ctypes.c_void_p)
OF_TENSOR = 1 << 15  # bytes beside its numbers, of alignment and description


def declare(library, name, result, *arguments):
    getattr(library, name).restype, getattr(library, name).argtypes = result, arguments


declare(BASE, "ggml_new_tensor_2d", c_void_p, c_void_p, c_int, c_int64, c_int64)
declare(BASE, "ggml_mul_mat", c_void_p, c_void_p, c_void_p, c_void_p)
declare(BASE, "ggml_backend_alloc_ctx_tensors_from_buft", c_void_p, c_void_p, c_void_p)
declare(BASE, "ggml_backend_buffer_free", None, c_void_p)
declare(BASE, "ggml_backend_buft_name", c_char_p, c_void_p)
declare(BASE, "ggml_backend_dev_supports_op", c_bool, c_void_p, c_void_p)
declare(BASE, "ggml_backend_reg_dev_get", c_void_p, c_void_p, c_size_t)
declare(BASE, "ggml_backend_reg_get_proc_address", c_void_p, c_void_p, c_char_p)
declare(BASE, "ggml_backend_tensor_set", None, c_void_p, c_void_p, c_size_t, c_size_t)
declare(CPU, "ggml_backend_cpu_reg", c_void_p)
REGISTRY = CPU.ggml_backend_cpu_reg()
DEVICE = BASE.ggml_backend_reg_dev_get(REGISTRY, 0)
SHARED = cache_problems.Shared()


class Weights:
    """Of layers: `stored` (out, bytes) in the plain memory of a context."""

    def __init__(self, stored, format_name, count):
        self.context = Context(count * (stored.nbytes + OF_TENSOR))
        self.tensors = [self.context.tensor(format_name, stored[None, None], HEADS_FIRST) for _ in range(count)]


class LaidOutWeights:
    """The same in a buffer type."""

    def __init__(self, stored, format_name, count, kind, ins):
        self.buffer = None
        self.context = Context(count * OF_TENSOR, elsewhere=True)
        self.tensors = [BASE.ggml_new_tensor_2d(self.context.pointer, TYPES[format_name], ins, len(stored))
                        for _ in range(count)]
        self.buffer = BASE.ggml_backend_alloc_ctx_tensors_from_buft(self.context.pointer, kind)
        # ggml would end the process over weights that the layout does not take.
        x = BASE.ggml_new_tensor_2d(self.context.pointer, TYPES["f32"], ins, 1)
        product = BASE.ggml_mul_mat(self.context.pointer, self.tensors[0], x)
        if not self.buffer or not BASE.ggml_backend_dev_supports_op(DEVICE, product):
            raise NotImplementedError("no such layout of this format")
        stored = numpy.ascontiguousarray(stored)
        for tensor in self.tensors:
            BASE.ggml_backend_tensor_set(tensor, stored.ctypes.data, 0, stored.nbytes)

    def __del__(self):
        if self.buffer:
            BASE.ggml_backend_buffer_free(self.buffer)


class Solver:
    """x through each of the layers."""

    def __init__(self, x, weights, outs, threads):
        self.shape, self.layers, self.weights = (len(x), outs), len(weights.tensors), weights
        self.context = Context(x.nbytes + self.layers * (4 * len(x) * outs + OF_TENSOR))
        rows = self.context.tensor("f32", x[None, None], HEADS_FIRST)
        self.graph = Graph(self.context, [BASE.ggml_mul_mat(self.context.pointer, w, rows) for w in weights.tensors], threads)

    def run(self):
        self.graph.run()

    def output(self):
        return self.graph.output(0, self.shape[0] * self.shape[1]).reshape(self.shape)


# ---- Layouts ------------------------------------------------------------------------------------------------------


def extra_layouts():
    """Buffer types by name."""
    address = BASE.ggml_backend_reg_get_proc_address(REGISTRY, b"ggml_backend_dev_get_extra_bufts")
    kinds = ctypes.CFUNCTYPE(ctypes.POINTER(c_void_p), c_void_p)(address)(DEVICE) if address else None
    found, place = {}, 0
    while kinds and kinds[place]:
        found[BASE.ggml_backend_buft_name(kinds[place]).decode()] = kinds[place]
        place += 1
    return found


def works(name, kind):
    """Tries a small product in a process of its own: compiled by gcc before 13, ggml's AMX ends the process."""
    child = os.fork()
    if child == 0:
        numbers = numpy.ones((64, 256), dtype=numpy.float32)
        try:
            stored = cache_problems.narrowed(numbers, "q8_0")
            Solver(numbers, LaidOutWeights(stored, "q8_0", 1, kind, 256), 64, 1).run()
        except NotImplementedError:  # of this format
            pass
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        return True
    print(f"ggml's layout {name} is left out: it ends the process here", file=sys.stderr)
    return False


# None stands for weights as they are given. Tried before anything runs on threads.
LAYOUTS = {"as given": None} | {name: kind for name, kind in extra_layouts().items() if works(name, kind)}


def laid_out(kind):
    def build(problem, x, weights, threads):
        _, ins, outs = problem.linear
        format_name = problem.type if problem.kind == ROW else "q8_0"

        def make():
            stored = weights if problem.kind == ROW else cache_problems.narrowed(weights, format_name)
            count = layer_problems.copies(stored.nbytes) if problem.kind == ROW else 1
            return LaidOutWeights(stored, format_name, count, kind, ins) if kind else Weights(stored, format_name, count)

        return Solver(x, SHARED.get((problem, kind), make), outs, threads)

    return build


def options(way, problem):
    if problem.kind != ROW and (problem.kind, problem.type) != (LINEAR, "int8"):
        return {}
    return {name: laid_out(kind) for name, kind in LAYOUTS.items()}
