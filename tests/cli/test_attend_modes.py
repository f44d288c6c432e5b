"""`fovea attend --arithmetic`: numbers rounded to bf16 against NumPy, the same bits on every set, and every mistake.

    test_attend_modes.py COMMAND...    the words that start the program, an emulator among them
"""

import re
import sys
import unittest

import numpy as np

import command
import reference
from command import COMMAND, run

BF16 = ("--arithmetic", "bf16")


def rounded(tensor):
    return reference.from_bf16(reference.to_bf16(tensor)).astype(np.float64)


def usable_isas():
    lines = run("info").stdout.decode().splitlines()
    return [line.split()[0] for line in lines if re.match(r"\S+ +yes +(yes|no) ", line)]


class Modes(command.InDirectory):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(5)
        self.q, self.k, self.v = (random.standard_normal((2, 4, n, 40), dtype=np.float32) for n in (70, 150, 150))
        for name, tensor in (("q", self.q), ("k", self.k), ("v", self.v)):
            np.save(self.path(name + ".npy"), tensor)

    def command(self, *options):
        inputs = [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]
        return run("attend", *inputs, "--out", self.path("o.npy"), *options)

    def attend(self, *options):
        done = self.command(*options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), (options, done.stderr))
        return np.load(self.path("o.npy"))

    def formula(self, scores, values):
        """The softmax in float64 of what each half rounds to bf16; weights are rounded before they are summed up."""
        q, k = (rounded(tensor) if scores else tensor.astype(np.float64) for tensor in (self.q, self.k))
        s = q @ k.swapaxes(2, 3) / np.sqrt(40)
        p = np.exp(s - s.max(axis=-1, keepdims=True))
        o = rounded(p.astype(np.float32)) @ rounded(self.v) if values else p @ self.v.astype(np.float64)
        return o / p.sum(axis=-1, keepdims=True)

    def test_formulas(self):
        # Weights of bf16 have an error of 2^-9 and are rounded in blocks of 128 keys, relative to another maximum.
        for text, scores, values, most in (("bf16,exact", True, False, 2e-6), ("exact,bf16", False, True, 2e-3),
                                           ("bf16,bf16", True, True, 2e-3), ("exact,exact", False, False, 2e-6)):
            with self.subTest(arithmetic=text):
                error = np.abs(self.attend("--arithmetic", text) - self.formula(scores, values)).max()
                self.assertLess(error, most)
                if scores:
                    unrounded = np.abs(self.attend("--arithmetic", text) - self.formula(False, values)).max()
                    self.assertGreater(unrounded, 1e-4)

    def test_one_name_is_for_both_halves(self):
        self.assertEqual(self.attend(*BF16).tobytes(), self.attend("--arithmetic", "bf16,bf16").tobytes())
        self.assertEqual(self.attend("--arithmetic", "exact").tobytes(), self.attend().tobytes())

    def test_every_set_has_the_same_bits(self):
        for text in ("bf16", "bf16,exact", "exact,bf16"):
            expected = self.attend("--causal", "--arithmetic", text)
            self.assertFalse((expected == self.attend("--causal")).all())
            for isa in usable_isas():
                self.assertEqual(self.attend("--causal", "--arithmetic", text, "--isa", isa).tobytes(),
                                 expected.tobytes(), (text, isa))

    def test_amx(self):
        expected = self.attend(*BF16).tobytes()
        done = self.command(*BF16, "--allow-amx")
        if done.returncode != 0:
            self.assert_refused(done, "--allow-amx: ")
            self.skipTest(done.stderr.decode().strip())
        self.assertEqual(np.load(self.path("o.npy")).tobytes(), expected)

    def test_mistakes(self):
        names = "--arithmetic takes exact or bf16, or one for scores and one for values"
        for text, *options in (
            (names, "--arithmetic", "f16"),
            (names, "--arithmetic", "bf16,"),
            (names, "--arithmetic", ",bf16"),
            (names, "--arithmetic", "bf16,exact,exact"),
            (names, "--arithmetic", "bf1"),
            ("--arithmetic needs exact or bf16", "--arithmetic"),
            ("--arithmetic is given twice", *BF16, *BF16),
            ("--allow-amx needs --arithmetic bf16", "--allow-amx"),
            ("--allow-amx needs --arithmetic bf16", "--arithmetic", "exact", "--allow-amx"),
            ("--allow-amx and --isa exclude each other", *BF16, "--allow-amx", "--isa", "scalar"),
            ("--allow-amx takes no value", *BF16, "--allow-amx=1"),
            ("score_output is set; with scores in bf16", *BF16, "--weights", self.path("w.npy")),
            ("column_sums is set; with values in bf16", "--arithmetic", "exact,bf16", "--column-sums",
             self.path("c.npy")),
            ("top_k is set; with scores in bf16", *BF16, "--topk", "3", "--top-keys", self.path("t.npy")),
            ("normaliser is set; with scores in bf16", *BF16, "--normaliser", "relu"),
            ("score_activation is set; with scores in bf16", *BF16, "--leaky-relu", "0.2"),
        ):
            with self.subTest(options=options):
                self.assert_refused(self.command(*options), text)
                self.assertEqual(self.files(), ["k.npy", "q.npy", "v.npy"])


if __name__ == "__main__":
    COMMAND += sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
