"""The problems that Fovea and its peers solve: named as in bench/shapes.c, with their data and the answers expected."""

import re
from dataclasses import dataclass

import numpy

FULL, CAUSAL, WINDOW, CHUNKS = "full", "causal", "window", "chunks"
BYTES = {"f32": 4, "f16": 2, "bf16": 2}

# All prefill, cross, packed and decode shapes of bench/shapes.c, and a longer decode.
F32_NAMES = (
    "prefill/h8_s2048_d128/full",
    "prefill/h8_s2048_d128/causal",
    "prefill/h8_s2048_d64/full",
    "prefill/h8_s2048_d64/causal",
    "prefill/h8_s2048_d80/full",
    "prefill/h8_s2048_d96/full",
    "prefill/h8_s2048_d256/full",
    "prefill/h8_s512_d64/full",
    "prefill/h8_s512_d64/causal",
    "prefill/h8_s8192_d128/window512",
    "prefill/h8_s8192_d64/chunk64_left256",
    "prefill/h32_kv8_s4096_d128/causal",
    "prefill/b8_h12_s197_d64/full",
    "prefill/b16_h12_s384_d64/full",
    "prefill/h8_s2048_d128_rows_first/full",
    "cross/h8_q64_s2048_d64/full",
    "packed/b32_h8_s20to500_d64/full",
    "decode/h32_kv8_s4096_d128/full",
    "decode/h32_kv8_s32768_d128/full",
)
HALF_NAMES = (
    "prefill/h8_s2048_d128/full",
    "prefill/h8_s2048_d128/causal",
    "prefill/h8_s2048_d64/full",
    "prefill/h8_s2048_d64/causal",
    "prefill/h8_s8192_d128/window512",
    "prefill/b8_h12_s197_d64/full",
    "prefill/b16_h12_s384_d64/full",
    "cross/h8_q64_s2048_d64/full",
    "decode/h32_kv8_s4096_d128/full",
    "decode/h32_kv8_s32768_d128/full",
)
NAMES = {"f32": F32_NAMES, "f16": HALF_NAMES, "bf16": HALF_NAMES}

# Largest root mean square of the errors, as a share of the answer's, against float64 with inputs rounded to
# the type. Half types may round the weights and each partial result.
TOLERANCE = {"f32": 1e-5, "f16": 2e-3, "bf16": 2e-2}
CHECKED_ROWS = 64


@dataclass(frozen=True)
class Problem:
    """Sizes and rule of one problem. Packed entries lie one after the other along the rows."""

    name: str
    type: str
    batch: int
    heads: int
    kv_heads: int
    rows: int
    keys: int
    dim: int
    rule: str
    left: int  # WINDOW: keys before the own key; CHUNKS: keys before the chunk
    chunk: int
    rows_first: bool  # (batch, rows, heads, dim) in memory
    lengths: tuple  # packed: the rows, and keys, of each sequence

    @property
    def q_shape(self):
        return self.batch, self.heads, self.rows, self.dim

    @property
    def kv_shape(self):
        return self.batch, self.kv_heads, self.keys, self.dim

    def seen(self, row):
        """The keys from .. to - 1 that a row sees; packed rows have one sequence's keys."""
        for first, end in self.spans:
            if self.lengths and first <= row < end:
                return first, end
        own = row + self.keys - self.rows
        if self.rule == FULL:
            return 0, self.keys
        if self.rule == CHUNKS:
            start = own // self.chunk * self.chunk
            return max(0, start - self.left), min(self.keys, start + self.chunk)
        return (max(0, own - self.left) if self.rule == WINDOW else 0), own + 1

    @property
    def spans(self):
        """First row and end of each packed sequence."""
        ends = numpy.cumsum(self.lengths, dtype=int).tolist()
        return [(end - length, end) for end, length in zip(ends, self.lengths)]

    @property
    def flops(self):
        """Two products over the visible pairs."""
        pairs = sum(end - first for first, end in map(self.seen, range(self.rows)))
        return self.batch * self.heads * pairs * 4 * self.dim


def parse(name, number_type):
    """'prefill/h32_kv8_s4096_d128/causal' as a Problem."""
    kind, sizes, rule = name.split("/")

    def size(letters, absent):
        found = re.search(rf"(?:^|_){letters}(\d+)", sizes)
        return int(found.group(1)) if found else absent

    heads, keys, batch = size("h", 1), size("s", 0), size("b", 1)
    lengths = tuple(20 + entry * 197 % 481 for entry in range(batch)) if kind == "packed" else ()
    if lengths:
        batch, keys = 1, sum(lengths)
    rows = 1 if kind == "decode" else size("q", keys)
    kept = {"full": FULL, "causal": CAUSAL, "window512": WINDOW, "chunk64_left256": CHUNKS}[rule]
    left, chunk = {WINDOW: (512, 0), CHUNKS: (256, 64)}.get(kept, (0, 0))
    return Problem(name, number_type, batch, heads, size("kv", heads), rows, keys, size("d", 0), kept, left, chunk,
                   sizes.endswith("rows_first"), lengths)


def narrowed(numbers, number_type):
    """float32 as the type's own numbers; bf16 as its bits in uint16, rounded to nearest even."""
    if number_type == "f32":
        return numbers
    if number_type == "f16":
        return numbers.astype(numpy.float16)
    bits = numbers.view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def widened(numbers):
    """The result of narrowed() as float32."""
    if numbers.dtype == numpy.uint16:
        return (numbers.astype(numpy.uint32) << 16).view(numpy.float32)
    return numbers.astype(numpy.float32, copy=False)


def inputs(problem):
    """Q, K and V of normal numbers, in their order in memory."""
    random = numpy.random.Generator(numpy.random.SFC64(7))
    shapes = problem.q_shape, problem.kv_shape, problem.kv_shape
    return [narrowed(random.standard_normal(in_memory(problem, shape), dtype=numpy.float32), problem.type)
            for shape in shapes]


def in_memory(problem, shape):
    batch, heads, rows, dim = shape
    return (batch, rows, heads, dim) if problem.rows_first else shape


def by_index(problem, tensors):
    """Those as (batch, heads, rows, dim), whatever the order in memory."""
    return [tensor.transpose(0, 2, 1, 3) if problem.rows_first else tensor for tensor in tensors]


def checked_places(problem):
    """Some (batch, head, row) of the output, always the same ones, in order."""
    random = numpy.random.default_rng(11)
    extents = (problem.batch, problem.heads, problem.rows)
    return sorted(tuple(int(random.integers(extent)) for extent in extents) for _ in range(CHECKED_ROWS))


def expected_rows(problem, q, k, v):
    """Those rows by the textbook formula in float64."""
    answers, head_of_keys = [], None
    for batch, head, row in checked_places(problem):
        kv_head = head // (problem.heads // problem.kv_heads)
        if head_of_keys != (batch, kv_head):
            head_of_keys = batch, kv_head
            keys, values = (widened(tensor[head_of_keys]).astype(float) for tensor in (k, v))
        first, end = problem.seen(row)
        scores = keys[first:end] @ widened(q[batch, head, row]).astype(float) / numpy.sqrt(problem.dim)
        weights = numpy.exp(scores - scores.max())
        answers.append(weights @ values[first:end] / weights.sum())
    return numpy.array(answers)


def error_of(problem, output, expected):
    """Root mean square of the errors at those rows, as a share of the answers'. NaN counts as infinite."""
    found = numpy.array([output[place] for place in checked_places(problem)], dtype=float)
    error = numpy.sqrt(numpy.mean((found - expected) ** 2) / numpy.mean(expected**2))
    return float(error) if numpy.isfinite(error) else float("inf")
