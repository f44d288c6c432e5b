"""Sections 1 and 4 to 6 of docs/numerics.md, the functions of sections 13 and 16, L2 and L11, and the sums that all
else is made of: numbers of f32, one rounding for each operation. NumPy's +, -, *, / and sqrt of float32 are IEEE
operations. What touches an array stays float32: F and c make constants."""

import json
import pathlib
from functools import reduce

import numpy as np

CONSTANTS = json.loads((pathlib.Path(__file__).resolve().parents[1] / "constants.json").read_text(encoding="utf-8"))
np.seterr(all="ignore")
F, INF, NAN = np.float32, np.float32(np.inf), np.array(0x7FC00000, np.uint32).view(np.float32)


def c(text):
    return F(float.fromhex(text))


def fma(a, b, c):
    """The product is exact in double. The sum is rounded to odd there: if it is not exact and its last bit is 0, the
    neighbour towards the exact sum takes its place. So the second rounding is as if it were the only one."""
    a, b, c = (np.asarray(x, F).astype(np.float64) for x in (a, b, c))
    product, total = a * b, np.asarray(a * b + c)
    part = total - product
    rest = (product - (total - part)) + (c - part)
    moves = (rest != 0) & (total.view(np.int64) & 1 == 0) & np.isfinite(total)
    return np.where(moves, np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)), total).astype(F)


def chain(a, b, r=F(0)):
    """r = fma(a, b, r) for the last dims of a and b, ascending."""
    return reduce(lambda r, pair: fma(*pair, r), zip(np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)), r)


def groups(parts, count):
    return [parts[at : at + count] for at in range(0, len(parts), count)]


def pieces(a, b, order=lambda d: d ^ 1):
    """Chains over 128 of the last dims of a and b each, 1, 0, 3, 2, ...; with None for the order ascending."""
    places = [sorted(piece, key=order) for piece in groups(range(a.shape[-1]), 128)]
    return [chain(a[..., at], b[..., at]) for at in places]


def dot(a, b, *order):
    """Section 3, step 1."""
    return reduce(np.add, pieces(a, b, *order))


def sixteen(a, b=F(1)):
    """Sums of products of the last dims of a and b, each dim in the sum of its number mod 16; folded into one dim."""
    a, b = np.broadcast_arrays(a, b)
    sums = [chain(a[..., i::16], b[..., i::16]) for i in range(16)]
    return reduce(lambda sums, half: list(map(np.add, sums[:half], sums[half:])), (8, 4, 2, 1), sums)[0][..., None]


def tree(parts, merge=np.add, finish=lambda span: span, count=16):
    """Blocks merge into spans, and these as a binary tree."""
    parts = [finish(reduce(merge, span)) for span in groups(parts, count)]
    return parts[0] if len(parts) == 1 else tree(parts, merge, count=2)


def canonical(x):
    return np.where(np.isnan(x), NAN, np.asarray(x, F) + F(0))


def widened(array):
    """f32, from f32, f16, or the bits of bf16."""
    return (array.astype(np.uint32) << 16).view(F) if array.dtype == np.uint16 else array.astype(F)


