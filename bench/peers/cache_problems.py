"""Problems over caches: formats of stored keys and values, names, data, and what is expected.

A stored element is the f32 number that its format says. All libraries get the same bytes, and the answer expected is
attention over these numbers, so that what a library rounds beyond its cache shows as its error.
"""

import re
import weakref
from dataclasses import dataclass

import numpy

import problems


# Formats of one number each, or of blocks of 32 along the dim as ggml has them: an f16 scale, then the codes.
# Queries and outputs have the type that goes with a cache in the engines: bf16 in vLLM, f32 in ggml.
@dataclass(frozen=True)
class Format:
    queries: str
    block_bytes: int  # of a block of `block` elements
    block: int
    tolerance: float  # as problems.TOLERANCE; with quantised formats some libraries round queries or weights to 8 bits


FORMATS = {
    "f32": Format("f32", 4, 1, 1e-5),
    "f16": Format("f32", 2, 1, 5e-3),
    "bf16": Format("bf16", 2, 1, 2e-2),
    "e4m3": Format("bf16", 1, 1, 5e-2),
    "e5m2": Format("bf16", 1, 1, 5e-2),
    "q8_0": Format("f32", 34, 32, 2e-2),
    "q4_0": Format("f32", 18, 32, 2e-2),
}

# Pages as vLLM keeps a cache; without pages a library chooses its own, or none.
PAGED_DECODE = ("decode/b8_h32_kv8_s4096_d128_page16/full", "decode/b8_h32_kv8_s4096_d128_page128/full")
PAGED_PREFILL = ("prefill/h8_s2048_d128_page128/causal", "prefill/h32_kv8_s2048_d128_page128/causal")
DECODE = tuple(f"decode/{batch}h32_kv8_s{keys}_d128/full" for keys in (4096, 32768) for batch in ("", "b8_"))
PREFILL = ("prefill/h8_s2048_d128/full", "prefill/h8_s2048_d128/causal", "prefill/h32_kv8_s2048_d128/causal")
NAMES = {
    "f32": PAGED_DECODE,
    "bf16": PAGED_DECODE + PAGED_PREFILL,
    "e4m3": PAGED_DECODE + PAGED_PREFILL,
    "e5m2": PAGED_DECODE,
    "f16": DECODE + PREFILL,
    "q8_0": DECODE + PREFILL,
    "q4_0": DECODE + PREFILL,
}


@dataclass(frozen=True)
class CacheProblem(problems.Problem):
    """`type` is the cache's format."""

    page: int  # keys of a page; 0: contiguous

    @property
    def queries(self):
        return FORMATS[self.type].queries

    @property
    def page_rows(self):
        return self.page or self.keys

    @property
    def row_bytes(self):
        kept = FORMATS[self.type]
        return self.dim // kept.block * kept.block_bytes

    @property
    def cache_bytes(self):
        return 2 * self.batch * self.kv_heads * self.keys * self.row_bytes

    def table(self, page_rows=None):
        """The page of each page_rows positions, (batch, pages): in shuffled order if there are pages."""
        pages = self.keys // (page_rows or self.page_rows)
        order = numpy.arange(self.batch * pages, dtype=numpy.int32)
        if page_rows or self.page:
            numpy.random.default_rng(5).shuffle(order)
        return order.reshape(self.batch, pages)


def parse(name, format_name):
    """'decode/b8_h32_kv8_s4096_d128_page16/full' as a CacheProblem."""
    found = re.search(r"_page(\d+)", name)
    return CacheProblem(**vars(problems.parse(name, format_name)), page=int(found.group(1)) if found else 0)


# ---- Formats: what is stored, and the numbers that it says ------------------------------------------------------


def float8_numbers(format_name):
    """The numbers of codes 0 to 127 that are finite, ascending."""
    exponent_bits, mantissa_bits, count = {"e4m3": (4, 3, 127), "e5m2": (5, 2, 124)}[format_name]
    codes = numpy.arange(count)
    exponents, mantissas = codes >> mantissa_bits, codes & (1 << mantissa_bits) - 1
    fractions = mantissas / 2.0**mantissa_bits + (exponents > 0)
    bias = 2 ** (exponent_bits - 1) - 1
    return (fractions * 2.0 ** (numpy.maximum(exponents, 1) - bias)).astype(numpy.float32)


def float8_codes(numbers, format_name):
    """Rounded to nearest even; beyond the largest number, that number."""
    steps, sizes = float8_numbers(format_name), numpy.abs(numbers)
    middles = (steps[:-1] + steps[1:]) / 2
    codes = numpy.searchsorted(middles, sizes)  # in the middle: the lower
    tied = (middles[numpy.minimum(codes, middles.size - 1)] == sizes) & (codes % 2 == 1)
    return ((codes + tied) | numpy.where(numpy.signbit(numbers), 128, 0)).astype(numpy.uint8)


