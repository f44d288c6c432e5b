#!/usr/bin/env python3
"""Prints tests/angles.inc: cosines and sines of rotary embeddings, by mpmath with 600 bits, rounded to f32 once.

Each line is base, pairs, pair, position, cosine, sine.
"""
import random

import mpmath

mpmath.mp.prec = 600
POSITIONS = [1, 2, 7, 100, 4095, 10**6, 10**6 + 1, 2**24 + 1, 2**31, -1, -3, -10**6, -(2**31) - 5, 2**40, -(2**40)]


def nearest(x):
    """The f32 next to x, as C writes it."""
    sign, mantissa, exponent, bits = x._mpf_
    significand = mpmath.nint(mpmath.mpf(mantissa) * mpmath.mpf(2) ** (24 - bits))
    text = float.hex(float(significand) * 2.0 ** (exponent + bits - 24)).replace("0000000p", "p")
    return "%s%sf" % ("-" if sign else "", text)


def main():
    chooser = random.Random(1)
    print("/* Printed by tests/angles.py. */")
    for base, pairs in [(10000.0, 32), (10000.0, 64), (500000.0, 64), (1e6, 40), (1.0, 3), (1.5, 5), (3.0, 129)]:
        for position in POSITIONS:
            pair = chooser.randrange(pairs)
            angle = position * mpmath.power(mpmath.mpf(base), mpmath.mpf(-pair) / pairs)
            print(
                "{%.17g, %d, %d, INT64_C(%d), %s, %s},"
                % (base, pairs, pair, position, nearest(mpmath.cos(angle)), nearest(mpmath.sin(angle)))
            )


main()
