"""Sections 14 and 15 of docs/numerics.md: numbers that are written to a quantised cache and read again."""

import numpy as np

from arithmetic import CONSTANTS, F, INF, NAN, c, canonical, fma, half, power
from attention import attention
from rotary import rotary

LEAST, IQ4_NL = c("0x1.a36e2ep-14"), np.array(CONSTANTS["iq4_nl"], F)


def hadamard(x, block):
    """Of each block of numbers."""
    m, y = block.bit_length() - 1, x
    for step in range(m):
        u, v = np.moveaxis(y.reshape(-1, 2, 1 << step), 1, 0)
        y = np.stack([u + v, u - v], 1)
    return canonical(y.reshape(x.shape) * (power(-(m // 2)) * (c("0x1.6a09e6p-1") if m % 2 else F(1))))


def inverse(d):
    return F(0) if d == 0 else F(1) / d


def coded(x, d, nearest=np.rint, store=F, low=F(0)):
    """The codes count steps d above low; d and low are stored."""
    return fma(nearest((x - low) * inverse(d)), store(d), store(low))


def peak(x):
    """The first number of the largest magnitude."""
    return x[np.argmax(np.abs(x))]


def signed(x, store, centre=F(0)):
    """NEAREST, SCALE, s8."""
    a = np.abs(peak(x - centre))
    t, scale = (F(0), F(0)) if a < F(2**-100) else (F(127) / a, store(a / F(127)))
    return fma(np.rint((x - centre) * t), scale, centre)


def whole(x, least=F(0), nearest=np.rint, store=F):
    """q8_KV, and OpenVINO's s8, whose scale is not 0; q8_0."""
    return coded(x, np.abs(peak(x)) / F(127) or least, nearest, store)


def symmetric(x, bias):
    """q4_0 and q5_0."""
    return coded(x, peak(x) / F(-bias), lambda y: np.clip(np.floor(y + F(bias + 0.5)), 0, 2 * bias - 1) - F(bias), half)


def minimum(x, last, nearest=lambda y: np.floor(y + F(0.5)), store=half):
    """q4_1 and q5_1; NEAREST, MINIMUM."""
    return coded(x, np.ptp(x) / F(last), lambda y: np.minimum(nearest(y), F(last)), store, np.min(x))


def iq4_nl(x):
    q = IQ4_NL[np.sum((IQ4_NL[:-1] + IQ4_NL[1:])[:, None] <= x * inverse(peak(x) / F(-127)) * F(2), 0)]
    above, below = np.cumsum(x * x * q * x)[-1], np.cumsum(x * x * q * q)[-1]
    return q * half(F(0) if below == 0 or np.abs(peak(x)) < c("0x1.203afap-50") else above / below)


def zero_point(x, last, least=LEAST, is_channel=False):
    """OpenVINO; NEAREST, ZERO."""
    scale = (np.ptp(x) * (F(1) / F(last)) if is_channel else np.ptp(x) / F(last)) or least or np.abs(peak(x))
    zero = F(0) - np.min(x) / scale
    return (np.clip(np.rint(fma(x, F(1) / scale, zero)), F(0), F(last)) - zero) * scale


def kivi(x, last):
    scale = half(half(np.ptp(x)) / F(last))
    return fma(np.clip(np.rint(half(half(x - np.min(x)) / (scale or INF))), F(0), F(last)), scale, np.min(x))


def fixed(x, first, last, scale):
    """ORT."""
    return np.where(np.isnan(x), F(last), np.clip(np.rint(x * inverse(scale)), F(first), F(last))) * scale


def fp8(x, bits, least, top, scale):
    """The nearest number of E4M3 or E5M2."""
    step = power(np.maximum(np.frexp(x / scale)[1] - 1, least) - bits)
    return np.clip(np.rint(x / scale / step) * step, F(-top), F(top)) * scale


# What shares a scale: a row (0), 32 numbers of it, or a dim of the 32 keys; and how these numbers are computed.
FORMATS = {
    "i8_f32": (0, signed, F), "i8_f16": (0, signed, half), "q8_kv": (0, whole), "openvino_i8": (0, whole, LEAST),
    "q8_0": (32, whole, F(0), lambda y: np.trunc(y + np.copysign(0.5, y, dtype=np.float64)), half),
    "q4_0": (32, symmetric, 8), "q5_0": (32, symmetric, 16), "q4_1": (32, minimum, 15), "q5_1": (32, minimum, 31),
    "iq4_nl": (32, iq4_nl), "nearest_minimum": (32, minimum, 255, np.rint, F), "openvino_u4": (32, zero_point, 15),
    "nearest_zero": (32, zero_point, 15, F(0)), "openvino_u8_channel": ("dim", zero_point, 255, LEAST, True),
    "openvino_u8": (32, zero_point, 255), "kivi_k4": ("dim", kivi, 15), "kivi_k2": ("dim", kivi, 3),
    "kivi_v4": (32, kivi, 15), "ort_s8": (0, fixed, -128, 127), "ort_u4": (0, fixed, -8, 7),
    "fixed_i8": (0, lambda x, scale: np.clip(np.rint(np.nan_to_num(x / scale)), F(-128), F(127)) * scale),
    "e4m3": (0, fp8, 3, -6, 448), "e5m2": (0, fp8, 2, -14, 57344)}


def cache(x, format, **more):
    """With a fixed_scale of the caller, or a centre."""
    share, compute, *rest = *FORMATS[format], *map(F, more.values())
    x = half(x) if compute is kivi else x
    groups = x.T if share == "dim" else x.reshape(-1, share or x.shape[1])
    numbers = [compute(x, *rest) if "fixed_scale" in more or np.all(np.isfinite(x)) else x * NAN for x in groups]
    numbers = np.transpose(numbers) if share == "dim" else np.reshape(numbers, x.shape)
    return {"numbers": numbers, **attention(q=x[:1], k=numbers, v=numbers, scale=0.125, offset=0)}


def moved(x, format, base, rotate_by, **p):
    """Section 12: keys of a cache that are rotated on, and written again."""
    turned = rotary(hadamard(cache(x, format)["numbers"], p["hadamard"]), [rotate_by] * len(x), base)["y"]
    return cache(hadamard(turned, p["hadamard"]), format)
