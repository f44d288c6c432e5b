"""Sections 4 to 6 of docs/numerics.md, the sigmoid of section 13, E of section 16."""

import numpy as np

from arithmetic import CONSTANTS, F, c, fma, horner, power

LOG2E, LN2, SHIFT = c("0x1.715476p+0"), c("0x1.62e43p-1"), c("0x1.8p+23")


def exp2(x):
    x = np.asarray(x, F)
    inside = np.where(x >= F(-126), x, F(0))
    value = horner(CONSTANTS["exp2"], inside - np.rint(inside)) * power(np.rint(inside))
    return np.where(np.isnan(x), x, np.where(x < F(-126), F(0), value))


def mode_exp2(x):
    return horner(CONSTANTS["mode exp2"], x - np.rint(x)) * power(np.rint(x))


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
    s, g, q = tanh_parts(np.where(np.isnan(x), F(0), np.minimum(np.abs(x), F(10))))
    y, e = fma(g, q, F(1) - s), fma(-g, q, s)
    r = fma(fma(c("0x1.4afd64p-2"), y, c("0x1.4afd78p-3")), y, c("0x1.0295fap-1"))
    r = r * fma(-(F(1) + e), r, c("0x1.0001acp+1"))
    t = y * r
    t = fma(fma(-t, e, y - t), r, t)
    return np.where(np.isnan(x), x, np.copysign(t, x))


def normaliser_sigmoid(x):
    x = np.asarray(x, F)
    a = np.where(np.isnan(x), F(0), np.minimum(np.abs(x), F(110)))
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
    return np.where(np.isnan(x), x, np.where(x < 0, y * power(-k), y))
