"""Fovea, through its shared library: a plan that is run with the caller's scratch, as bench/runner.c does.

Problems in bf16 also in bf16 mode, on AMX if the system permits it."""

import ctypes
import os

import numpy

import problems

WAYS = ("plan", "bf16_mode")
BF16_MODE = 1
TYPES = {"f32": 0, "f16": 1, "bf16": 2}
BOTTOM_RIGHT = -(2**63)
c_int, c_int64, c_double, c_void_p, c_size_t = (
    ctypes.c_int, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p, ctypes.c_size_t)


class Strides(ctypes.Structure):
    _fields_ = [("batch", c_int64), ("head", c_int64), ("row", c_int64)]


class MaskStrides(ctypes.Structure):
    _fields_ = [("batch", c_int64), ("head", c_int64), ("row", c_int64), ("key", c_int64)]


class Range(ctypes.Structure):
    _fields_ = [("begin", c_int64), ("end", c_int64)]


def group(*fields):
    """A struct of these (name, type) fields."""
    return type("Group", (ctypes.Structure,), {"_fields_": list(fields)})


class ProblemStruct(ctypes.Structure):
    """fovea_problem"""

    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_int64) for name in ("batch", "heads", "kv_heads", "q_len", "kv_len", "qk_dim", "v_dim")),
        *((f"{tensor}_type", c_int) for tensor in ("q", "k", "v", "o")),
        *((f"{tensor}_strides", Strides) for tensor in ("q", "k", "v", "o", "lse")),
        *((name, c_double) for name in ("scale", "softcap")),
        *((name, c_int) for name in ("sink", "causal")),
        *((name, c_int64) for name in ("window_left", "window_right", "offset")),
        *((name, c_void_p) for name in ("offsets", "q_lens", "kv_lens", "kv_begins", "cu_seqlens_q", "cu_seqlens_kv")),
        ("cache", group(("segmented", c_int), ("holes", c_int))),
        ("keys", Range),
        ("state", c_int),
        ("chunks", group(("size", c_int64), ("left", c_int64), ("right", c_int64))),
        ("mask", group(("type", c_int), ("strides", MaskStrides), ("keys", c_int64), ("begin", c_int64),
                       ("begins", c_void_p))),
        *((name, c_void_p) for name in ("pattern", "patterns")),
        ("activation", group(("kind", c_int), ("leaky_slope", c_double))),
        ("scales", c_int),
        ("terms", group(("list", c_void_p), ("count", c_int64), ("size", c_size_t))),
        ("shaw", group(("kind", c_int), ("distance", c_int64), ("heads", c_int64))),
        ("normaliser", group(("kind", c_int), ("divisor", c_int), ("divisor_value", c_double),
                             ("sigmoid_bias", c_double))),
        ("scores", group(("kind", c_int), ("strides", Strides), ("heads", Range), ("rows", Range), ("keys", Range))),
        ("max_logits", c_int),
        ("top", group(("k", c_int64), ("strides", Strides))),
        ("entropy", c_int),
        ("column_sums", group(("wanted", c_int), ("rows", Range))),
        ("modes", group(("score", c_int), ("value", c_int))),
        ("channels", group(("key_centre", c_int), ("key_scale", c_int), ("value_scale", c_int))),
    ]


class TensorsStruct(ctypes.Structure):
    """fovea_tensors"""

    _fields_ = [
        ("struct_size", c_size_t),
        *((name, c_void_p) for name in ("q", "k", "v", "o", "lse", "sink")),
        ("cache", group(("sequences", c_void_p), ("layer", c_int64))),
        *((name, c_void_p) for name in ("state", "mask", "head_scales", "row_scales", "terms", "shaw_keys", "shaw_values",
                                        "scores", "max_logits", "top_keys", "top_scores", "entropy", "column_sums",
                                        "key_centre", "key_scale", "value_scale")),
    ]


class ExecutionStruct(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("threads", c_int), ("parallel_for", c_void_p),
                ("parallel_context", c_void_p), ("scratch", c_void_p), ("scratch_size", c_size_t),
                ("isa", ctypes.c_char_p),
                *((name, c_void_p) for name in ("allocator_context", "allocate", "release"))]


class ErrorStruct(ctypes.Structure):
    _fields_ = [("status", c_int), ("field", ctypes.c_char * 60), ("text", ctypes.c_char * 252)]


