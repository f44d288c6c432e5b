"""The layers that Fovea and its peers compute: names, types, data, and the answers expected."""

import math
import os
import pathlib
import re
import sys
from dataclasses import dataclass

import numpy

import cache_problems
import problems

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "examples" / "minilm"))
import golden  # noqa: E402 (the forward pass of the sentence model)

# ROW is one row through layer after layer, whose weights come from memory.
LINEAR, ROW, GELU, SILU, ADDITIVE, MINILM = "linear", "row", "gelu", "silu", "additive", "minilm"
LAYER_NORM, RMS_NORM, SOFTMAX = "layer_norm", "rms_norm", "softmax"
NORMS = (LAYER_NORM, RMS_NORM)
EPS = 1e-5  # of norms
SIZES = ((384, 384), (384, 1536), (1536, 384), (768, 3072), (4096, 4096))
MODE_SIZES = ((384, 1536), (768, 3072), (4096, 4096))
ROWS = (16, 128, 512, 4096)


def linears(sizes):
    return tuple(f"{LINEAR}/r{rows}_i{ins}_o{outs}" for ins, outs in sizes for rows in ROWS)


# f32: all tensors. bf16: all tensors, products in bf16. int8: tensors in f32, which each library quantises in its own
# way. q8_0, q4_0: weights, as blocks of ggml's; the rest is f32.
NAMES = {
    "f32": (
        *linears(SIZES),
        *(f"{kind}/r{rows}_d1536" for kind in (GELU, SILU) for rows in (32, 128)),
        *(f"{kind}/r{rows}_d{dim}" for kind in (*NORMS, SOFTMAX) for rows, dim in ((128, 384), (1024, 384), (32, 4096))),
        f"{ADDITIVE}/q512_s512_d128",
        *(f"{MINILM}/b{batch}_t{tokens}" for batch in (1, 16) for tokens in (16, 64, 256)),
    ),
    "bf16": linears(MODE_SIZES),
    "int8": linears(MODE_SIZES),
    "q8_0": (f"{ROW}/i4096_o4096",),
    "q4_0": (f"{ROW}/i4096_o4096",),
}
# Of the error that error_of() says. Some libraries round x to 8 bits beside weights of 8 or 4.
TOLERANCE = {"f32": 1e-5, "bf16": 5e-3, "int8": 3e-2, "q8_0": 2e-2, "q4_0": 2e-2}
CHECKED_ROWS = 16
POOL = 512 << 20  # bytes of the layers that one row goes through


@dataclass(frozen=True)
class Problem:
    """`sizes` are those in the name, in its order."""

    name: str
    type: str
    kind: str
    sizes: tuple

    @property
    def flops(self):
        """Two for each product and each number of another function; of a model only the products of its linear layers."""
        if self.kind == MINILM:
            batch, tokens = self.sizes
            return 2.0 * batch * tokens * golden.LAYERS * 12 * golden.DIM**2
        return 2.0 * math.prod(self.sizes)

    @property
    def linear(self):
        """Rows, inputs and outputs of linear layers."""
        return self.sizes if self.kind == LINEAR else (1, *self.sizes)

    @property
    def weight_bytes(self):
        """Of quantised weights as they are given."""
        kept = cache_problems.FORMATS[self.type]
        return math.prod(self.sizes) // kept.block * kept.block_bytes


def parse(name, type_name):
    kind, sizes = name.split("/")
    return Problem(name, type_name, kind, tuple(int(size) for size in re.findall(r"\d+", sizes)))


def model_folder():
    folder = os.environ.get("MINILM_FOLDER")
    if not folder:
        raise RuntimeError("no folder of the sentence model: --minilm")
    return folder


def model_weights():
    return golden.weights_of(model_folder())