def bf16_bits(x):
    bits = np.asarray(x, F).view(np.uint32)
    return np.where(np.isnan(x), 0x7FC0, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def half(x):
    return np.asarray(x, F).astype(np.float16).astype(F)


def stored(x, to):
    """A result as it is written (section 3, step 6): f32, f16, or the bits of bf16."""
    return bf16_bits(canonical(widened(bf16_bits(x)))) if to == np.uint16 else canonical(x).astype(to) + to.type(0)


def horner(coefficients, x):
    return reduce(lambda value, coefficient: fma(value, x, coefficient), map(c, coefficients))


def power(n):
    """2^n. What becomes of NaN does not matter: the other factor is NaN, too."""
    return np.ldexp(F(1), np.nan_to_num(n).astype(np.int32))


def relu(x):
    return np.where(x < 0, F(0), x)


def leaky(x, slope):
    return np.where(x > 0, x, x * F(slope))


LOG2E, LN2, SHIFT = c("0x1.715476p+0"), c("0x1.62e43p-1"), c("0x1.8p+23")


def mode_exp2(x, name="mode exp2"):
    return horner(CONSTANTS[name], x - np.rint(x)) * power(np.rint(x))


def exp2(x):
    return np.where(x < F(-126), F(0), mode_exp2(np.maximum(x, F(-126)), "exp2"))


def log2(x):
    bits = np.asarray(x, F).view(np.int32)
    e = (bits - np.int32(0x3F3504F3)) >> 23
    t = (bits - (e << 23)).astype(np.int32).view(F) - F(1)
    return np.where(np.isnan(x), x, fma(t, horner(CONSTANTS["log2"], t), e.astype(F)))


def tanh_parts(a):
    """s, g and q of section 6 for a from 0 to 10."""
    n = fma(a, c("0x1.715476p+1"), SHIFT) - SHIFT
    f = fma(n, c("-0x1.62e43p-2"), a)
    return power(-n), power(-n) * f, horner(CONSTANTS["tanh"], f)


def tanh(x):
    s, g, q = tanh_parts(np.minimum(np.abs(x), F(10)))
    y, e = fma(g, q, F(1) - s), fma(-g, q, s)
    r = fma(fma(c("0x1.4afd64p-2"), y, c("0x1.4afd78p-3")), y, c("0x1.0295fap-1"))
    r = r * fma(-(F(1) + e), r, c("0x1.0001acp+1"))
    return np.copysign(fma(fma(-(y * r), e, y - y * r), r, y * r), x)


def elu(x):
    s, g, q = tanh_parts(np.minimum(np.abs(x) * F(0.5), F(10)))
    return np.where(x < 0, fma(-g, q, s - F(1)), x)


def normaliser_sigmoid(x):
    a = np.minimum(np.abs(x), F(110))
    w = a * -LOG2E
    k = np.where(w < F(-64), F(64), F(0))
    e = exp2(w + k)
    e_rest, b = e * (fma(a, c("-0x1.4ae0cp-26"), fma(a, -LOG2E, -w)) * LN2), e * power(-k)
    d = F(1) + b
    d_rest, i = fma(e_rest, power(-k), (F(1) - d) + b), F(1) / d
    top, top_rest = np.where(x < 0, e, F(1)), np.where(x < 0, e_rest, F(0))
    y = fma(fma(-(top * i), d_rest, fma(-(top * i), d, top)) + top_rest, i, top * i)
    return np.where(x < 0, y * power(-k), y)


def reduced(w):
    """n and f of D(w), L2."""
    n = fma(w, -LOG2E, SHIFT) - SHIFT
    return n, fma(n, c("-0x1.05c61p-29"), fma(n, LN2, w))


def quotient(x, n, f, name="exp"):
    """x / (1 + 2^n e^-f)."""
    P = power(n - F(32))
    S = P + F(2**-32)
    return x / (fma(P * f, horner(CONSTANTS[name], f), (P - S) + F(2**-32)) + S) * F(2**-32)


def sigmoid(x):
    return quotient(F(1), *reduced(np.clip(x, F(-110), F(32))))


def silu(x):
    a = np.clip(x, F(-110), F(32))
    return np.where(x < F(32), quotient(a, *reduced(a)), x)


def exp(x):
    """With the numbers of e^-f, whose sign is turned around: f, and so the polynomial."""
    n, f = reduced(-np.clip(x, F(-87), F(89)))
    return np.where(x < F(-86.5), F(0), fma(horner(CONSTANTS["exp"], f), f, F(1)) * power(n - F(1)) * F(2))


def gelu_tanh(x):
    a, root = np.clip(x, c("-0x1.59999ap+3"), F(6)), c("0x1.65d26p+4")
    s = fma(a, a, root)
    w = a * s
    w_rest = fma(a, fma(a, a, root - s) + c("-0x1.226128p-20"), fma(a, s, -w))
    n = fma(w, c("-0x1.a5a7dp-4"), SHIFT) - SHIFT
    f = fma(n, c("0x1.36dap+3"), w) + fma(n, c("-0x1.549446p-16"), w_rest)
    return np.where(x < F(6), quotient(a, n, f, "gelu_tanh"), x)


def gelu(x):
    b = np.clip(np.nan_to_num(x), F(-14.5), F(6))
    a, sign = np.abs(b), np.where(x < 0, F(-1), F(1))
    fraction, i = np.frexp(a + F(1))
    pieces_of_w = np.array([list(map(c, piece)) for piece in CONSTANTS["gelu pieces"]])
    node, v, *p = np.moveaxis(pieces_of_w[4 * (i - 1) + ((fraction - F(0.5)) * F(8)).astype(int)], -1, 0)
    f, z, v = a - node, b * a, v * sign
    q = reduce(lambda q, coefficient: fma(q, f, coefficient), p[::-1])
    n = fma(fma(f * sign, p[0], z + v), c("-0x1.715476p-1"), SHIFT) - SHIFT
    r = (z + fma(n, c("0x1.62e4p+0"), v)) + fma(f * sign, q, fma(n, c("0x1.7f7d1cp-19"), fma(b, a, -z)))
    return np.where(x < F(6), quotient(b, n, r, "gelu"), x)
