"""The bytes of ggml's blocks of weights, by NumPy alone.

Blocks of 32 numbers have the bytes of ggml's quantize_row_*_ref(). K-quants and iq4_nl are made in a simpler way than
ggml's, which searches for scales."""

import numpy

F32 = numpy.float32
IQ4_NL = numpy.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], F32)
E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], F32)


def inverse(scales):
    return numpy.divide(F32(1), scales, out=numpy.zeros_like(scales), where=scales != 0)


def halves(*numbers):
    return numpy.concatenate(numbers, 1).astype(numpy.float16).view(numpy.uint8)


def whole(numbers, most):
    return numpy.trunc(numbers).astype(numpy.int32).clip(0, most).astype(numpy.uint8)


def nibbles(codes):
    """Two codes a byte: the lower half has one of the first half."""
    middle = codes.shape[1] // 2
    return codes[:, :middle] & 15 | codes[:, middle:] << 4


def extremes(blocks):
    """The numbers with the largest magnitudes."""
    return numpy.take_along_axis(blocks, abs(blocks).argmax(1)[:, None], 1)


def nearest(numbers, table):
    """Codes of the nearest numbers of a table, the first of two."""
    return abs(numbers[..., None] - table).argmin(-1).astype(numpy.uint8)


def f32(numbers):
    return numbers.astype(F32).view(numpy.uint8)


def f16(numbers):
    return halves(numbers)


def bf16(numbers):
    bits = numbers.view(numpy.uint32)
    return (bits + 0x7fff + (bits >> 16 & 1) >> 16).astype(numpy.uint16).view(numpy.uint8)


def q8_0(blocks):
    scales = abs(blocks).max(1, keepdims=True) / F32(127)
    scaled = blocks * inverse(scales)
    codes = numpy.trunc(scaled + numpy.copysign(F32(0.5), scaled)).astype(numpy.int8)
    return numpy.concatenate([halves(scales), codes.view(numpy.uint8)], 1)


def from_extreme(blocks, zero):
    """The number with the largest magnitude gets the code 0, which stands for -zero."""
    scales = extremes(blocks) / F32(-zero)
    return halves(scales), whole(blocks * inverse(scales) + F32(zero + 0.5), 2 * zero - 1)


def from_minimum(blocks, most):
    """After the scale comes the minimum, which is the code 0."""
    least = blocks.min(1, keepdims=True)
    scales = (blocks.max(1, keepdims=True) - least) / F32(most)
    return halves(scales, least), whole((blocks - least) * inverse(scales) + F32(0.5), most)


def fifths(codes):
    return numpy.packbits(codes >> 4, axis=1, bitorder="little")


def q4_0(blocks):
    scales, codes = from_extreme(blocks, 8)
    return numpy.concatenate([scales, nibbles(codes)], 1)


def q4_1(blocks):
    scales, codes = from_minimum(blocks, 15)
    return numpy.concatenate([scales, nibbles(codes)], 1)


def q5_0(blocks):
    scales, codes = from_extreme(blocks, 16)
    return numpy.concatenate([scales, fifths(codes), nibbles(codes)], 1)


def q5_1(blocks):
    scales, codes = from_minimum(blocks, 31)
    return numpy.concatenate([scales, fifths(codes), nibbles(codes)], 1)


def iq4_nl(blocks):
    """The number with the largest magnitude becomes the first of the table."""
    scales = extremes(blocks) / IQ4_NL[0]
    return numpy.concatenate([halves(scales), nibbles(nearest(blocks * inverse(scales), IQ4_NL))], 1)


def mxfp4(blocks):
    most = abs(blocks).max(1, keepdims=True)
    exponents = numpy.where(most > 0, numpy.floor(numpy.log2(numpy.where(most > 0, most, 1))) - 2, -127)
    codes = nearest(blocks * numpy.exp2(-exponents).astype(F32), E2M1)
    return numpy.concatenate([(exponents + 127).astype(numpy.uint8), nibbles(codes)], 1)


def shared(scales, most):
    """Scales of a block as whole multiples, up to `most`, of one number of f16."""
    unit = scales.max(1, keepdims=True) / F32(most)
    return unit, numpy.rint(scales * inverse(unit)).astype(numpy.uint8)


def with_minima(blocks, most):
    """Scales and minima of each 32 of 256 numbers: the bytes of both, and the codes."""
    groups = blocks.reshape(-1, 8, 32)
    least = (-groups.min(2)).clip(0)
    unit, scales = shared((groups.max(2) + least) / F32(most), 63)
    least_unit, minima = shared(least, 63)
    steps = (unit * scales)[:, :, None]
    codes = whole((groups + (least_unit * minima)[:, :, None]) * inverse(steps) + F32(0.5), most)
    upper = scales[:, 4:] & 15 | minima[:, 4:] << 4
    packed = [scales[:, :4] | scales[:, 4:] >> 4 << 6, minima[:, :4] | minima[:, 4:] >> 4 << 6, upper]
    return numpy.concatenate([halves(unit, least_unit), *packed], 1), codes


def pairs(codes):
    """Of 8 groups of 32 codes: two groups share bytes."""
    return (codes[:, 0::2] & 15 | codes[:, 1::2] << 4).reshape(-1, 128)


def q4_k(blocks):
    scales, codes = with_minima(blocks, 15)
    return numpy.concatenate([scales, pairs(codes)], 1)


def q5_k(blocks):
    scales, codes = with_minima(blocks, 31)
    upper = numpy.packbits(codes >> 4, axis=1, bitorder="little")[:, 0]
    return numpy.concatenate([scales, upper, pairs(codes)], 1)


def q6_k(blocks):
    """Codes less 32, with a scale for each 16."""
    groups = blocks.reshape(-1, 16, 16)
    unit, scales = shared(abs(groups).max(2) / F32(31), 127)
    codes = whole(groups * inverse((unit * scales)[:, :, None]) + F32(32.5), 63).reshape(-1, 2, 128)
    lower = codes[:, :, :64] & 15 | codes[:, :, 64:] << 4
    upper = codes.reshape(-1, 2, 4, 32) >> 4
    upper = upper[:, :, 0] | upper[:, :, 1] << 2 | upper[:, :, 2] << 4 | upper[:, :, 3] << 6
    return numpy.concatenate([lower.reshape(-1, 128), upper.reshape(-1, 64), scales, halves(unit)], 1)


# Of each type: its number in the format, numbers of a block, and what writes blocks.
KINDS = {
    "f32": (0, 1, f32), "f16": (1, 1, f16), "bf16": (30, 1, bf16), "q4_0": (2, 32, q4_0), "q4_1": (3, 32, q4_1),
    "q5_0": (6, 32, q5_0), "q5_1": (7, 32, q5_1), "q8_0": (8, 32, q8_0), "q4_k": (12, 256, q4_k),
    "q5_k": (13, 256, q5_k), "q6_k": (14, 256, q6_k), "iq4_nl": (20, 32, iq4_nl), "mxfp4": (39, 32, mxfp4),
}


def number_of(kind):
    return KINDS[kind][0]


def fits(columns, kind):
    """Whether rows of so many numbers are whole blocks."""
    return columns % KINDS[kind][1] == 0


def data_of(tensor, kind):
    """The bytes of a tensor."""
    _, dims, write = KINDS[kind]
    return write(numpy.ascontiguousarray(tensor, F32).reshape(-1, dims)).tobytes()
