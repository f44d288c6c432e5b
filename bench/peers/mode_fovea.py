"""Fovea in modes with other arithmetic, over the numbers of a q8_0 cache: as they lie, and as caches of other formats.

Each way names a mode, a cache, and AMX if the mode is to run there. Exact mode, over q8_0, is there to compare with.
"""

import ctypes
from dataclasses import replace

import cache_fovea
import cache_problems
from cache_fovea import LIBRARY, VERSION, ErrorStruct  # noqa: F401 (VERSION is asked for)

MODES = {"exact": 0, "bf16": 1, "int8": 2}
WAYS = ("int8_of_i8_rows", "int8_of_q8_0", "int8_of_f32", "int8_of_i8_rows_on_amx", "int8_of_q8_0_on_amx",
        "int8_of_f32_on_amx", "bf16_of_f32_on_amx", "exact_of_q8_0")


def parts(way):
    """'int8_of_f32_on_amx' as mode, cache, and whether it runs on AMX."""
    mode, cache = way.removesuffix("_on_amx").split("_of_")
    return mode, cache, way.endswith("_on_amx")


def products(mode, on_amx):
    """The instructions that multiply, as Fovea names them; Fovea falls back on others without AMX, a way does not."""
    failure = ErrorStruct()
    found = LIBRARY.cache_products(MODES[mode], on_amx, ctypes.byref(failure))
    if found is None:
        raise RuntimeError(failure.text.decode())
    if (found == b"AMX") != on_amx:
        raise RuntimeError(f"products by {found.decode()}")
    return found.decode() or "FMA"


def stored(problem, cache, k, v):
    """Fovea makes the codes of i8_rows from f32, as it does when rows are appended."""
    if cache != problem.type:
        k, v = (cache_problems.widened(side, problem.type) for side in (k, v))
    return cache_fovea.Store(replace(problem, type=cache), k, v, in_panels=False)


def options(way, problem):
    mode, cache, on_amx = parts(way)

    def build(problem, q, k, v, threads):
        store = cache_fovea.SHARED.get((problem, cache), lambda: stored(problem, cache, k, v))
        return cache_fovea.Solver(problem, q, store, threads, MODES[mode], on_amx)
    return {products(mode, on_amx): build}
