"""ggml's GGML_OP_FLASH_ATTN_EXT on the CPU, which llama.cpp runs for its caches.

The functions are called directly: the Python declarations that come with the library (requirements-ggml.txt) are those
of an older ggml.
"""

import ctypes
import importlib.util
import pathlib

import numpy

from cache_problems import Shared

WAYS = ("flash_attn_ext",)
TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8}  # ggml_type
BLOCKS = {"f32": 1, "f16": 1, "q4_0": 32, "q8_0": 32}
c_float, c_int, c_int64, c_size_t, c_void_p = (
    ctypes.c_float, ctypes.c_int, ctypes.c_int64, ctypes.c_size_t, ctypes.c_void_p)
OVERHEAD = 1 << 20  # bytes of tensors' descriptions and of a graph
ALIGNMENT = 64


class Parameters(ctypes.Structure):
    """ggml_init_params"""

    _fields_ = [("mem_size", c_size_t), ("mem_buffer", c_void_p), ("no_alloc", ctypes.c_bool)]


class Plan(ctypes.Structure):
    """ggml_cplan"""

    _fields_ = [("work_size", c_size_t), ("work_data", c_void_p), ("n_threads", c_int), ("threadpool", c_void_p),
                ("abort_callback", c_void_p), ("abort_callback_data", c_void_p), ("use_ref", ctypes.c_bool)]


def load_library():
    folder = pathlib.Path(importlib.util.find_spec("ggml").origin).parent / "lib"
    base, cpu = (ctypes.CDLL(str(folder / f"libggml-{part}.so"), ctypes.RTLD_GLOBAL) for part in ("base", "cpu"))
    base.ggml_version.restype = ctypes.c_char_p
    pointers = {
        "ggml_init": [Parameters], "ggml_new_tensor_1d": [c_void_p, c_int, c_int64], "ggml_get_data": [c_void_p],
        "ggml_view_4d": [c_void_p] * 2 + [c_int64] * 4 + [c_size_t] * 4,
        "ggml_flash_attn_ext": [c_void_p] * 5 + [c_float] * 3, "ggml_new_graph": [c_void_p]}
    for name, arguments in pointers.items():
        getattr(base, name).restype = c_void_p
        getattr(base, name).argtypes = arguments
    for name in ("ggml_free", "ggml_build_forward_expand"):
        getattr(base, name).restype = None
    base.ggml_free.argtypes = [c_void_p]
    base.ggml_build_forward_expand.argtypes = [c_void_p] * 2
    cpu.ggml_graph_plan.restype, cpu.ggml_graph_plan.argtypes = Plan, [c_void_p, c_int, c_void_p]
    cpu.ggml_graph_compute.argtypes = [c_void_p, ctypes.POINTER(Plan)]
    cpu.ggml_cpu_init()
    return base, cpu


BASE, CPU = load_library()
VERSION = BASE.ggml_version().decode()
SHARED = Shared()


class Context:
    """A ggml_context. It owns the memory of its tensors unless that is `elsewhere`."""

    def __init__(self, size, elsewhere=False):
        self.pointer = BASE.ggml_init(Parameters(size + OVERHEAD, None, elsewhere))
        if not self.pointer:
            raise MemoryError("ggml_init")

    def tensor(self, type_name, stored, order):
        """A tensor of ggml, dim first, of `stored` (batch, heads, rows, row), whose axes lie in memory as `order`."""
        rows = numpy.ascontiguousarray(stored.transpose(order)).view(numpy.uint8)
        row_bytes = rows.shape[-1]
        elements = row_bytes // (4 if type_name == "f32" else 2) if BLOCKS[type_name] == 1 else \
            row_bytes // {"q8_0": 34, "q4_0": 18}[type_name] * 32
        room = rows.size // row_bytes * elements + elements * -(-ALIGNMENT // row_bytes)
        whole = BASE.ggml_new_tensor_1d(self.pointer, TYPES[type_name], room)
        address = BASE.ggml_get_data(whole)
        offset = -address % ALIGNMENT
        ctypes.memmove(address + offset, rows.ctypes.data, rows.size)
        strides = {axis: rows.strides[place] for place, axis in enumerate(order)}
        batch, heads, count = stored.shape[:3]
        return BASE.ggml_view_4d(self.pointer, whole, elements, count, heads, batch, strides[2], strides[1],
                                 strides[0], offset)

    def __del__(self):
        BASE.ggml_free(self.pointer)


