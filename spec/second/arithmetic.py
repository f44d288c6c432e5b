"""Section 1 of docs/numerics.md: numbers of f32, one rounding for each operation. NumPy's +, -, *, / and sqrt of
float32 are IEEE operations. What touches an array stays float32: F and c make constants."""

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


def horner(coefficients, x):
    value = c(coefficients[0])
    for coefficient in coefficients[1:]:
        value = fma(value, x, c(coefficient))
    return value


def power(n):
    return np.ldexp(F(1), np.asarray(n).astype(np.int32))


def rounded_integer(n):
    """An integer from 0 to below 2^64, rounded once: to odd at 32 bits, which a double holds, then to f32."""
    shift = max(n.bit_length() - 32, 0)
    return F(np.ldexp(float(n >> shift | (n & (1 << shift) - 1 != 0)), shift))


def fold(sums):
    for half in (8, 4, 2, 1):
        sums = sums[:half] + sums[half : 2 * half]
    return sums[0]


def sixteen(numbers, places, add=lambda total, number, at: total + number):
    """Sixteen sums from +0, of the numbers in order, each to the sum of its place mod 16; folded."""
    sums = np.zeros(16, F)
    for at, place in enumerate(places):
        sums[place % 16] = add(sums[place % 16], numbers[at], at)
    return fold(sums)


def canonical(x):
    x = np.asarray(x, F) + F(0)
    return np.where(np.isnan(x), NAN, x)


def widened(array):
    """f32, from f32, f16, or the bits of bf16."""
    return (array.astype(np.uint32) << 16).view(F) if array.dtype == np.uint16 else array.astype(F)


def bf16_bits(x):
    bits = np.asarray(x, F).view(np.uint32)
    return np.where(np.isnan(x), 0x7FC0, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def stored(x, dtype):
    """A result as it is written (section 3, step 6): f32, f16, or the bits of bf16."""
    x = canonical(x)
    if dtype == np.uint16:
        return np.where(bf16_bits(x) == 0x8000, 0, bf16_bits(x)).astype(np.uint16)
    if dtype == np.float16:
        return np.where(np.isnan(x), np.array(0x7E00, np.uint16).view(np.float16), x.astype(np.float16) + np.float16(0))
    return x
