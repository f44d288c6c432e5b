"""Sections 14 and 15 of docs/numerics.md: numbers that are written to a quantised cache and read again."""

import numpy as np

from arithmetic import F, c, fma, power
from attention import attention

IQ4_NL = np.array((-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113), F)
LEAST = c("0x1.a36e2ep-14")


def half(x):
    return np.asarray(x, F).astype(np.float16).astype(F)


def inverse(d):
    return F(0) if d == 0 else F(1) / d


def nearest(x, round_scale=F):
    """NEAREST, SCALE, s8."""
    a = np.max(np.abs(x))
    return x * F(0) if a < F(2**-100) else np.rint(x * (F(127) / a)) * round_scale(a / F(127))


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
    x = half(x)
    scale = half(half(np.max(x) - np.min(x)) / F(last))
    codes = np.clip(np.rint(half(half(x - np.min(x)) / scale)), F(0), F(last)) if scale else x * F(0)
    return fma(codes, scale, np.min(x))


def fixed(x, scale, first, last):
    """ORT."""
    return np.clip(np.rint(x * inverse(scale)), F(first), F(last)) * scale


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
    "e4m3": ("row", lambda x, s: fp8(x / s, 3, -6, 448) * s),
    "e5m2": ("row", lambda x, s: fp8(x / s, 2, -14, 57344) * s),
}


def cache(p, arrays):
    share, compute = FORMATS[p["format"]]
    x, scale = arrays["x"], [F(p["fixed_scale"])] if "fixed_scale" in p else []
    groups = x.T if share == "dim" else x.reshape(-1, 32) if share == 32 else x
    numbers = np.array([compute(group, *scale) for group in groups], F)
    numbers = numbers.T if share == "dim" else numbers.reshape(x.shape)
    return {"numbers": numbers, **attention({"scale": 0.125, "offset": 0}, {"q": x[:1], "k": numbers, "v": numbers})}
