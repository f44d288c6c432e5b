"""Sections 12 and L5 of docs/numerics.md. Fractions of 2^128 are Python's integers."""

import math

import numpy as np

from arithmetic import CONSTANTS, F, fma, rounded_integer

ONE = 1 << 128
C, L, E = (int(number, 16) for number in CONSTANTS["C L E"])
COSINES, SINES = ([int(number, 16) for number in CONSTANTS[name]] for name in ("cosine", "sine"))


def times(a, b):
    return a * b >> 128


def parts(number):
    """M and e of M 2^e, M from 2^52 to 2^53 - 1."""
    fraction, exponent = math.frexp(number)
    return int(math.ldexp(fraction, 53)), exponent - 53


def ratio(base, n):
    """R, base^(-1 / n)."""
    M, e = parts(base)
    w, large = e + 52, M > 0x16A09E667F3BCC
    above, below = (2**53 - M, 2**53 + M) if large else (M - 2**52, M + 2**52)
    s = (above << 128) // below
    a = 0
    for k in range(25, 0, -1):
        a = ((ONE - 1) // (2 * k + 1) + times(times(s, s), a)) % ONE
    a = (s + times(s, times(times(s, s), a))) % ONE
    g = (2 * a + times(a, E)) % ONE
    if large:
        g = ONE - g
    h = times(((w % n << 128) + g) // n, L)
    x, u = h // 16, 0
    for k in range(18, 0, -1):
        u = (x - times(x, u)) % ONE // k
    for _ in range(4):
        u = (2 * u - times(u, u)) % ONE
    return (ONE - 1 - u) >> (w // n)


def turns(R, n):
    """T[i] of n waves, each R times the one before."""
    T = [C >> 64]
    while len(T) < n:
        T.append(times(T[-1], R))
    return T


def frequency_turns(f):
    M, e = parts(abs(f))
    T = (M * C << e >> 64 if e > 0 else M * C >> 64 - e) % ONE
    return -T % ONE if f < 0 else T


def angle(p, T):
    """Cosine and sine of the angle p T."""
    A = p * T % ONE
    q = (A + (1 << 125)) % ONE >> 126
    r = (A + (1 << 125)) % (1 << 126) - (1 << 125)
    v = abs(r) >> 62
    z = v * v >> 64
    c, s = COSINES[8], SINES[8]
    for k in range(7, -1, -1):
        c, s = COSINES[k] - (c * z >> 64), SINES[k] - (s * z >> 64)
    cosine, sine = np.ldexp(rounded_integer(c), -62), F(0)
    if r:
        j = 128 - abs(r).bit_length()
        m = abs(r) << j >> 64
        sine = np.ldexp(rounded_integer(m * s >> 64), -(60 + j)) * F(1 if r > 0 else -1)
    return [(cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)][q]


def rotary(p, arrays):
    """Rows of pairs (x, y), the halves of a row, at positions."""
    n = arrays["x"].shape[1] // 2
    given = arrays.get("frequencies", ())
    T = [frequency_turns(f) for f in given] if len(given) else turns(ratio(p["base"], n), n)
    table = np.array([[angle(int(at), t) for t in T] for at in arrays["positions"]], F)
    cosine, sine = table[..., 0], table[..., 1]
    x, y = arrays["x"][:, :n], arrays["x"][:, n:]
    y = np.concatenate([fma(-y, sine, x * cosine), fma(y, cosine, x * sine)], 1)
    return {"cosine": cosine, "sine": sine, "y": y}


def sinusoids(p, arrays):
    """L5: by dim, or to base; interleaved or in halves."""
    dim, n, base = p["dim"], p["dim"] // 2, p["base"]
    R = ratio(base, n - 1 if p["to_base"] else dim if dim % 2 else n)
    T = turns(times(R, R) if dim % 2 and not p["to_base"] else R, n if p["to_base"] else dim - n)
    rows = np.zeros((len(arrays["positions"]), dim), F)
    for row, at in zip(rows, arrays["positions"]):
        for i, (cosine, sine) in enumerate(angle(int(at), t) for t in T):
            row[2 * i if p["interleaved"] else i] = sine
            if i < n:
                row[2 * i + 1 if p["interleaved"] else len(T) + i] = cosine
    return {"y": rows}
