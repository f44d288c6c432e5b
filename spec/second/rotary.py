"""Sections 12 and L5 of docs/numerics.md. Fractions of 2^128 are Python's integers; the product of
two is a * b >> 128."""

import math
from functools import reduce

import numpy as np

from arithmetic import CONSTANTS, F, fma

ONE = 1 << 128
C, L, E = (int(number, 16) for number in CONSTANTS["C L E"])
COSINES, SINES = ([int(number, 16) for number in CONSTANTS[name]][::-1] for name in ("cosine", "sine"))


def log2_parts(x):
    """w and g: log2(x), of an x from 1 up."""
    M, w = int(math.frexp(x)[0] * 2**53), math.frexp(x)[1] - 1
    larger = M > 0x16A09E667F3BCC
    s = (2**53 - M << 128) // (2**53 + M) if larger else (M - 2**52 << 128) // (M + 2**52)
    a = reduce(lambda a, k: (ONE - 1) // (2 * k + 1) + ((s * s >> 128) * a >> 128), range(25, 0, -1), 0)
    a = s + (s * ((s * s >> 128) * a >> 128) >> 128)
    g = 2 * a + (a * E >> 128)
    return w, ONE - g if larger else g


def ratio(base, n):
    """R, base^(-1 / n)."""
    w, g = log2_parts(base)
    x = (((w % n << 128) + g) // n * L >> 128) // 16
    u = reduce(lambda u, k: (x - (x * u >> 128)) // k, range(18, 0, -1), 0)
    u = reduce(lambda u, _: 2 * u - (u * u >> 128), range(4), u)
    return (ONE - 1 - u) >> (w // n)


def turns(R, n, first=C >> 64):
    """T[i] of n waves, each R times the one before."""
    return reduce(lambda T, _: T + [T[-1] * R >> 128], range(n - 1), [first])


def frequency_turns(f):
    M, e = int(math.frexp(abs(f))[0] * 2**53), math.frexp(f)[1] - 53
    return (M * C << max(e, 0) >> 64 - min(e, 0)) * (1 if f > 0 else -1) % ONE


def angle(p, T):
    """Cosine and sine of the angle p T."""
    q, r = divmod((p * T + (1 << 125)) % ONE, 1 << 126)
    r -= 1 << 125
    z, j = (abs(r) >> 62) ** 2 >> 64, 128 - abs(r).bit_length()
    c, s = (reduce(lambda sum, number: number - (sum * z >> 64), numbers) for numbers in (COSINES, SINES))
    numbers = np.int64([c, s * (abs(r) << j >> 64) >> 64]).astype(F)
    cosine, sine = np.ldexp(numbers, (-62, -60 - j)) * F([1, 1 if r > 0 else -1])
    return [(cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)][q]


def waves(positions, T):
    """Cosines and sines, (positions, waves) each."""
    return np.moveaxis(np.array([[angle(int(at), t) for t in T] for at in positions], F), -1, 0)


def rotary(x, positions, base=None, frequencies=None):
    """Rows of pairs (x, y), the halves of a row, at positions."""
    (x, y), n = np.split(x, 2, 1), x.shape[1] // 2
    T = turns(ratio(base, n), n) if frequencies is None else list(map(frequency_turns, frequencies))
    cosine, sine = waves(positions, T)
    return {"cosine": cosine, "sine": sine, "y": np.hstack([fma(-y, sine, x * cosine), fma(y, cosine, x * sine)])}


def real(X):
    """A fraction in double: 63 bits from the highest one on, rounded."""
    shift = max(X.bit_length() - 63, 0)
    return math.ldexp(X >> shift, shift - 128)


def ln(x):
    w, g = log2_parts(x if x >= 1 else 1 / x)
    return math.copysign((w + real(g)) * float.fromhex("0x1.62e42fefa39efp-1"), x - 1)


def scaling(rule, dims, base, factor, trained_length=0, length=0, slow_turns=0, fast_turns=0, **p):
    """Frequencies of a scaled embedding, and the factor on cosines and sines."""
    s, n, trained, is_longer = factor, dims // 2, trained_length, length > trained_length
    by = s if rule == "ntk" else s * (length / trained) + -(s + -1) if rule == "dynamic_ntk" and is_longer else 1
    R, TWO_PI, i = ratio(base * (by / real(ratio(by, n - 1))) if by > 1 else base, n), 2 * math.pi, np.arange(n)
    g, factor = np.array([1.0] + [real(power) for power in turns(R, n - 1, R)]), 1.0
    f = g / s if rule == "linear" else np.where(i < p["rotated_dims"] // 2, g / s, 0) if rule == "proportional" else g
    if rule == "llama3":
        t = np.clip((g * trained / TWO_PI + -slow_turns) / (fast_turns + -slow_turns), 0, 1)
        f = (1 + -t) * (g / s) + t * g
    elif rule == "yarn":
        low, high = (n * ln(trained / (TWO_PI * each)) / ln(base) for each in (fast_turns, slow_turns))
        low, high = (low, high) if "exact_pairs" in p else (math.floor(low), math.ceil(high))
        low, high = max(low, 0), min(high, 2 * n - 1)
        t = np.clip((i + -low) / (high + (0.001 if low == high else 0) + -low), 0, 1)
        f = (1 + -t) * g + t * (g / s)
        of, over = (0.1 * p.get(m, 1) * ln(s) + 1 if s > 1 else 1 for m in ("mscale", "mscale_all_dim"))
        factor = of / over if "mscale" in p else of
    elif rule == "longrope":
        f = g / p["long_factors" if is_longer else "short_factors"]
        factor = math.sqrt(1 + ln(s) / ln(trained)) if s > 1 else 1.0
    return {"frequencies": f, "attention_factor": np.array([factor])}


def sinusoids(positions, dim, base, to_base, interleaved):
    """L5: by dim, or to base; interleaved or in halves."""
    n = dim // 2
    R = ratio(base, n - 1 if to_base else dim if dim % 2 else n)
    cosine, sine = waves(positions, turns(R * R >> 128 if dim % 2 and not to_base else R, n if to_base else dim - n))
    y = np.stack([sine, cosine], 2).reshape(len(sine), -1) if interleaved else np.hstack([sine, cosine[:, :n]])
    return np.pad(y[:, :dim], ((0, 0), (0, max(dim - y.shape[1], 0))))
