"""Sections 1 and 4 to 6 of docs/numerics.md, the sigmoid of section 13, and E of section 16: numbers of f32, one
rounding for each operation. NumPy's +, -, *, / and sqrt of float32 are IEEE operations. What touches an array stays
float32: F and c make constants."""

import functools
import json
import pathlib

import numpy as np

CONSTANTS = json.loads((pathlib.Path(__file__).resolve().parents[1] / "constants.json").read_text(encoding="utf-8"))
np.seterr(all="ignore")
F, INF, NAN = np.float32, np.float32(np.inf), np.array(0x7FC00000, np.uint32).view(np.float32)


def c(text):
    return F(float.fromhex(text))


def fma(a, b, addend):
    """The product is exact in double. The sum is rounded to odd there: if it is not exact and its last bit is 0, the
    neighbour towards the exact sum takes its place. So the second rounding is as if it were the only one."""
    a, b, addend = (np.asarray(x, F).astype(np.float64) for x in (a, b, addend))
    product = a * b
    total = np.asarray(product + addend)
    part = total - product
    rest = (product - (total - part)) + (addend - part)
    moves = (rest != 0) & (total.view(np.int64) & 1 == 0) & np.isfinite(total)
    return np.where(moves, np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)), total).astype(F)


def chain(pairs, r=F(0)):
    """r = fma(a, b, r) for each pair in turn."""
    return functools.reduce(lambda r, pair: fma(*pair, r), pairs, r)


def horner(coefficients, x):
    return functools.reduce(lambda value, coefficient: fma(value, x, coefficient), map(c, coefficients))


def power(n):
    """2^n. What becomes of NaN does not matter: the other factor is NaN, too."""
    return np.ldexp(F(1), np.nan_to_num(n).astype(np.int32))


def sixteen(a, b=None, places=None):
    """Sixteen sums from +0, of a or of products of a and b in order, each to the sum of its place mod 16; folded."""
    sums = [F(0)] * 16
    for at, place in enumerate(range(len(a)) if places is None else places):
        sums[place % 16] = sums[place % 16] + a[at] if b is None else fma(a[at], b[at], sums[place % 16])
    for half in (8, 4, 2, 1):
        sums = [sums[i] + sums[i + half] for i in range(half)]
    return sums[0]


def canonical(x):
    return np.where(np.isnan(x), NAN, np.asarray(x, F) + F(0))


def widened(array):
    """f32, from f32, f16, or the bits of bf16."""
    return (array.astype(np.uint32) << 16).view(F) if array.dtype == np.uint16 else array.astype(F)


def bf16_bits(x):
    bits = np.asarray(x, F).view(np.uint32)
    return np.where(np.isnan(x), 0x7FC0, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def stored(x, dtype):
    """A result as it is written (section 3, step 6): f32, f16, or the bits of bf16."""
    if dtype != np.uint16:
        return canonical(x).astype(dtype) + dtype.type(0)
    return np.where(bf16_bits(x) == 0x8000, 0, bf16_bits(canonical(x))).astype(np.uint16)


LOG2E, LN2, SHIFT = c("0x1.715476p+0"), c("0x1.62e43p-1"), c("0x1.8p+23")


def mode_exp2(x, constants="mode exp2"):
    return horner(CONSTANTS[constants], x - np.rint(x)) * power(np.rint(x))


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
    x = np.asarray(x, F)
    s, g, q = tanh_parts(np.minimum(np.abs(x), F(10)))
    y, e = fma(g, q, F(1) - s), fma(-g, q, s)
    r = fma(fma(c("0x1.4afd64p-2"), y, c("0x1.4afd78p-3")), y, c("0x1.0295fap-1"))
    r = r * fma(-(F(1) + e), r, c("0x1.0001acp+1"))
    t = y * r
    return np.copysign(fma(fma(-t, e, y - t), r, t), x)


def normaliser_sigmoid(x):
    a = np.minimum(np.abs(x), F(110))
    w = a * -LOG2E
    w_rest = fma(a, c("-0x1.4ae0cp-26"), fma(a, -LOG2E, -w))
    k = np.where(w < F(-64), F(64), F(0))
    e = exp2(w + k)
    e_rest = e * (w_rest * LN2)
    b = e * power(-k)
    d = F(1) + b
    d_rest = fma(e_rest, power(-k), (F(1) - d) + b)
    top, top_rest = np.where(x < 0, e, F(1)), np.where(x < 0, e_rest, F(0))
    i = F(1) / d
    y = fma(fma(-(top * i), d_rest, fma(-(top * i), d, top)) + top_rest, i, top * i)
    return np.where(x < 0, y * power(-k), y)
