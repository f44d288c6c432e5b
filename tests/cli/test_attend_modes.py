"""`fovea attend --arithmetic`: numbers rounded to bf16 and codes of 8 bits against NumPy, the same bits on every set,
and every mistake.

    test_attend_modes.py COMMAND...    the words that start the program, an emulator among them
"""

import sys
import unittest

import numpy as np

import command
import reference
from command import COMMAND, run, usable_isas

BF16 = ("--arithmetic", "bf16")
INT8 = ("--arithmetic", "int8")


def rounded(tensor):
    return reference.from_bf16(reference.to_bf16(tensor)).astype(np.float64)


def coded(tensor):
    """Rows as codes from -127 to 127 times their scale: both divisions, the product and the scale are f32."""
    most = np.abs(tensor).max(axis=-1, keepdims=True)
    codes = np.rint(tensor * (np.float32(127) / most))
    return codes.astype(np.float64), (most / np.float32(127)).astype(np.float64)


STORED = {"exact": lambda tensor: tensor.astype(np.float64), "bf16": rounded,
          "int8": lambda tensor: np.multiply(*coded(tensor))}


def times_coded(p, v):
    """Weights times codes: a weight with the scale of its value is one of 255 steps of the largest in a block of 128."""
    codes, scales = coded(v)
    o = 0
    for begin in range(0, p.shape[-1], 128):
        keys = slice(begin, begin + 128)
        scaled = p[..., keys] * scales[..., keys, :].swapaxes(-1, -2)
        step = scaled.max(axis=-1, keepdims=True) / 255
        o = o + step * (np.rint(scaled / step) @ codes[..., keys, :])
    return o


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
        """The softmax in float64 of what each half makes of its inputs; weights are not rounded to bf16."""
        q, k = STORED[scores](self.q), STORED[scores](self.k)
        s = q @ k.swapaxes(2, 3) / np.sqrt(40)
        p = np.exp(s - s.max(axis=-1, keepdims=True))
        o = times_coded(p, self.v) if values == "int8" else p @ STORED[values](self.v)
        return o / p.sum(axis=-1, keepdims=True)

    def test_formulas(self):
        # Largest and mean error: of f32; of weights in bf16 (2^-9); of few weights that 2^x puts on the next step.
        most = {"exact": (2e-6, 1e-6), "bf16": (2e-3, 1e-3), "int8": (4e-3, 1e-4)}
        for scores in STORED:
            for values in STORED:
                with self.subTest(scores=scores, values=values):
                    got = self.attend("--arithmetic", f"{scores},{values}")
                    error = np.abs(got - self.formula(scores, values))
                    self.assertLess(error.max(), most[values][0])
                    self.assertLess(error.mean(), most[values][1])
                    if scores != "exact":
                        self.assertGreater(np.abs(got - self.formula("exact", values)).max(), 1e-4)
                    if values != "exact":
                        self.assertGreater(np.abs(got - self.formula(scores, "exact")).max(), 1e-3)

    def test_one_name_is_for_both_halves(self):
        self.assertEqual(self.attend(*BF16).tobytes(), self.attend("--arithmetic", "bf16,bf16").tobytes())
        self.assertEqual(self.attend(*INT8).tobytes(), self.attend("--arithmetic", "int8,int8").tobytes())
        self.assertEqual(self.attend("--arithmetic", "exact").tobytes(), self.attend().tobytes())

    def test_every_set_has_the_same_bits(self):
        for text in ("bf16", "bf16,exact", "exact,bf16", "int8", "int8,bf16", "int8,exact", "exact,int8"):
            expected = self.attend("--causal", "--arithmetic", text)
            self.assertFalse((expected == self.attend("--causal")).all())
            for isa in usable_isas():
                self.assertEqual(self.attend("--causal", "--arithmetic", text, "--isa", isa).tobytes(),
                                 expected.tobytes(), (text, isa))

    def test_amx(self):
        for text in ("bf16", "int8", "int8,bf16", "bf16,int8", "exact,int8", "int8,exact"):
            expected = self.attend("--arithmetic", text).tobytes()
            self.assertEqual(self.attend("--arithmetic", text, "--allow-amx").tobytes(), expected, text)

    def test_vectors(self):
        # K with a large mean and large channels: without vectors int8 is far from exact.
        random = np.random.default_rng(6)
        channels = np.where(np.arange(40) % 9, 0.25, 2).astype(np.float32)
        self.k = (self.k + 40) * channels
        np.save(self.path("k.npy"), self.k)
        exact = self.attend()
        plain = np.abs(self.attend(*INT8) - exact).mean()
        self.assertGreater(plain, 0.01)
        for heads in ((), (4,)):
            scale = (channels * random.uniform(0.5, 2, (*heads, 40))).astype(np.float32)
            value_scale = random.uniform(0.5, 2, (*heads, 40)).astype(np.float32)
            vectors = {"key-centre": (40 * channels / scale).astype(np.float32), "key-scale": scale,
                       "value-scale": value_scale}
            for name, vector in vectors.items():
                np.save(self.path(name + ".npy"), vector)
            np.save(self.path("k.npy"), self.k / scale[..., None, :])
            np.save(self.path("v.npy"), self.v / value_scale[..., None, :])
            options = [word for name in vectors for word in ("--" + name, self.path(name + ".npy"))]
            got = self.attend(*INT8, *options)
            self.assertLess(np.abs(got - exact).mean(), 0.002)

    def test_mistakes_of_vectors(self):
        for text, arithmetic, option, *shape in (
            ("has 3 axes; (dim) or (heads, dim) is needed", "int8", "--key-centre", 1, 4, 40),
            ("has vectors of 39 dims; 40 are needed", "int8", "--key-scale", 39),
            ("has 3 vectors; one for each head of K is needed, 4", "int8", "--value-scale", 3, 40),
            ("channels.key_centre is 2 and would not be used: modes.score is not", "bf16", "--key-centre", 40),
            ("channels.key_scale is 1 and would not be used: modes.score is not", "exact,int8", "--key-scale", 4, 40),
            ("channels.value_scale is 2 and would not be used: modes.value is not", "int8,bf16", "--value-scale", 40),
        ):
            with self.subTest(text=text):
                np.save(self.path("vector.npy"), np.ones(shape, np.float32))
                self.assert_refused(self.command("--arithmetic", arithmetic, option, self.path("vector.npy")), text)
        np.save(self.path("vector.npy"), np.ones(40, np.float32))
        self.assert_refused(self.command(*INT8, "--softcap", "5", "--key-centre", self.path("vector.npy")),
                            "softcap is 5.000000; with channels.key_centre it must be 0")

    def test_mistakes(self):
        names = "--arithmetic takes exact, bf16 or int8, or one for scores and one for values"
        for text, *options in (
            (names, "--arithmetic", "f16"),
            (names, "--arithmetic", "bf16,"),
            (names, "--arithmetic", ",bf16"),
            (names, "--arithmetic", "bf16,exact,exact"),
            (names, "--arithmetic", "bf1"),
            (names, "--arithmetic", "int"),
            (names, "--arithmetic", "int8,int4"),
            ("--arithmetic needs exact, bf16 or int8", "--arithmetic"),
            ("--arithmetic is given twice", *BF16, *BF16),
            ("--allow-amx needs --arithmetic bf16 or int8", "--allow-amx"),
            ("--allow-amx needs --arithmetic bf16", "--arithmetic", "exact", "--allow-amx"),
            ("--allow-amx and --isa exclude each other", *BF16, "--allow-amx", "--isa", "scalar"),
            ("--allow-amx takes no value", *BF16, "--allow-amx=1"),
            ("scores.kind is 1 and would not be used: modes.score is FOVEA_MODE_BF16",
             *BF16, "--weights", self.path("w.npy")),
            ("column_sums.wanted is 1 and would not be used: modes.value is FOVEA_MODE_BF16",
             "--arithmetic", "exact,bf16", "--column-sums", self.path("c.npy")),
            ("top.k is 3 and would not be used: modes.score is FOVEA_MODE_BF16",
             *BF16, "--topk", "3", "--top-keys", self.path("t.npy")),
            ("normaliser.kind is 1 and would not be used: modes.score is FOVEA_MODE_BF16", *BF16, "--normaliser", "relu"),
            ("activation.kind is 1 and would not be used: modes.score is FOVEA_MODE_BF16",
             *BF16, "--leaky-relu", "0.2"),
            ("scores.kind is 1 and would not be used: modes.score is FOVEA_MODE_INT8",
             *INT8, "--weights", self.path("w.npy")),
            ("normaliser.kind is 1 and would not be used: modes.value is FOVEA_MODE_INT8",
             "--arithmetic", "exact,int8", "--normaliser", "relu"),
        ):
            with self.subTest(options=options):
                self.assert_refused(self.command(*options), text)
                self.assertEqual(self.files(), ["k.npy", "q.npy", "v.npy"])


if __name__ == "__main__":
    COMMAND += sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