def float8_widened(codes, format_name):
    steps = float8_numbers(format_name)
    table = numpy.full(256, numpy.nan, dtype=numpy.float32)
    table[: steps.size], table[128 : 128 + steps.size] = steps, -steps
    return table[codes]


def blocks_of(scales, codes):
    """Bytes of blocks: the scale in f16, then the codes."""
    parts = scales.astype(numpy.float16).view(numpy.uint8), codes.view(numpy.uint8)
    return numpy.concatenate(parts, axis=-1).reshape(*codes.shape[:-2], -1)


def q8_0_codes(numbers):
    blocks = numbers.reshape(*numbers.shape[:-1], -1, 32)
    scales = numpy.abs(blocks).max(axis=-1, keepdims=True) / numpy.float32(127)
    inverse = numpy.divide(1, scales, out=numpy.zeros_like(scales), where=scales != 0)
    return blocks_of(scales, numpy.rint(blocks * inverse).astype(numpy.int8))


def q4_0_codes(numbers):
    blocks = numbers.reshape(*numbers.shape[:-1], -1, 32)
    largest = numpy.take_along_axis(blocks, numpy.abs(blocks).argmax(axis=-1)[..., None], axis=-1)
    scales = largest / numpy.float32(-8)
    inverse = numpy.divide(1, scales, out=numpy.zeros_like(scales), where=scales != 0)
    codes = numpy.minimum(blocks * inverse + numpy.float32(8.5), 15).astype(numpy.uint8)
    return blocks_of(scales, codes[..., :16] | codes[..., 16:] << 4)


def unblocked(stored, block_bytes):
    blocks = numpy.ascontiguousarray(stored).reshape(*stored.shape[:-1], -1, block_bytes)
    return numpy.ascontiguousarray(blocks[..., :2]).view(numpy.float16).astype(numpy.float32), blocks[..., 2:]


def narrowed(numbers, format_name):
    """float32 (..., dim) as the format keeps it: numbers, the bits of bf16 in uint16, codes or blocks in uint8."""
    if format_name in ("e4m3", "e5m2"):
        return float8_codes(numbers, format_name)
    if format_name == "q8_0":
        return q8_0_codes(numbers)
    return q4_0_codes(numbers) if format_name == "q4_0" else problems.narrowed(numbers, format_name)


def widened(stored, format_name):
    """What narrowed() gave as float32 (..., dim)."""
    if format_name in ("e4m3", "e5m2"):
        return float8_widened(stored, format_name)
    if format_name not in ("q8_0", "q4_0"):
        return problems.widened(stored)
    scales, codes = unblocked(stored, FORMATS[format_name].block_bytes)
    if format_name == "q4_0":
        codes = numpy.concatenate((codes & 15, codes >> 4), axis=-1).astype(numpy.float32) - 8
    else:
        codes = codes.view(numpy.int8).astype(numpy.float32)
    return (codes * scales).reshape(*stored.shape[:-1], -1)


def converted(stored, format_name, type_name):
    """What narrowed() gave, as another type: exact for fp8 as bf16. Batch element by batch element, to save memory."""
    return numpy.stack([problems.narrowed(widened(entry, format_name), type_name) for entry in stored])


# ---- Data and answers --------------------------------------------------------------------------------------------


def inputs(problem):
    """Q (batch, heads, rows, dim); K and V (batch, kv heads, keys, elements or bytes of a row): normal numbers."""
    random = numpy.random.Generator(numpy.random.SFC64(7))
    q = problems.narrowed(random.standard_normal(problem.q_shape, dtype=numpy.float32), problem.queries)

    def entry():
        return narrowed(random.standard_normal(problem.kv_shape[1:], dtype=numpy.float32), problem.type)
    return [q, *(numpy.stack([entry() for _ in range(problem.batch)]) for _ in "kv")]


class Numbers:
    """The numbers of a head when they are asked for."""

    def __init__(self, stored, format_name):
        self.stored, self.format_name = stored, format_name

    def __getitem__(self, place):
        return widened(self.stored[place], self.format_name)


def expected_rows(problem, q, k, v):
    return problems.expected_rows(problem, q, Numbers(k, problem.type), Numbers(v, problem.type))


# ---- Memory of solvers -------------------------------------------------------------------------------------------


class Shared:
    """Caches in a library's layout, one for all numbers of threads. Each lives as long as a solver holds it."""

    def __init__(self):
        self.kept = weakref.WeakValueDictionary()

    def get(self, key, make):
        found = self.kept.get(key)
        if found is None:
            self.kept[key] = found = make()
        return found
