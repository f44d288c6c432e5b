"""`fovea attend --normaliser` and `--leaky-relu`: every weight and divisor against the formulas, and every mistake.

    test_attend_normalisers.py COMMAND...    the words that start the program, an emulator among them
"""

import sys
import unittest

import numpy as np

import command
from command import COMMAND, run

WEIGHTS = {
    "relu": lambda s, bias: np.maximum(s, 0),
    "relu-squared": lambda s, bias: np.maximum(s, 0) ** 2,
    "sigmoid": lambda s, bias: 1 / (1 + np.exp(-(s + bias))),
}
DIVISORS = {
    "none": lambda weights, seen: 1,
    "keys": lambda weights, seen: seen.sum(axis=-1, keepdims=True),
    "sum": lambda weights, seen: weights.sum(axis=-1, keepdims=True),
    "12.5": lambda weights, seen: 12.5,
}


class Normalisers(command.InDirectory):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        self.q, self.k, self.v = (random.standard_normal((2, 3, n, 24), dtype=np.float32) for n in (40, 90, 90))
        self.seen = random.random((40, 90)) < 0.7
        self.seen[7] = False
        for name, tensor in (("q", self.q), ("k", self.k), ("v", self.v), ("mask", self.seen)):
            np.save(self.path(name + ".npy"), tensor)

    def command(self, *options):
        inputs = [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]
        return run("attend", *inputs, "--out", self.path("o.npy"), *options)

    def attend(self, *options):
        done = self.command("--weights", self.path("w.npy"), "--mask", self.path("mask.npy"), *options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), done.stderr)
        return np.load(self.path("o.npy")), np.load(self.path("w.npy"))

    def test_formulas(self):
        seen = np.broadcast_to(self.seen, (2, 3, 40, 90))
        scores = self.q.astype(np.float64) @ self.k.astype(np.float64).swapaxes(2, 3) / np.sqrt(24)
        for name, weight in WEIGHTS.items():
            for divisor, value in DIVISORS.items():
                bias = -1.5 if name == "sigmoid" else 0
                with self.subTest(normaliser=name, divisor=divisor):
                    options = ["--normaliser", name, "--divisor", divisor]
                    o, w = self.attend(*options, *(["--sigmoid-bias", bias] if bias else []))
                    expected = np.where(seen, weight(scores, bias), 0)
                    divided = value(expected, seen)
                    expected = expected / np.where(divided == 0, 1, divided)
                    self.assertLess(np.abs(w - expected).max(), 2e-5)
                    self.assertLess(np.abs(o - expected @ self.v).max(), 2e-4)
                    self.assertFalse(o[:, :, 7].any())

    def test_leaky_relu(self):
        scores = self.q.astype(np.float64) @ self.k.astype(np.float64).swapaxes(2, 3) / np.sqrt(24)
        o, w = self.attend("--leaky-relu", "0.2")
        expected = np.where(self.seen, np.exp(np.where(scores > 0, scores, 0.2 * scores)), 0)
        divisor = expected.sum(axis=-1, keepdims=True)
        expected = expected / np.where(divisor == 0, 1, divisor)
        self.assertLess(np.abs(w - expected).max(), 2e-6)
        self.assertLess(np.abs(o - expected @ self.v).max(), 1e-5)

    def test_softmax_is_the_default(self):
        without, with_name = self.attend(), self.attend("--normaliser", "softmax")
        self.assertEqual([part.tobytes() for part in without], [part.tobytes() for part in with_name])

    def test_mistakes(self):
        relu = ("--normaliser", "relu")
        for text, *options in (
            ("--normaliser takes softmax, relu, relu-squared or sigmoid, not 'gelu'", "--normaliser", "gelu"),
            ("--divisor takes none, keys, sum or a number, not 'rows'", *relu, "--divisor", "rows"),
            ("--divisor takes none, keys, sum or a number, not '1,2'", *relu, "--divisor", "1,2"),
            ("divisor_value is 0", *relu, "--divisor", "0"),
            ("normaliser.divisor is 2 and would not be used", "--divisor", "keys"),
            ("sigmoid_bias is 1.", *relu, "--sigmoid-bias", "1"),
            ("--sigmoid-bias takes a number", "--normaliser", "sigmoid", "--sigmoid-bias", "x"),
            ("sink is 2 and would not be used", *relu, "--sinks", "zero"),
            ("--lse needs the softmax", *relu, "--lse", self.path("lse.npy")),
            ("--normaliser needs", "--normaliser"),
            ("leaky_slope is 1.", "--leaky-relu", "1"),
            ("--leaky-relu takes a slope", "--leaky-relu", "x"),
            ("--divisor is given twice", *relu, "--divisor", "1", "--divisor", "2"),
        ):
            with self.subTest(options=options):
                self.assert_refused(self.command(*options), text)
                self.assertEqual(self.files(), ["k.npy", "mask.npy", "q.npy", "v.npy"])


if __name__ == "__main__":
    COMMAND += sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
