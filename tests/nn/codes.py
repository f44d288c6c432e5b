"""Writes codes.inc: blocks of random bytes of each format, and the numbers that gguf.quants.dequantize() reads; all codes
of e4m3 and a scale, and the products of ml_dtypes' numbers with it.

    python3 tests/nn/codes.py > tests/nn/codes.inc

Needs gguf (0.19.0 wrote the file), ml_dtypes (0.6.0) and numpy (2.4.6)."""

import gguf
import ml_dtypes
import numpy

DIMS = 256
# Where f16 numbers begin in each block, which must be finite.
FORMATS = {
    "Q8_0": [0],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
    "IQ4_NL": [0],
    "MXFP4": [],
}


def blocks(generator, name):
    dims, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    data = generator.integers(0, 256, (DIMS // dims, size), dtype=numpy.uint8)
    for place in FORMATS[name]:
        halves = generator.standard_normal(len(data)).astype(numpy.float16)
        data[:, place : place + 2] = halves.view(numpy.uint8).reshape(-1, 2)
    return data.reshape(1, -1)


def words(numbers, form, per_line):
    for i in range(0, len(numbers), per_line):
        print("        " + " ".join(form.format(n) + "," for n in numbers[i : i + per_line]))


def entry(name, data, numbers):
    print(f"    {{FOVEA_NN_FORMAT_{name}, {{")
    words(data.ravel(), "{}", 24)
    print("    }, {")
    words(numbers.view(numpy.uint32), "0x{:08x}", 9)
    print("    }},")


def fp8(generator):
    codes, scale = numpy.arange(256, dtype=numpy.uint8), generator.standard_normal(1).astype(numpy.float32)
    numbers = codes.view(ml_dtypes.float8_e4m3fn).astype(numpy.float32) * scale
    numbers[numpy.isnan(numbers)] = numpy.float32("nan")
    return numpy.concatenate([codes, scale.view(numpy.uint8)]), numbers


def main():
    generator = numpy.random.default_rng(1)
    print("/* Written by codes.py. */")
    for name in FORMATS:
        data = blocks(generator, name)
        numbers = gguf.quants.dequantize(data, gguf.GGMLQuantizationType[name]).astype(numpy.float32).ravel()
        entry(name, data, numbers)
    entry("E4M3", *fp8(generator))


main()