def load_library():
    library = ctypes.CDLL(os.environ["FOVEA_LIBRARY"])
    library.fovea_version.restype = ctypes.c_char_p
    library.fovea_plan_isa.restype = ctypes.c_char_p
    library.fovea_plan_isa.argtypes = [c_void_p]
    library.fovea_problem_init_sized.argtypes = [c_void_p, c_size_t] + [c_int64] * 7
    library.fovea_plan_create.argtypes = [c_void_p] * 4
    library.fovea_plan_run.argtypes = [c_void_p] * 4
    library.fovea_allow_amx.argtypes = [c_void_p]
    library.fovea_plan_destroy.argtypes = [c_void_p]
    library.fovea_plan_destroy.restype = None
    library.fovea_plan_scratch_size.restype = c_size_t
    library.fovea_plan_scratch_size.argtypes = [c_void_p, c_int]
    return library


LIBRARY = load_library()
VERSION = LIBRARY.fovea_version().decode()


def aligned(size):
    """That many bytes, at a multiple of 64."""
    memory = numpy.zeros(size + 64, dtype=numpy.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


class Solver:
    """One plan and all that it runs on."""

    def __init__(self, problem, q, k, v, threads, mode=0):
        self.plan = c_void_p()
        self.mode = mode
        self.problem = problem
        self.inputs = q, k, v
        self.o = numpy.zeros(q.transpose(0, 2, 1, 3).shape if problem.rows_first else q.shape, dtype=q.dtype)
        if problem.rows_first:
            self.o = self.o.transpose(0, 2, 1, 3)
        self.failure = ErrorStruct()
        described = self.describe()
        self.check(LIBRARY.fovea_plan_create(ctypes.byref(described), None, ctypes.byref(self.plan),
                                             ctypes.byref(self.failure)))
        self.tensors = TensorsStruct(ctypes.sizeof(TensorsStruct), *(t.ctypes.data for t in (q, k, v, self.o)))
        self.scratch = aligned(LIBRARY.fovea_plan_scratch_size(self.plan, threads))
        self.execution = ExecutionStruct(ctypes.sizeof(ExecutionStruct), threads, None, None,
                                         self.scratch.ctypes.data, self.scratch.size)
        self.arguments = (self.plan, ctypes.byref(self.tensors), ctypes.byref(self.execution),
                          ctypes.byref(self.failure))

    def describe(self):
        problem, described = self.problem, ProblemStruct()
        batch = len(problem.lengths) or problem.batch
        LIBRARY.fovea_problem_init_sized(ctypes.byref(described), ctypes.sizeof(described), batch, problem.heads,
                                         problem.kv_heads, problem.rows, problem.keys, problem.dim, problem.dim)
        if described.offset != BOTTOM_RIGHT or described.mask.keys != -1 or described.shaw.heads != 1:
            raise RuntimeError("fovea_problem is not laid out as it is here")
        described.q_type = described.k_type = described.v_type = described.o_type = TYPES[problem.type]
        described.modes.score = described.modes.value = self.mode
        described.causal = problem.rule in (problems.CAUSAL, problems.WINDOW)
        if problem.rule == problems.WINDOW:
            described.window_left = problem.left
        if problem.rule == problems.CHUNKS:
            described.chunks.size, described.chunks.left = problem.chunk, problem.left
        for name, tensor in zip("qkvo", (*self.inputs, self.o)):
            steps = (stride // tensor.itemsize for stride in tensor.strides[:3])
            setattr(described, f"{name}_strides", Strides(*steps))
        if problem.lengths:
            ends = numpy.array([0] + [end for _, end in problem.spans], dtype=numpy.int32)
            self.lengths = ends  # must live until the plan is made
            described.cu_seqlens_q = described.cu_seqlens_kv = ends.ctypes.data
        return described

    def check(self, status):
        if status:
            raise RuntimeError(self.failure.text.decode())

    def run(self):
        self.check(LIBRARY.fovea_plan_run(*self.arguments))

    def output(self):
        return problems.widened(self.o)

    def __del__(self):
        LIBRARY.fovea_plan_destroy(self.plan)


def in_bf16(*arguments):
    return Solver(*arguments, mode=BF16_MODE)


def options(way, problem):
    """Exact mode does not change where AMX is allowed."""
    if way == "plan":
        return {"plan": Solver}
    if problem.type != "bf16":
        return {}
    return {"AMX" if LIBRARY.fovea_allow_amx(None) == 0 else "FMA": in_bf16}
