"""What a caller fixes for modes in int8: vectors for each layer and KV head, from a text of calibration; and a Hadamard
matrix, which needs none."""

import numpy

LETTERS = {"c": "key_centre", "k": "key_scale", "v": "value_scale"}


def root_mean_square(x, axis=None):
    return numpy.sqrt(numpy.square(x, dtype=numpy.float64).mean(axis)).astype(numpy.float32)


def hadamard(size):
    """Orthogonal; `size` is a power of two."""
    found = numpy.ones((1, 1), numpy.float32)
    while len(found) < size:
        found = numpy.block([[found, found], [found, -found]])
    return found / numpy.float32(numpy.sqrt(size))


class Fixed:
    """`found` is what a model's qkv() gives.

    c: the mean of K. v: the rms of each channel of V. k: sqrt(max |k| / max |q|) of each channel, so that the largest
    numbers of K and of Q are alike in it; with c, of K less its mean. h: the caller turns Q and K by a Hadamard matrix.
    """

    def __init__(self, found):
        self.layers = []
        for q, k, v in found:
            largest_q = numpy.abs(q.reshape(len(k), -1, q.shape[-1])).max(1)
            centre = k.mean(1)
            self.layers.append({"c": centre, "v": root_mean_square(v, 1),
                                "k": numpy.sqrt(numpy.abs(k).max(1) / largest_q),
                                "ck": numpy.sqrt(numpy.abs(k - centre[:, None]).max(1) / largest_q)})

    def vectors(self, layer, head, letters):
        """{name: vector} of those that `letters` name; {"turn": True} for h."""
        found = self.layers[layer]
        keys = {letter: "ck" if letter == "k" and "c" in letters else letter for letter in letters.replace("h", "")}
        vectors = {LETTERS[letter]: found[key][head] for letter, key in keys.items()}
        return vectors | ({"turn": True} if "h" in letters else {})