HEADS_FIRST, ROWS_FIRST = (0, 1, 2, 3), (0, 2, 1, 3)


class Cache:
    """Keys and values, as one tensor each or one for each sequence."""

    def __init__(self, problem, k, v, order, apart):
        self.context = Context(k.nbytes + v.nbytes + 4096 * problem.batch)
        parts = range(problem.batch) if apart else [slice(None)]
        self.sides = [[self.context.tensor(problem.type, side[part][None] if apart else side, order) for part in parts]
                      for side in (k, v)]


class Graph:
    """Runs `results` and all that they need."""

    def __init__(self, context, results, threads):
        self.pointer, self.results = BASE.ggml_new_graph(context.pointer), results
        for result in results:
            BASE.ggml_build_forward_expand(self.pointer, result)
        self.plan = CPU.ggml_graph_plan(self.pointer, threads, None)
        self.work = numpy.zeros(self.plan.work_size + ALIGNMENT, dtype=numpy.uint8)
        self.plan.work_data = self.work.ctypes.data + -self.work.ctypes.data % ALIGNMENT

    def run(self):
        if CPU.ggml_graph_compute(self.pointer, ctypes.byref(self.plan)):
            raise RuntimeError("ggml_graph_compute failed")

    def output(self, index, size):
        """So many numbers of a result."""
        return numpy.ctypeslib.as_array((c_float * size).from_address(BASE.ggml_get_data(self.results[index])))


class Solver:
    def __init__(self, problem, q, cache, apart, grouped, threads):
        self.problem, self.cache, self.apart, self.grouped = problem, cache, apart, grouped
        if grouped:
            q = q.reshape(problem.batch, problem.kv_heads, -1, problem.dim)
        causal = problem.rule == "causal"
        masked = 2 * problem.rows * problem.keys if causal else 0
        self.context = Context(3 * q.nbytes + masked + (1 << 20))
        mask = self.mask() if causal else None
        parts = range(problem.batch) if apart else [slice(None)]
        results = []
        for part, k, v in zip(parts, *cache.sides):
            rows = self.context.tensor("f32", q[part][None] if apart else q, HEADS_FIRST)
            results.append(BASE.ggml_flash_attn_ext(self.context.pointer, rows, k, v, mask, problem.dim**-0.5, 0.0, 0.0))
        self.graph = Graph(self.context, results, threads)

    def mask(self):
        shape = self.problem.rows, self.problem.keys
        hidden = numpy.triu(numpy.full(shape, -numpy.inf, dtype=numpy.float16), 1 + shape[1] - shape[0])
        return self.context.tensor("f16", hidden[None, None], HEADS_FIRST)

    def run(self):
        self.graph.run()

    def output(self):
        problem = self.problem
        rows, heads = (problem.heads // problem.kv_heads, problem.kv_heads) if self.grouped else \
            (problem.rows, problem.heads)
        batch = 1 if self.apart else problem.batch
        size = batch * rows * heads * problem.dim
        parts = [self.graph.output(place, size) for place in range(len(self.graph.results))]
        whole = numpy.concatenate(parts).reshape(problem.batch, rows, heads, problem.dim)
        return whole.transpose(0, 2, 1, 3).reshape(problem.q_shape)


def as_kept(order, apart=False, grouped=False):
    def build(problem, q, k, v, threads):
        cache = SHARED.get((problem, order, apart), lambda: Cache(problem, k, v, order, apart))
        return Solver(problem, q, cache, apart, grouped, threads)
    return build


def options(way, problem):
    """llama.cpp keeps rows before heads; heads before rows read memory in order."""
    if problem.type not in TYPES:
        return {}
    found = {"heads first": as_kept(HEADS_FIRST), "rows first": as_kept(ROWS_FIRST)}
    if problem.rows == 1:
        found["group as rows"] = as_kept(HEADS_FIRST, grouped=True)
    if problem.batch > 1:
        found["a node for each sequence"] = as_kept(HEADS_FIRST, apart=True)
    return found
