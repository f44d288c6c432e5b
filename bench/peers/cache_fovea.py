"""Fovea over caches in pages, through the functions of cache_calls.c: keys in rows, and in panels."""

import ctypes
import os

import numpy

import problems
from cache_problems import Shared
from peer_fovea import VERSION, ErrorStruct, aligned  # noqa: F401 (VERSION is asked for)

WAYS = ("rows", "panels")
c_int, c_int64, c_void_p, c_char_p = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p


def load_library():
    library = ctypes.CDLL(os.environ["FOVEA_CACHE_CALLS"])
    library.cache_has_panels.argtypes = [c_char_p, c_int64]
    library.cache_store_begin.restype = library.cache_call_begin.restype = c_void_p
    library.cache_store_begin.argtypes = [c_char_p] + [c_int64] * 5 + [c_void_p, c_int] + [c_void_p] * 3
    library.cache_call_begin.argtypes = [c_void_p, c_int64, c_int64, c_int, c_char_p] + [c_int] * 3 + [c_void_p] * 3
    library.cache_call_run.argtypes = [c_void_p] * 2
    library.cache_products.restype = c_char_p
    library.cache_products.argtypes = [c_int, c_int, c_void_p]
    for name in ("cache_store_end", "cache_call_end"):
        getattr(library, name).restype = None
        getattr(library, name).argtypes = [c_void_p]
    return library


LIBRARY = load_library()
SHARED = Shared()


class Store:
    """A cache; it copies K and V."""

    def __init__(self, problem, k, v, in_panels):
        k, v, table = (numpy.ascontiguousarray(array) for array in (k, v, problem.table()))
        failure = ErrorStruct()
        self.pointer = LIBRARY.cache_store_begin(
            problem.type.encode(), problem.batch, problem.kv_heads, problem.keys, problem.dim, problem.page_rows,
            table.ctypes.data, in_panels, k.ctypes.data, v.ctypes.data, ctypes.byref(failure))
        if not self.pointer:
            raise RuntimeError(failure.text.decode())

    def __del__(self):
        if self.pointer:
            LIBRARY.cache_store_end(self.pointer)


class Solver:
    def __init__(self, problem, q, store, threads, mode=0, on_amx=False):
        self.store = store
        self.q = aligned(q.nbytes).view(q.dtype).reshape(q.shape)
        self.q[:] = q
        self.o = aligned(q.nbytes).view(q.dtype).reshape(q.shape)
        self.failure = ErrorStruct()
        self.pointer = LIBRARY.cache_call_begin(
            store.pointer, problem.heads, problem.rows, problem.rule == problems.CAUSAL, problem.queries.encode(),
            mode, on_amx, threads, self.q.ctypes.data, self.o.ctypes.data, ctypes.byref(self.failure))
        if not self.pointer:
            raise RuntimeError(self.failure.text.decode())
        self.arguments = self.pointer, ctypes.byref(self.failure)

    def run(self):
        if LIBRARY.cache_call_run(*self.arguments):
            raise RuntimeError(self.failure.text.decode())

    def output(self):
        return problems.widened(self.o)

    def __del__(self):
        if self.pointer:
            LIBRARY.cache_call_end(self.pointer)


def kept(in_panels):
    def build(problem, q, k, v, threads):
        store = SHARED.get((problem, in_panels), lambda: Store(problem, k, v, in_panels))
        return Solver(problem, q, store, threads)
    return build


def options(way, problem):
    """Panels take formats whose scales lie apart."""
    in_panels = way == "panels"
    if in_panels and not LIBRARY.cache_has_panels(problem.type.encode(), problem.dim):
        return {}
    return {problem.type: kept(in_panels)}