def inputs(problem):
    """The same numbers in each process. linear: x (rows, in), weights (out, in), in bf16 the bits. row: x (1, in), the
    weights' blocks (out, bytes). gelu, silu, softmax: x. Norms: x, gamma, and of layer_norm beta. additive: queries, keys, values, w. minilm: tokens (batch, length)."""
    random = numpy.random.default_rng(7)

    def normal(*shape):
        return random.standard_normal(shape, dtype=numpy.float32)

    if problem.kind in (LINEAR, ROW):
        rows, ins, outs = problem.linear
        x, weights = normal(rows, ins), normal(outs, ins)
        if problem.kind == ROW:
            return x, cache_problems.narrowed(weights, problem.type)
        number_type = "bf16" if problem.type == "bf16" else "f32"
        return problems.narrowed(x, number_type), problems.narrowed(weights, number_type)
    if problem.kind == ADDITIVE:
        rows, keys, dim = problem.sizes
        return normal(rows, dim), normal(keys, dim), normal(keys, dim), normal(dim)
    if problem.kind == MINILM:
        tokens = random.integers(1000, 30000, problem.sizes)
        tokens[:, 0], tokens[:, -1] = 101, 102  # [CLS], [SEP]
        return (tokens,)
    if problem.kind in NORMS:
        factors = 1 + normal(problem.sizes[1]) / 10, normal(problem.sizes[1])
        return 3 * normal(*problem.sizes) + 1, *factors[: 2 if problem.kind == LAYER_NORM else 1]
    return (3 * normal(*problem.sizes),)


def numbers(problem, weights):
    """What inputs() gave as weights, in f32."""
    return cache_problems.widened(weights, problem.type) if problem.kind == ROW else problems.widened(weights)


def copies(size):
    """How many layers of so many bytes one row goes through."""
    return -(-POOL // size)


def quantised(weights):
    """Codes of 8 bits, and a scale for each output: int8 for libraries that do not quantise weights themselves."""
    scales = numpy.abs(weights).max(axis=1, keepdims=True) / numpy.float32(127)
    return numpy.rint(weights / scales).astype(numpy.int8), scales


def checked_rows(problem):
    """Of the output. A text of a model takes a while."""
    if problem.kind == ROW:
        return [0]
    count = problem.sizes[0]
    return [0, count - 1] if problem.kind == MINILM else numpy.linspace(0, count - 1, CHECKED_ROWS, dtype=int)


def expected(problem):
    """Those rows in float64."""
    rows, tensors = checked_rows(problem), inputs(problem)
    if problem.kind == MINILM:
        ops = golden.Numpy(model_weights())
        return numpy.array([golden.forward(ops, tensors[0][row]) for row in rows])
    x = problems.widened(tensors[0][rows]).astype(float)
    if problem.kind in (LINEAR, ROW):
        return x @ numbers(problem, tensors[1]).T.astype(float)
    if problem.kind == ADDITIVE:
        keys, values, w = (tensor.astype(float) for tensor in tensors[1:])
        scores = numpy.tanh(x[:, None] + keys) @ w
        weights = numpy.exp(scores - scores.max(1, keepdims=True))
        return weights @ values / weights.sum(1, keepdims=True)
    if problem.kind in NORMS:
        gamma, beta = tensors[1], tensors[2] if problem.kind == LAYER_NORM else 0
        x = x - x.mean(1, keepdims=True) if problem.kind == LAYER_NORM else x
        return x / numpy.sqrt((x * x).mean(1, keepdims=True) + EPS) * gamma + beta
    if problem.kind == SOFTMAX:
        weights = numpy.exp(x - x.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)
    if problem.kind == GELU:
        return x * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2))) / 2
    return x / (1 + numpy.exp(-x))


def error_of(problem, output, answers):
    """Root mean square of the errors in those rows, as a share of the answers'. NaN counts as infinite."""
    found = numpy.asarray(output, dtype=float)[checked_rows(problem)]
    error = numpy.sqrt(numpy.mean((found - answers) ** 2) / numpy.mean(answers**2))
    return float(error) if numpy.isfinite(error) else float("inf")
