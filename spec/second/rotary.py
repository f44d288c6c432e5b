"""Sections 12 and L5 of docs/numerics.md. Fractions of 2^128 are Python's integers."""

import itertools
import math

import numpy as np

from arithmetic import CONSTANTS, F, fma

ONE = 1 << 128
C, L, E = (int(number, 16) for number in CONSTANTS["C L E"])
COSINES, SINES = ([int(number, 16) for number in CONSTANTS[name]] for name in ("cosine", "sine"))


def times(a, b):
    return a * b >> 128


def parts(number):
    """M and e of M 2^e, M from 2^52 to 2^53 - 1."""
    fraction, exponent = math.frexp(number)
    return int(math.ldexp(fraction, 53)), exponent - 53


def log2_parts(x):
    """w and g: log2(x), of an x from 1 up."""
    M, e = parts(x)
    larger = M > 0x16A09E667F3BCC
    s = (2**53 - M << 128) // (2**53 + M) if larger else (M - 2**52 << 128) // (M + 2**52)
    a = 0
    for k in range(25, 0, -1):
        a = (ONE - 1) // (2 * k + 1) + times(times(s, s), a)
    a = s + times(s, times(times(s, s), a))
    g = 2 * a + times(a, E)
    return e + 52, ONE - g if larger else g


def ratio(base, n):
    """R, base^(-1 / n)."""
    w, g = log2_parts(base)
    x, u = times(((w % n << 128) + g) // n, L) // 16, 0
    for k in range(18, 0, -1):
        u = (x - times(x, u)) // k
    for _ in range(4):
        u = 2 * u - times(u, u)
    return (ONE - 1 - u) >> (w // n)


def turns(R, n, first=C >> 64):
    """T[i] of n waves, each R times the one before."""
    return list(itertools.accumulate(range(1, n), lambda T, _: times(T, R), initial=first))


def frequency_turns(f):
    M, e = parts(abs(f))
    T = (M * C << e >> 64 if e > 0 else M * C >> 64 - e) % ONE
    return -T % ONE if f < 0 else T


def angle(p, T):
    """Cosine and sine of the angle p T."""
    A = (p * T + (1 << 125)) % ONE
    q, r = A >> 126, A % (1 << 126) - (1 << 125)
    z = (abs(r) >> 62) ** 2 >> 64
    c, s = COSINES[8], SINES[8]
    for k in range(7, -1, -1):
        c, s = COSINES[k] - (c * z >> 64), SINES[k] - (s * z >> 64)
    j = 128 - abs(r).bit_length()
    m = abs(r) << j >> 64
    cosine, sine = np.ldexp(np.array([c, m * s >> 64], np.int64).astype(F), (-62, -60 - j)) * F([1, 1 if r > 0 else -1])
    return [(cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)][q]


def rotary(p, arrays):
    """Rows of pairs (x, y), the halves of a row, at positions."""
    x, y, n = *np.split(arrays["x"], 2, 1), arrays["x"].shape[1] // 2
    T = list(map(frequency_turns, arrays["frequencies"])) if "frequencies" in arrays else turns(ratio(p["base"], n), n)
    cosine, sine = np.moveaxis(np.array([[angle(int(at), t) for t in T] for at in arrays["positions"]], F), -1, 0)
    y = np.concatenate([fma(-y, sine, x * cosine), fma(y, cosine, x * sine)], 1)
    return {"cosine": cosine, "sine": sine, "y": y}


def real(X):
    """A fraction in double: 63 bits from the highest one on, rounded."""
    shift = max(X.bit_length() - 63, 0)
    return math.ldexp(X >> shift, shift - 128)


def ln(x):
    w, g = log2_parts(x if x >= 1 else 1 / x)
    return math.copysign((w + real(g)) * float.fromhex("0x1.62e42fefa39efp-1"), x - 1)


def scaling(p, arrays):
    """Frequencies of a scaled embedding, and the factor on cosines and sines."""
    rule, s, n, base, trained = p["rule"], p["factor"], p["dims"] // 2, p["base"], p.get("trained_length", 0)
    is_longer, slow, fast = p.get("length", 0) > trained, p.get("slow_turns", 0), p.get("fast_turns", 0)
    by = s if rule == "ntk" else s * (p["length"] / trained) + -(s + -1) if rule == "dynamic_ntk" and is_longer else 1
    R, TWO_PI, i = ratio(base * (by / real(ratio(by, n - 1))) if by > 1 else base, n), 2 * math.pi, np.arange(n)
    g = np.array([1.0] + [real(power) for power in turns(R, n - 1, R)])
    f, factor = g / s if rule == "linear" else g, 1.0
    if rule == "llama3":
        t = np.clip((g * trained / TWO_PI + -slow) / (fast + -slow), 0, 1)
        f = (1 + -t) * (g / s) + t * g
    elif rule == "yarn":
        low, high = (n * ln(trained / (TWO_PI * each)) / ln(base) for each in (fast, slow))
        low, high = (low, high) if "exact_pairs" in p else (math.floor(low), math.ceil(high))
        low, high = max(low, 0), min(high, 2 * n - 1)
        t = np.clip((i + -low) / (high + (0.001 if low == high else 0) + -low), 0, 1)
        f = (1 + -t) * g + t * (g / s)
        of, over = (0.1 * p.get(m, 1) * ln(s) + 1 if s > 1 else 1 for m in ("mscale", "mscale_all_dim"))
        factor = of / over if "mscale" in p else of
    elif rule == "longrope":
        f = g / arrays["long_factors" if is_longer else "short_factors"]
        factor = math.sqrt(1 + ln(s) / ln(trained)) if s > 1 else 1.0
    elif rule == "proportional":
        f = np.where(i < p["rotated_dims"] // 2, g / s, 0)
    return {"frequencies": f, "attention_factor": np.array([factor])}


def sinusoids(p, arrays):
    """L5: by dim, or to base; interleaved or in halves."""
    dim, n, base = p["dim"], p["dim"] // 2, p["base"]
    R = ratio(base, n - 1 if p["to_base"] else dim if dim % 2 else n)
    T = turns(times(R, R) if dim % 2 and not p["to_base"] else R, n if p["to_base"] else dim - n)
    waves = np.array([[angle(int(at), t) for t in T] for at in arrays["positions"]], F)
    y = np.concatenate([waves[..., 1], waves[:, :n, 0]], 1)
    y = waves[..., ::-1].reshape(len(y), -1)[:, :dim] if p["interleaved"] else y
    return {"y": np.pad(y, ((0, 0), (0, dim - y.shape[1])))}
