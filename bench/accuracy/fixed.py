"""Vectors that a caller fixes for modes in int8, for each layer and KV head, from a text of calibration."""

import numpy

LETTERS = {"c": "key_centre", "k": "key_scale", "v": "value_scale"}


def root_mean_square(x, axis=None):
    return numpy.sqrt(numpy.square(x, dtype=numpy.float64).mean(axis)).astype(numpy.float32)


class Fixed:
    """`found` is what a model's qkv() gives.

    c: the mean of K. v: the rms of each channel of V. k: sqrt(max |k| / max |q|) of each channel, so that the largest
    numbers of K and of Q are alike in it; with c, of K less its mean.
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
        """{name: vector} of those that `letters` name."""
        found = self.layers[layer]
        keys = {letter: "ck" if letter == "k" and "c" in letters else letter for letter in letters}
        return {LETTERS[letter]: found[key][head] for letter, key in keys.items()}
