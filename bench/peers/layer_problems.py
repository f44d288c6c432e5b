"""The layers that Fovea and its peers compute: names, data, and the answers expected."""

import math
import os
import pathlib
import re
import sys
from dataclasses import dataclass

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "examples" / "minilm"))
import golden  # noqa: E402 (the forward pass of the sentence model)

LINEAR, GELU, SILU, ADDITIVE, MINILM = "linear", "gelu", "silu", "additive", "minilm"
SIZES = ((384, 384), (384, 1536), (1536, 384), (768, 3072), (4096, 4096))
ROWS = (16, 128, 512, 4096)
NAMES = (
    *(f"{LINEAR}/r{rows}_i{ins}_o{outs}" for ins, outs in SIZES for rows in ROWS),
    *(f"{kind}/r{rows}_d1536" for kind in (GELU, SILU) for rows in (32, 128)),
    f"{ADDITIVE}/q512_s512_d128",
    *(f"{MINILM}/b{batch}_t{tokens}" for batch in (1, 16) for tokens in (16, 64, 256)),
)
TOLERANCE = 1e-5
CHECKED_ROWS = 16


@dataclass(frozen=True)
class Problem:
    """`sizes` are those in the name, in its order."""

    name: str
    kind: str
    sizes: tuple
    type: str = "f32"

    @property
    def flops(self):
        """Two for each product and each tanh, GELU or SiLU; of a model only the products of its linear layers."""
        if self.kind == MINILM:
            batch, tokens = self.sizes
            return 2.0 * batch * tokens * golden.LAYERS * 12 * golden.DIM**2
        return 2.0 * math.prod(self.sizes)


def parse(name):
    kind, sizes = name.split("/")
    return Problem(name, kind, tuple(int(size) for size in re.findall(r"\d+", sizes)))


def model_folder():
    folder = os.environ.get("MINILM_FOLDER")
    if not folder:
        raise RuntimeError("no folder of the sentence model: --minilm")
    return folder


def model_weights():
    return golden.weights_of(model_folder())


def inputs(problem):
    """The same numbers in each process. linear: x (rows, in), weights (out, in). gelu, silu: x. additive: queries, keys,
    values, w. minilm: tokens (batch, length)."""
    random = numpy.random.default_rng(7)

    def normal(*shape):
        return random.standard_normal(shape, dtype=numpy.float32)

    if problem.kind == LINEAR:
        rows, ins, outs = problem.sizes
        return normal(rows, ins), normal(outs, ins)
    if problem.kind == ADDITIVE:
        rows, keys, dim = problem.sizes
        return normal(rows, dim), normal(keys, dim), normal(keys, dim), normal(dim)
    if problem.kind == MINILM:
        tokens = random.integers(1000, 30000, problem.sizes)
        tokens[:, 0], tokens[:, -1] = 101, 102  # [CLS], [SEP]
        return (tokens,)
    return (3 * normal(*problem.sizes),)


def checked_rows(problem):
    """Of the output. A text of a model takes a while."""
    count = problem.sizes[0]
    return [0, count - 1] if problem.kind == MINILM else numpy.linspace(0, count - 1, CHECKED_ROWS, dtype=int)


def expected(problem):
    """Those rows in float64."""
    rows, tensors = checked_rows(problem), inputs(problem)
    if problem.kind == MINILM:
        ops = golden.Numpy(model_weights())
        return numpy.array([golden.forward(ops, tensors[0][row]) for row in rows])
    x = tensors[0][rows].astype(float)
    if problem.kind == LINEAR:
        return x @ tensors[1].T.astype(float)
    if problem.kind == ADDITIVE:
        keys, values, w = (tensor.astype(float) for tensor in tensors[1:])
        scores = numpy.tanh(x[:, None] + keys) @ w
        weights = numpy.exp(scores - scores.max(1, keepdims=True))
        return weights @ values / weights.sum(1, keepdims=True)
    if problem.kind == GELU:
        return x * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2))) / 2
    return x / (1 + numpy.exp(-x))


def error_of(problem, output, answers):
    """Root mean square of the errors in those rows, as a share of the answers'. NaN counts as infinite."""
    found = numpy.asarray(output, dtype=float)[checked_rows(problem)]
    error = numpy.sqrt(numpy.mean((found - answers) ** 2) / numpy.mean(answers**2))
    return float(error) if numpy.isfinite(error) else float("inf")
