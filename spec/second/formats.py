"""Sections 14 and 15 of docs/numerics.md: numbers that are written to a quantised cache and read again."""

import numpy as np

from arithmetic import F, NAN, c, canonical, fma, power
from attention import attention
from rotary import rotary

IQ4_NL = np.array((-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113), F)
LEAST = c("0x1.a36e2ep-14")


def half(x):
    return np.asarray(x, F).astype(np.float16).astype(F)


def inverse(d):
    return F(0) if d == 0 else F(1) / d


def hadamard(x, n):
    """Of each block of n numbers."""
    m, y = n.bit_length() - 1, x
    for step in range(m):
        u, v = np.moveaxis(y.reshape(-1, 2, 1 << step), 1, 0)
        y = np.stack([u + v, u - v], 1)
    return canonical(y.reshape(x.shape) * (power(-(m // 2)) * (c("0x1.6a09e6p-1") if m % 2 else F(1))))


def nearest(x, round_scale=F, centre=F(0)):
    """NEAREST, SCALE, s8."""
    a = np.max(np.abs(x - centre))
    t, scale = (F(0), F(0)) if a < F(2**-100) else (F(127) / a, round_scale(a / F(127)))
    return fma(np.rint((x - centre) * t), scale, centre)


def whole(x, least=F(0), nearest=np.rint, store=F):
    """q8_KV, and OpenVINO's s8, whose scale is not 0; q8_0."""
    d = np.max(np.abs(x)) / F(127) or least
    return nearest(x * inverse(d)).astype(F) * store(d)


def away(y):
    return np.trunc(y + np.copysign(0.5, y, dtype=np.float64))


def symmetric(x, bias):
    """q4_0 and q5_0."""
    d = x[np.argmax(np.abs(x))] / F(-bias)
    return (np.minimum(np.floor(x * inverse(d) + F(bias + 0.5)), F(2 * bias - 1)) - F(bias)) * half(d)


def minimum(x, last, whole_of=lambda y: np.floor(y + F(0.5)), store=half):
    """q4_1 and q5_1; NEAREST, MINIMUM."""
    d = (np.max(x) - np.min(x)) / F(last)
    return fma(np.minimum(whole_of((x - np.min(x)) * inverse(d)), F(last)), store(d), store(np.min(x)))


def iq4_nl(x):
    m = x[np.argmax(np.abs(x))]
    if np.abs(m) < c("0x1.203afap-50"):
        return x * F(0)
    y = x * inverse(m / F(-127))
    q = IQ4_NL[np.sum((IQ4_NL[:-1] + IQ4_NL[1:])[:, None] <= y + y, 0)]
    above, below = np.cumsum(x * x * q * x)[-1], np.cumsum(x * x * q * q)[-1]
    return q * half(F(0) if below == 0 else above / below)


def zero_point(x, last, channel=False, least=LEAST):
    """OpenVINO; NEAREST, ZERO."""
    width = np.max(x) - np.min(x)
    scale = (width * (F(1) / F(last)) if channel else width / F(last)) or least
    zero = F(0) - np.min(x) / scale
    return (np.clip(np.rint(fma(x, F(1) / scale, zero)), F(0), F(last)) - zero) * scale


def kivi(x, last):
    scale = half(half(np.max(x) - np.min(x)) / F(last))
    codes = np.clip(np.rint(half(half(x - np.min(x)) / scale)), F(0), F(last)) if scale else x * F(0)
    return fma(codes, scale, np.min(x))


def fixed(x, scale, first, last):
    """ORT."""
    return np.where(np.isnan(x), F(last), np.clip(np.rint(x * inverse(scale)), F(first), F(last))) * scale


def fp8(y, bits, least, top):
    """The nearest number of E4M3 or E5M2."""
    step = power(np.maximum(np.frexp(y)[1] - 1, least) - bits)
    return np.clip(np.rint(y / step) * step, F(-top), F(top))


# What shares a scale: a row, 32 numbers of it, or a dim of the 32 keys; and how these numbers are computed.
FORMATS = {
    "i8_f32": ("row", nearest), "i8_f16": ("row", lambda x: nearest(x, half)), "iq4_nl": (32, iq4_nl),
    "q8_0": (32, lambda x: whole(x, nearest=away, store=half)), "q8_kv": ("row", whole),
    "q4_0": (32, lambda x: symmetric(x, 8)), "q5_0": (32, lambda x: symmetric(x, 16)),
    "q4_1": (32, lambda x: minimum(x, 15)), "q5_1": (32, lambda x: minimum(x, 31)),
    "openvino_i8": ("row", lambda x: whole(x, LEAST)),
    "nearest_minimum": (32, lambda x: minimum(x, 255, np.rint, F)),
    "nearest_zero": (32, lambda x: zero_point(x, 15, least=np.max(np.abs(x)))),
    "openvino_u8": (32, lambda x: zero_point(x, 255)), "openvino_u4": (32, lambda x: zero_point(x, 15)),
    "openvino_u8_channel": ("dim", lambda x: zero_point(x, 255, True)), "kivi_k4": ("dim", lambda x: kivi(x, 15)),
    "kivi_k2": ("dim", lambda x: kivi(x, 3)), "kivi_v4": (32, lambda x: kivi(x, 15)),
    "ort_s8": ("row", lambda x, s: fixed(x, s, -128, 127)), "ort_u4": ("row", lambda x, s: fixed(x, s, -8, 7)),
    "fixed_i8": ("row", lambda x, s: fixed(np.where(np.isnan(x), F(0), x / s), F(1), -128, 127) * s),
    "e4m3": ("row", lambda x, s: fp8(x / s, 3, -6, 448) * s),
    "e5m2": ("row", lambda x, s: fp8(x / s, 2, -14, 57344) * s),
}


def cache(p, arrays):
    share, compute = FORMATS[p["format"]]
    x, is_fixed = half(arrays["x"]) if "kivi" in p["format"] else arrays["x"], "fixed_scale" in p
    more = [F(p["fixed_scale"])] if is_fixed else [F, arrays["centre"]] if "centre" in arrays else []
    groups = x.T if share == "dim" else x.reshape(-1, 32) if share == 32 else x
    numbers = [compute(x, *more) if is_fixed or np.all(np.isfinite(x)) else np.full_like(x, NAN) for x in groups]
    numbers = np.transpose(numbers) if share == "dim" else np.reshape(numbers, x.shape)
    return {"numbers": numbers, **attention({"scale": 0.125, "offset": 0}, {"q": x[:1], "k": numbers, "v": numbers})}


def moved(p, arrays):
    """Section 12: keys of a cache that are rotated on, and written again."""
    keys = hadamard(cache(p, arrays)["numbers"], p["hadamard"])
    turned = rotary(p, {"x": keys, "positions": [p["rotate_by"]] * len(keys)})["y"]
    return cache(p, {"x": hadamard(turned, p["hadamard"])})
