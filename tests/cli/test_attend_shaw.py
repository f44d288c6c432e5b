"""`fovea attend --shaw-keys --shaw-values`: the formula of Shaw et al. in float64, and every mistake.

    test_attend_shaw.py COMMAND...    the words that start the program, an emulator among them
"""

import sys
import unittest

import numpy as np

import command
from command import COMMAND, run


class Shaw(command.InDirectory):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(3)
        self.q, self.k, self.v = (random.standard_normal((2, 4, n, dim), dtype=np.float32)
                                  for n, dim in ((40, 24), (150, 24), (150, 10)))
        for name, tensor in (("q", self.q), ("k", self.k), ("v", self.v)):
            np.save(self.path(name + ".npy"), tensor)

    def command(self, *options):
        inputs = [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]
        return run("attend", *inputs, "--out", self.path("o.npy"), *options)

    def attend(self, *options):
        done = self.command(*options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), done.stderr)
        return np.load(self.path("o.npy"))

    def table(self, name, *shape):
        table = np.random.default_rng(len(name)).standard_normal(shape, dtype=np.float32)
        np.save(self.path(name + ".npy"), table)
        return table

    def expected(self, keys=None, values=None, far=0, causal=False):
        own, key = np.arange(40)[:, None] + 110, np.arange(150)[None]
        place = np.clip(key - own, -far, far) + far
        scores = np.einsum("bhid,bhjd->bhij", self.q.astype(float), self.k)
        if keys is not None:
            scores += np.einsum("bhid,hijd->bhij", self.q, np.broadcast_to(keys, (4, *keys.shape[-2:]))[:, place])
        weights = np.exp(scores / np.sqrt(24)) * (key <= own if causal else 1)
        weights /= weights.sum(axis=-1, keepdims=True)
        o = np.einsum("bhij,bhjd->bhid", weights, self.v)
        if values is not None:
            o += np.einsum("bhij,hijd->bhid", weights, np.broadcast_to(values, (4, *values.shape[-2:]))[:, place])
        return o

    def test_formula(self):
        for far, heads in ((1, ()), (16, ()), (5, (4,)), (200, (4,))):
            for which in (("keys",), ("values",), ("keys", "values")):
                for causal in (False, True):
                    with self.subTest(far=far, heads=heads, which=which, causal=causal):
                        tables = {name: self.table(name, *heads, 2 * far + 1, 24 if name == "keys" else 10)
                                  for name in which}
                        options = [word for name in which for word in ("--shaw-" + name, self.path(name + ".npy"))]
                        o = self.attend(*options, *(["--causal"] if causal else []))
                        self.assertLess(np.abs(o - self.expected(far=far, causal=causal, **tables)).max(), 2e-5)

    def test_mistakes(self):
        for text, option, *shape in (
            ("has 1 axes; (distances, dim) or", "keys", 3),
            ("has 4 axes", "values", 1, 4, 3, 10),
            ("has vectors of 10 dims; 24 are needed", "keys", 3, 10),
            ("has vectors of 24 dims; 10 are needed", "values", 3, 24),
            ("has vectors of 4 distances; 2n + 1 are needed", "keys", 4, 24),
            ("has tables of 2 heads; one for each query head is needed, 4", "keys", 2, 3, 24),
            ("shaw.distance is 0", "keys", 1, 24),
        ):
            with self.subTest(text=text):
                self.table("table", *shape)
                self.assert_refused(self.command("--shaw-" + option, self.path("table.npy")), text)
        self.table("keys", 3, 24), self.table("values", 5, 10)
        both = ("--shaw-keys", self.path("keys.npy"), "--shaw-values", self.path("values.npy"))
        self.assert_refused(self.command(*both), "has 1 tables of 5 distances, and --shaw-keys 1 of 3")
        self.assertNotIn("o.npy", self.files())


if __name__ == "__main__":
    COMMAND += sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
