"""The command `fovea` as a user meets it: every option against the textbook formula, every mistake against the promise
of exit status 2, one line on stderr and no output file.

    test_command.py COMMAND...    the words that start the program, an emulator among them
"""

import io
import os
import re
import subprocess
import sys
import unittest

import numpy as np

import command
import reference
from command import COMMAND, on_windows, run, usable_isas

def tensors(q_shape, k_shape, v_dim=None, seed=1):
    random = np.random.default_rng(seed)
    v_shape = k_shape[:-1] + (v_dim or k_shape[-1],)
    return tuple(random.standard_normal(shape, dtype=np.float32) for shape in (q_shape, k_shape, v_shape))


class InDirectory(command.InDirectory):
    """Tensors in files, and what the program makes of them."""

    def save(self, q, k, v):
        for name, tensor in (("q", q), ("k", k), ("v", v)):
            np.save(self.path(name + ".npy"), tensor)

    def inputs(self):
        return [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]

    def attend(self, *options):
        """Runs on the saved tensors, with O and LSE written; returns both."""
        before = self.files()
        outputs = ["--out", self.path("o.npy"), "--lse", self.path("lse.npy")]
        done = run("attend", *self.inputs(), *outputs, *options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), done.stderr)
        self.assertEqual(self.files(), sorted({*before, "lse.npy", "o.npy"}))
        return np.load(self.path("o.npy")), np.load(self.path("lse.npy"))

    def bits(self, *options):
        """The bits of O, then the bits of LSE."""
        return b"".join(tensor.tobytes() for tensor in self.attend(*options))

    def check(self, q, k, v, *options, **rules):
        self.save(q, k, v)
        self.compare(self.attend(*options), q, k, v, **rules)

    def compare(self, outputs, q, k, v, **rules):
        o, lse = outputs
        self.assertEqual((o.dtype, lse.dtype), (np.dtype("<f4"), np.dtype("<f4")))
        self.assertEqual(o.shape, q.shape[:-1] + v.shape[-1:])
        self.assertEqual(lse.shape, q.shape[:-1])
        four = lambda tensor: tensor.reshape((1,) * (4 - tensor.ndim) + tensor.shape)
        expected = reference.attend(four(q), four(k), four(v), **rules)
        self.assertTrue(np.all(np.abs(four(o) - expected.o) <= expected.o_bound))
        lse = lse.reshape(expected.lse.shape)
        seen = np.isfinite(expected.lse)
        self.assertTrue(np.all(lse[~seen] == -np.inf))
        self.assertTrue(np.all(np.abs(lse[seen] - expected.lse[seen]) <= expected.lse_bound[seen]))


class Shapes(InDirectory):
    def test_ranks(self):
        self.check(*tensors((40, 16), (70, 16)))
        self.check(*tensors((3, 40, 16), (3, 70, 16)))
        self.check(*tensors((2, 3, 40, 16), (2, 3, 70, 16)))

    def test_fewer_kv_heads(self):
        self.check(*tensors((2, 6, 9, 16), (2, 2, 30, 16)))
        self.check(*tensors((6, 9, 16), (1, 30, 16)))

    def test_dims(self):
        self.check(*tensors((2, 20, 7), (2, 33, 7), 130))
        self.check(*tensors((2, 20, 130), (2, 33, 130), 1))

    def test_one_of_everything(self):
        q, k, v = tensors((1, 1), (1, 1))
        self.check(q, k, v)
        self.assertTrue(np.array_equal(np.load(self.path("o.npy")), v))

    def test_more_than_a_span_of_keys(self):
        self.check(*tensors((3, 32), (5000, 32)))

    def test_no_rows(self):
        self.check(*tensors((2, 0, 8), (2, 5, 8)))

    def test_no_keys(self):
        self.check(*tensors((2, 5, 8), (2, 0, 8)))
        self.assertFalse(np.load(self.path("o.npy")).any())

    def test_every_npy_version(self):
        q, k, v = tensors((5, 8), (9, 8))
        self.save(q, k, v)
        expected = self.attend()
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(self.path("k.npy"), "wb") as file:
                np.lib.format.write_array(file, k, version=version)
            for actual, wanted in zip(self.attend(), expected):
                self.assertEqual(actual.tobytes(), wanted.tobytes())


class Options(InDirectory):
    def setUp(self):
        super().setUp()
        self.tensors = tensors((2, 4, 50, 24), (2, 2, 90, 24), 40)

    def test_causal(self):
        self.check(*self.tensors, "--causal", causal=True)

    def test_window(self):
        for window in ((10, 5), (0, 0), (-1, 3), (12, -1), (-1, -1), (1000, 1000)):
            self.check(*self.tensors, "--window", f"{window[0]},{window[1]}", window=window)

    def test_chunk(self):
        for chunk in ((8, 0, 0), (8, 20, 3), (7, -1, 0), (16, 5, -1), (1, 0, 0), (1000, 0, 0)):
            self.check(*self.tensors, "--chunk", ",".join(map(str, chunk)), chunk=chunk)

    def test_offset(self):
        for offset in (0, 7, -13, 40, 1000, -1000):
            self.check(*self.tensors, "--causal", "--offset", offset, causal=True, offset=offset)
            self.check(*self.tensors, "--chunk", "9,4,2", "--offset", offset, chunk=(9, 4, 2), offset=offset)

    def test_offset_per_entry(self):
        self.check(*self.tensors, "--causal", "--offset", "-5,30", causal=True, offset=(-5, 30))

    def test_lengths(self):
        self.check(*self.tensors, "--q-lens", "50,17", q_lens=(50, 17))
        self.check(*self.tensors, "--kv-lens", "3,90", kv_lens=(3, 90))
        self.check(*self.tensors, "--q-lens", "0,50", "--kv-lens", "90,0", q_lens=(0, 50), kv_lens=(90, 0))
        self.check(*self.tensors, "--q-lens", "9,50", "--kv-lens", "60,70", "--causal", q_lens=(9, 50),
                   kv_lens=(60, 70), causal=True)

    def test_padding(self):
        self.save(*self.tensors)
        self.check(*self.tensors, "--kv-begins", "3,90", kv_begins=(3, 90))
        self.check(*self.tensors, "--kv-begins", "40,7", "--causal", kv_begins=(40, 7), causal=True)
        self.check(*self.tensors, "--kv-begins", "30,5", "--kv-lens", "60,70", "--window", "8,2", kv_begins=(30, 5),
                   kv_lens=(60, 70), window=(8, 2))

    def test_scale(self):
        for scale in (1.0, 0.0, -0.25, 1e-3):
            self.check(*self.tensors, "--scale", scale, scale=scale)

    def test_equals_sign(self):
        self.check(*self.tensors, "--window=4,-1", "--offset=-3", "--scale=0.5", window=(4, -1), offset=-3, scale=0.5)

    def test_threads_do_not_show(self):
        self.save(*self.tensors)
        expected = self.bits("--causal", "--threads", "1")
        for threads in (0, 2, 3, 8):
            self.assertEqual(self.bits("--causal", "--threads", threads), expected, threads)

    def test_instruction_sets_do_not_show(self):
        self.save(*self.tensors)
        expected = self.bits("--chunk", "8,20,3")
        self.assertIn("scalar", usable_isas())
        for isa in usable_isas():
            self.assertEqual(self.bits("--chunk", "8,20,3", "--isa", isa), expected, isa)

    def test_all_together(self):
        random = np.random.default_rng(7)
        for _ in range(25):
            causal, window = bool(random.integers(2)), tuple(int(n) for n in random.integers(-1, 60, 2))
            chunk = (int(random.integers(1, 30)), int(random.integers(-1, 50)), int(random.integers(-1, 20)))
            offset = [int(n) for n in random.integers(-20, 80, 2)]
            q_lens, kv_lens = [int(n) for n in random.integers(0, 51, 2)], [int(n) for n in random.integers(0, 91, 2)]
            text = lambda numbers: ",".join(map(str, numbers))
            options = ["--window", text(window), "--chunk", text(chunk), "--offset", text(offset),
                       "--q-lens", text(q_lens), "--kv-lens", text(kv_lens)] + ["--causal"] * causal
            with self.subTest(options=options):
                self.check(*self.tensors, *options, causal=causal, window=window, chunk=chunk, offset=offset,
                           q_lens=q_lens, kv_lens=kv_lens)


class MasksAndSinks(InDirectory):
    def setUp(self):
        super().setUp()
        self.tensors = tensors((2, 4, 50, 24), (2, 2, 90, 24), 40)
        self.random = np.random.default_rng(5)

    def mask(self, kind, shape):
        """Some keys are not visible, and some rows see none."""
        mask = self.random.random(shape) < 0.6
        if kind == "?":
            return mask
        return np.where(mask, 3 * self.random.standard_normal(shape), -np.inf).astype(kind)

    def check_mask(self, mask, *options, **rules):
        np.save(self.path("mask.npy"), mask)
        with self.subTest(shape=mask.shape, kind=mask.dtype, options=options):
            self.check(*self.tensors, "--mask", self.path("mask.npy"), *options, mask=mask, **rules)

    def test_every_shape_that_broadcasts(self):
        shapes = [(), (90,), (1,), (50, 90), (1, 90), (50, 1), (4, 50, 90), (4, 1, 90), (1, 50, 1), (2, 4, 50, 90),
                  (2, 1, 50, 90), (2, 4, 1, 1), (1, 1, 1, 90), (2, 1, 1, 90), (1, 4, 50, 1), (1, 1, 1, 1)]
        for kind in ("?", "<f4", "<f2"):
            for shape in shapes:
                self.check_mask(self.mask(kind, shape))

    def test_fewer_keys(self):
        for kind in ("?", "<f4", "<f2"):
            for shape in ((2,), (89,), (50, 33), (4, 1, 64), (2, 4, 50, 70), (2, 1, 1, 17)):
                self.check_mask(self.mask(kind, shape))

    def test_rows_that_see_nothing(self):
        self.check_mask(np.zeros((50, 90), bool))
        self.check_mask(np.full((50, 90), -np.inf, np.float32))
        self.check_mask(np.False_)
        self.assertFalse(np.load(self.path("o.npy")).any())

    def test_with_rules(self):
        mask = self.mask("?", (4, 50, 90))
        self.check_mask(mask, "--causal", causal=True)
        self.check_mask(mask, "--window", "30,2", "--kv-lens", "90,41", "--offset", "40,-9", window=(30, 2),
                            kv_lens=(90, 41), offset=(40, -9))
        self.check_mask(self.mask("<f4", (2, 1, 50, 80)), "--chunk", "8,20,3", "--q-lens", "50,7", chunk=(8, 20, 3),
                        q_lens=(50, 7))

    def test_rules_as_masks(self):
        """The same bits, from a bool mask and from an additive one."""
        row, key = np.arange(50)[:, None], np.arange(90)
        own = row + 40
        for options, mask in ((["--causal"], key <= own), (["--window", "9,4"], (key >= own - 9) & (key <= own + 4)),
                              (["--kv-lens", "61,61", "--offset", "0"], (key < 61) & (row >= 0))):
            self.save(*self.tensors)
            expected = self.bits(*options)
            for tensor in (mask, np.where(mask, 0, -np.inf).astype(np.float32)):
                np.save(self.path("mask.npy"), tensor)
                self.assertEqual(self.bits("--mask", self.path("mask.npy")), expected, (options, tensor.dtype))

    def test_mask_begin(self):
        """The same bits as with a mask that says nothing of the keys before."""
        self.save(*self.tensors)
        for kind, nothing in (("?", True), ("<f4", 0), ("<f2", 0)):
            for begin in (0, 7, 64, 89, 90):
                mask = self.mask(kind, (50, 90 - begin))
                np.save(self.path("mask.npy"), np.pad(mask, [(0, 0), (begin, 0)], constant_values=nothing))
                expected = self.bits("--mask", self.path("mask.npy"), "--causal")
                np.save(self.path("mask.npy"), mask)
                options = ["--mask", self.path("mask.npy"), "--mask-begin", str(begin), "--causal"]
                self.assertEqual(self.bits(*options), expected, (kind, begin))

    def test_one_row_one_head(self):
        self.tensors = tensors((7, 16), (30, 16))
        for shape in ((30,), (7, 30), (1, 7, 30), (1, 1, 7, 30)):
            self.check_mask(self.mask("?", shape))

    def test_no_keys(self):
        self.tensors = tensors((5, 8), (0, 8))
        self.check_mask(np.zeros((5, 0), bool))
        self.check_mask(np.ones((5, 1), bool))

    def test_softcap(self):
        for softcap in (0.5, 3.0, 50.0):
            self.check(*self.tensors, "--softcap", softcap, softcap=softcap)
            self.check(*self.tensors, "--softcap", softcap, "--scale", "-4", softcap=softcap, scale=-4)
        self.check(*self.tensors, "--softcap", "0")
        np.save(self.path("s.npy"), np.arange(4, dtype=np.float32))
        self.check_mask(self.mask("<f4", (50, 90)), "--softcap", "2", "--causal", "--sinks", self.path("s.npy"),
                        softcap=2, causal=True, sinks=np.arange(4))

    def test_sinks(self):
        sinks = np.array([0.5, -np.inf, -3, 12], np.float32)
        np.save(self.path("s.npy"), sinks)
        self.check(*self.tensors, "--sinks", self.path("s.npy"), sinks=sinks)
        self.check(*self.tensors, "--sinks", self.path("s.npy"), "--causal", "--offset", "-7", sinks=sinks, causal=True,
                   offset=-7)
        self.check_mask(self.mask("?", (50, 90)), "--sinks", self.path("s.npy"), sinks=sinks)

    def added(self, number):
        """What is added for each head, row and key, bottom-right: number(head, key - own key)."""
        return np.array([[[number(h, j - (i + 40)) for j in range(90)] for i in range(50)] for h in range(4)], np.float32)

    def test_alibi(self):
        slopes = np.array([0.5, 0.25, -0.125, 0.1], np.float32)
        np.save(self.path("a.npy"), slopes)
        self.check(*self.tensors, "--alibi", self.path("a.npy"), mask=self.added(lambda h, d: slopes[h] * np.float32(d)))
        np.save(self.path("mask.npy"), self.added(lambda h, d: slopes[h] * np.float32(d)))
        self.assertEqual(self.bits("--alibi", self.path("a.npy")), self.bits("--mask", self.path("mask.npy")))
        one = self.bits("--alibi", self.path("a.npy"), "--causal")
        np.save(self.path("a.npy"), np.stack([slopes] * self.tensors[0].shape[0]))
        self.assertEqual(self.bits("--alibi", self.path("a.npy"), "--causal"), one)

    def test_relative(self):
        for shape in ((4, 7), (4, 301), (5,)):
            table = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
            far = shape[-1] // 2
            added = self.added(lambda h, d: (table[h] if table.ndim == 2 else table)[min(max(d, -far), far) + far])
            np.save(self.path("r.npy"), table)
            np.save(self.path("mask.npy"), added)
            self.check(*self.tensors, "--relative", self.path("r.npy"), mask=added)
            self.assertEqual(self.bits("--relative", self.path("r.npy")), self.bits("--mask", self.path("mask.npy")))

    def test_softmax_1(self):
        self.check(*self.tensors, "--sinks", "zero", sinks=np.zeros(4))
        zero = self.bits("--sinks", "zero")
        np.save(self.path("s.npy"), np.zeros(4, np.float32))
        self.assertEqual(self.bits("--sinks", self.path("s.npy")), zero)

    def test_instruction_sets_do_not_show(self):
        np.save(self.path("s.npy"), np.arange(4, dtype=np.float32))
        np.save(self.path("mask.npy"), self.mask("<f2", (4, 50, 90)))
        options = ["--mask", self.path("mask.npy"), "--sinks", self.path("s.npy"), "--softcap", "2", "--cast", "bf16"]
        self.save(*self.tensors)
        expected = self.bits(*options)
        for isa in usable_isas():
            self.assertEqual(self.bits(*options, "--isa", isa), expected, isa)


class Scores(InDirectory):
    """Scores of every mode, column sums and top keys against NumPy's, and O and LSE as without them."""

    def setUp(self):
        super().setUp()
        self.tensors = tensors((2, 4, 50, 24), (2, 2, 90, 24), 41)
        self.save(*self.tensors)
        np.save(self.path("mask.npy"), np.linspace(-2, 2, 90, dtype=np.float32))
        self.options = ["--causal", "--softcap", "2", "--mask", self.path("mask.npy")]

    def output(self, *more):
        plain = self.bits(*self.options)
        done = run("attend", *self.inputs(), "--out", self.path("o.npy"), "--lse", self.path("lse.npy"),
                   *self.options, *more)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), done.stderr)
        outputs = [np.load(self.path(name)).tobytes() for name in ("o.npy", "lse.npy")]
        self.assertEqual(b"".join(outputs), plain)
        return np.load(self.path("x.npy"))

    def expected(self):
        q, k, _ = self.tensors
        raw = q.astype(np.float64) @ k.repeat(2, axis=1).swapaxes(2, 3) / np.sqrt(24)
        capped = 2 * np.tanh(raw / 2)
        biased = capped + np.linspace(-2, 2, 90)
        seen = np.arange(90) <= np.arange(50)[:, None] + 40
        raw, capped, biased = (np.where(seen, scores, -np.inf) for scores in (raw, capped, biased))
        weights = np.exp(biased - biased.max(axis=-1, keepdims=True))
        return raw, capped, biased, weights / weights.sum(axis=-1, keepdims=True)

    def test_modes(self):
        expected = self.expected()
        for mode in range(4):
            actual = self.output("--scores", self.path("x.npy"), "--scores-mode", str(mode))
            self.assertEqual((actual.dtype, actual.shape), (np.dtype("<f4"), (2, 4, 50, 90)))
            np.testing.assert_allclose(actual, expected[mode], atol=1e-5, rtol=1e-5)
        actual = self.output("--scores", self.path("x.npy"))
        np.testing.assert_allclose(actual, expected[0], atol=1e-5, rtol=1e-5)

    def test_column_sums(self):
        actual = self.output("--column-sums", self.path("x.npy"))
        self.assertEqual((actual.dtype, actual.shape), (np.dtype("<f4"), (2, 4, 90)))
        np.testing.assert_allclose(actual, self.expected()[3].sum(axis=2), atol=1e-5)

    def test_top_keys(self):
        actual = self.output("--topk", "45", "--top-keys", self.path("x.npy"))
        self.assertEqual((actual.dtype, actual.shape), (np.dtype("<i8"), (2, 4, 50, 45)))
        expected = np.argsort(-self.expected()[2], axis=-1, kind="stable")[..., :45]
        self.assertTrue(np.all(actual[:, :, 5:] == expected[:, :, 5:]))
        self.assertTrue(np.all(actual[:, :, 0, 41:] == -1) and np.all(actual[:, :, 0, :41] >= 0))

    def test_refusals(self):
        x, y = self.path("x.npy"), self.path("y.npy")
        for options, text in (
            (["--scores", x, "--weights", y], "--scores and --weights exclude each other"),
            (["--scores-mode", "1"], "--scores-mode needs --scores"),
            (["--scores", x, "--scores-mode", "4"], "--scores-mode is 4; it must be 0 to 3"),
            (["--topk", "4"], "--topk and --top-keys need each other"),
            (["--topk", "5000", "--top-keys", x], "top.k is 5000; it must be from 0 to 4096"),
            (["--column-sums", x, "--scores", x], "--scores and --column-sums name the same file"),
        ):
            done = run("attend", *self.inputs(), "--out", self.path("o.npy"), *options)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr.decode())
            self.assertFalse(os.path.exists(x))


class Weights(InDirectory):
    """The attention weights against the textbook's, and against O: they are what the values are multiplied by."""

    def setUp(self):
        super().setUp()
        self.tensors = tensors((2, 4, 50, 24), (2, 2, 90, 24), 40)
        self.save(*self.tensors)

    def weights(self, *options, kind=None):
        plain = self.bits(*options)
        path = self.path("w.npy")
        done = run("attend", *self.inputs(), "--out", self.path("o.npy"), "--lse", self.path("lse.npy"), "--weights",
                   path, *options, *(["--weights-type", kind] if kind else []))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), done.stderr)
        weights = np.load(path)
        os.remove(path)
        outputs = [np.load(self.path(name)).tobytes() for name in ("o.npy", "lse.npy")]
        self.assertEqual(b"".join(outputs), plain) # O and LSE keep their bits
        return weights

    def check_weights(self, *options, **rules):
        q, k, v = self.tensors
        with self.subTest(options=options):
            weights = self.weights(*options)
            self.assertEqual((weights.dtype, weights.shape), (np.dtype("<f4"), q.shape[:-1] + k.shape[-2:-1]))
            four = lambda tensor: tensor.reshape((1,) * (4 - tensor.ndim) + tensor.shape)
            expected = reference.weights(four(q), four(k), **rules).reshape(weights.shape)
            self.assertTrue(np.all(weights[expected == 0] == 0))
            self.assertTrue(np.all(weights[expected > 1e-30] > 0))
            self.assertLess(np.abs(weights - expected).max(initial=0), 1e-6)
            if rules.get("sinks") is None:
                sums = weights.astype(np.float64).sum(axis=-1)
                self.assertTrue(np.all((np.abs(sums - 1) < 1e-6) | (expected.sum(axis=-1) == 0)))
            values = four(v).repeat(four(q).shape[1] // four(v).shape[1], axis=1).reshape(q.shape[:-2] + v.shape[-2:])
            self.assertLess(np.abs(weights @ values - np.load(self.path("o.npy"))).max(initial=0), 1e-5)

    def test_no_rules(self):
        self.check_weights()
        q, k, _ = self.tensors # once without the reference
        scores = q.astype(np.float64) @ k.repeat(2, axis=1).swapaxes(2, 3) / np.sqrt(24)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        self.assertLess(np.abs(self.weights() - weights / weights.sum(axis=-1, keepdims=True)).max(), 1e-6)

    def test_ranks(self):
        for q, k in (((40, 16), (70, 16)), ((3, 40, 16), (1, 70, 16)), ((1, 1), (1, 1)), ((2, 0, 8), (2, 5, 8)),
                     ((3, 32), (5000, 32)), ((2, 5, 8), (2, 0, 8))):
            self.tensors = tensors(q, k)
            self.save(*self.tensors)
            self.check_weights()

    def test_rules(self):
        self.check_weights("--causal", causal=True)
        self.check_weights("--causal", "--offset", "-5,30", causal=True, offset=(-5, 30))
        self.check_weights("--window", "10,5", window=(10, 5))
        self.check_weights("--chunk", "8,20,3", "--offset", "7", chunk=(8, 20, 3), offset=7)
        self.check_weights("--q-lens", "9,50", "--kv-lens", "60,0", q_lens=(9, 50), kv_lens=(60, 0))
        self.check_weights("--scale", "-0.25", "--softcap", "0.5", scale=-0.25, softcap=0.5)

    def test_masks_and_sinks(self):
        random = np.random.default_rng(5)
        seen, path = random.random((4, 50, 90)) < 0.6, self.path("mask.npy")
        for mask in (seen, np.where(seen, random.standard_normal(seen.shape), -np.inf).astype("<f4"), seen[:, :, :70]):
            np.save(path, mask)
            self.check_weights("--mask", path, "--causal", mask=mask, causal=True)
        sinks = np.array([0.5, -np.inf, -3, 12], np.float32)
        np.save(self.path("s.npy"), sinks)
        self.check_weights("--sinks", self.path("s.npy"), sinks=sinks)
        self.check_weights("--sinks", "zero", "--mask", path, mask=mask, sinks=np.zeros(4))

    def test_types(self):
        """f16 and bf16 are f32 rounded; a cast changes the inputs and nothing else."""
        wide = self.weights("--causal")
        self.assertEqual(self.weights("--causal", kind="f32").tobytes(), wide.tobytes())
        half = self.weights("--causal", kind="f16")
        self.assertEqual((half.dtype, half.tobytes()), (np.dtype("<f2"), wide.astype("<f2").tobytes()))
        bits = self.weights("--causal", kind="bf16")
        self.assertEqual((bits.dtype, bits.tobytes()), (np.dtype("<u2"), reference.to_bf16(wide).tobytes()))
        for kind in ("f16", "bf16"):
            original, self.tensors = self.tensors, tuple(reference.cast(tensor, kind) for tensor in self.tensors)
            self.save(*original)
            self.check_weights("--cast", kind, "--out-type", "f32")
            self.tensors = original

    def test_instruction_sets_and_threads_do_not_show(self):
        expected = self.weights("--window", "30,2").tobytes()
        for isa in usable_isas():
            self.assertEqual(self.weights("--window", "30,2", "--isa", isa).tobytes(), expected, isa)
        self.assertEqual(self.weights("--window", "30,2", "--threads", "3").tobytes(), expected)


class Types(InDirectory):
    def setUp(self):
        super().setUp()
        self.tensors = tensors((2, 4, 50, 24), (2, 2, 90, 24), 40)
        self.save(*self.tensors)

    def test_f16_files(self):
        q, k, v = (tensor.astype("<f2") for tensor in self.tensors)
        self.check(q, k, v)
        self.check(q, *self.tensors[1:])
        self.check(self.tensors[0], k, v)

    def test_cast(self):
        """The bits of the same numbers in files of float32."""
        q, k, v = self.tensors
        q[0, 0, 0, :5], q[0, 0, 1, :4] = (1e-6, -3e-8, 1e-40, -0.0, 6.1e-5), (2049, 2051, 1 + 2**-11, 1 + 3 * 2**-11)
        self.save(q, k, v)
        for kind in ("f32", "f16", "bf16"):
            self.save(*self.tensors)
            actual = self.bits("--cast", kind)
            self.save(*(reference.cast(tensor, kind) for tensor in self.tensors))
            self.assertEqual(actual, self.bits(), kind)

    def test_cast_of_f16(self):
        halves = [tensor.astype("<f2") for tensor in self.tensors]
        for kind in ("f32", "f16", "bf16"):
            self.save(*halves)
            actual = self.bits("--cast", kind)
            self.save(*(reference.cast(tensor, kind) for tensor in halves))
            self.assertEqual(actual, self.bits(), kind)

    def test_cast_overflows(self):
        q, k, v = self.tensors
        v[0, 0, 3, 2], v[1, 1, 4, 5] = 65519, 65520
        self.save(q, k, v)
        o = self.attend("--cast", "f16")[0]
        self.assertTrue(np.isposinf(o[1, 2:, :, 5]).all())
        o[1, 2:, :, 5] = 0
        self.assertTrue(np.isfinite(o).all())

    def test_out_type(self):
        o, lse = self.attend("--causal")
        o16, lse16 = self.attend("--causal", "--out-type", "f16")
        self.assertEqual((o16.dtype, o16.tobytes()), (np.dtype("<f2"), o.astype("<f2").tobytes()))
        bits, lse_bf16 = self.attend("--causal", "--out-type", "bf16")
        self.assertEqual((bits.dtype, bits.tobytes()), (np.dtype("<u2"), reference.to_bf16(o).tobytes()))
        self.assertEqual(self.attend("--causal", "--out-type", "f32")[0].tobytes(), o.tobytes())
        self.assertEqual([lse16.tobytes(), lse_bf16.tobytes()], [lse.tobytes()] * 2)

    def test_out_type_of_extreme_numbers(self):
        """Overflow, subnormals and zeros: with one key a row's output is its value."""
        values = np.float32([65519.9, 65520, -1e30, 6e-8, -6e-8, 2.9e-8, -2.9e-8, 1e-41, 3.4e38, -3.39e38, 0, -0.0])
        self.save(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32), values[None])
        plain = np.where(values == 0, np.float32(0), values)
        with np.errstate(over="ignore"):
            halves = plain.astype("<f2")
        halves[halves == 0] = 0 # zeros are written as +0
        self.assertEqual(self.attend("--out-type", "f16")[0].tobytes(), halves.tobytes())
        self.assertEqual(self.attend("--out-type", "bf16")[0].tobytes(), reference.to_bf16(plain).tobytes())


class Files(InDirectory):
    def setUp(self):
        super().setUp()
        self.tensors = tensors((2, 5, 8), (2, 9, 8))
        self.save(*self.tensors)

    def test_lse_only_where_asked(self):
        done = run("attend", *self.inputs(), "--out", self.path("o.npy"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.files(), ["k.npy", "o.npy", "q.npy", "v.npy"])

    def test_outputs_are_replaced(self):
        for name in ("o.npy", "lse.npy"):
            with open(self.path(name), "w", encoding="ascii") as file:
                file.write("old")
        self.compare(self.attend(), *self.tensors)

    def test_links_stay_links(self):
        if on_windows():
            self.skipTest("a link is replaced there")
        os.symlink(self.path("real.npy"), self.path("link.npy"))
        np.save(self.path("real.npy"), np.zeros(1))
        done = run("attend", *self.inputs(), "--out", self.path("link.npy"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assertEqual(np.load(self.path("real.npy")).shape, (2, 5, 8))

    def test_pipes(self):
        if on_windows():
            self.skipTest("pipes have no names of files there")
        reader, writer = os.pipe()
        content = io.BytesIO()
        np.save(content, self.tensors[0])
        os.write(writer, content.getvalue())
        os.close(writer)
        words = ["--q", f"/dev/fd/{reader}", "--k", self.path("k.npy"), "--v", self.path("v.npy")]
        done = run("attend", *words, "--out", "/dev/stdout", pass_fds=[reader])
        os.close(reader)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(np.load(io.BytesIO(done.stdout)).tobytes(), self.attend()[0].tobytes())

    def test_relative_names(self):
        words = ["--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "--out", "o.npy"]
        done = run("attend", *words, cwd=self.directory.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("o.npy", self.files())


class Mistakes(InDirectory):
    def setUp(self):
        super().setUp()
        self.save(*tensors((2, 4, 5, 8), (2, 2, 9, 8)))

    def refuse(self, text, *options, inputs=None, outputs=("o.npy", "lse.npy")):
        before = self.files()
        names = [word for name, output in zip(("--out", "--lse"), outputs) for word in (name, self.path(output))]
        done = run("attend", *(self.inputs() if inputs is None else inputs), *names, *options)
        with self.subTest(options=options, inputs=inputs, outputs=outputs):
            self.assert_refused(done, text)
            self.assertEqual(done.stdout, b"")
            self.assertEqual(self.files(), before)

    def test_commands(self):
        self.assert_refused(run(), "a command is needed")
        self.assert_refused(run("attendd"), "attendd")
        self.assert_refused(run("--nothing"), "--nothing")
        self.assert_refused(run("attend"), "--q is missing")
        self.assert_refused(run("info", "more"), "more")
        self.assert_refused(run("info", "--measure", "more"), "more")
        self.assert_refused(run("selftest", "more"), "more")
        self.assert_refused(run("new\nline"), "new?line")

    def test_options(self):
        self.refuse("--frobnicate", "--frobnicate")
        self.refuse("--frobnicate=1", "--frobnicate=1")
        self.refuse("stray", "stray")
        self.refuse("--caus", "--caus")
        self.refuse("--causal takes no value", "--causal=1")
        self.refuse("--causal is given twice", "--causal", "--causal")
        self.refuse("--window is given twice", "--window", "1,1", "--window", "1,1")
        self.refuse("--window needs", "--window")
        self.refuse("--window needs", "--window", "--causal")
        self.refuse("--isa needs", "--isa=")
        for option in ("--mask", "--sinks", "--softcap", "--cast", "--out-type", "--weights", "--weights-type"):
            self.refuse(f"{option} needs", option)
            self.refuse(f"{option} is given twice", option, "1" if option == "--softcap" else "f16", f"{option}=f32")
        self.refuse("--lse", "--lse", self.path("other.npy"))

    def test_missing_paths(self):
        for name in "qkv":
            words = self.inputs()
            place = words.index("--" + name)
            self.refuse(f"--{name} is missing", inputs=words[:place] + words[place + 2:])
        self.refuse("--out is missing", outputs=())

    def test_numbers(self):
        for option in ("--window", "--chunk", "--offset", "--q-lens", "--kv-lens", "--kv-begins", "--threads", "--scale",
                       "--softcap"):
            for text in ("x", "1,x", "1,,2", ",1", "1,", "1 2", " 1", "0x10", "1.5,2", "99999999999999999999", "--", "-"):
                if option in ("--scale", "--softcap") and text in ("0x10", "99999999999999999999"):
                    continue
                self.refuse(option, option, text)

    def test_window(self):
        self.refuse("--window takes two numbers", "--window", "5")
        self.refuse("--window takes two numbers", "--window", "5,5,5")
        self.refuse("-2", "--window", "-2,5")
        self.refuse("-7", "--window", "5,-7")

    def test_chunk(self):
        self.refuse("--chunk takes three numbers", "--chunk", "5,5")
        self.refuse("at least 1", "--chunk", "0,5,5")
        self.refuse("at least 1", "--chunk", "-1,5,5")
        self.refuse("-2", "--chunk", "5,-2,5")
        self.refuse("-3", "--chunk", "5,5,-3")

    def test_lists(self):
        self.refuse("--offset has 3 numbers", "--offset", "1,2,3")
        self.refuse("--offset is out of range", "--offset", "-9223372036854775808")
        self.refuse("--q-lens has 1 numbers", "--q-lens", "5")
        self.refuse("--q-lens has 3 numbers", "--q-lens", "5,5,5")
        self.refuse("--kv-lens has 1 numbers", "--kv-lens", "9")
        self.refuse("6", "--q-lens", "5,6")
        self.refuse("-1", "--q-lens", "-1,5")
        self.refuse("10", "--kv-lens", "10,9")
        self.refuse("-1", "--kv-lens", "9,-1")
        self.refuse("--kv-begins has 1 numbers", "--kv-begins", "0")
        self.refuse("10", "--kv-begins", "0,10")
        self.refuse("kv_begins[1] is 8; it must be from 0 to 7", "--kv-lens", "9,7", "--kv-begins", "0,8")
        self.refuse("q_lens", "--kv-lens", "4,9", "--causal")

    def test_scale_threads_isa(self):
        for scale in ("nan", "inf", "-inf", "1e999"):
            self.refuse("scale", "--scale", scale)
        self.refuse("-1", "--threads", "-1")
        self.refuse("99999999999", "--threads", "99999999999")
        self.refuse("z80", "--isa", "z80")

    def test_softcap(self):
        for softcap in ("-1", "nan", "inf", "-inf", "1e999", "1e-60"):
            self.refuse("softcap", "--softcap", softcap)

    def test_types(self):
        self.refuse("--weights-type needs --weights", "--weights-type", "f16")
        for option in ("--cast", "--out-type", "--weights-type"):
            for text in ("f64", "F16", "half", "float32", "f16,f16", "bf16 "):
                self.refuse(f"{option} takes f32, f16 or bf16, not '{text}'", option, text)

    def refuse_array(self, text, option, array):
        np.save(self.path("array.npy"), array)
        self.refuse(text, option, self.path("array.npy"))

    def test_mask(self):
        for shape, text in (((10,), "has 10 keys; 1 to 9 are needed"), ((5, 0), "0 keys"),
                            ((4, 9), "has 4 rows; 5, or 1"), ((0, 9), "0 rows"), ((2, 5, 9), "has 2 heads; 4, or 1"),
                            ((3, 1, 1, 9), "has 3 batch elements; 2, or 1"), ((1, 1, 1, 5, 9), "has 5 axes")):
            for kind in ("?", "<f4", "<f2"):
                self.refuse_array(text, "--mask", np.zeros(shape, kind))
        for kind in ("<f8", "<i4", "|u1", "<u2", ">f4"):
            self.refuse_array("float32 ('<f4'), float16 ('<f2') or bool ('|b1') is needed", "--mask",
                              np.zeros((5, 9), kind))
        self.refuse_array("Fortran order", "--mask", np.asfortranarray(np.zeros((5, 9), bool)))
        self.refuse("nothing.npy: cannot open", "--mask", self.path("nothing.npy"))

    def test_sinks(self):
        self.refuse_array("has 3 numbers; one for each query head is needed, 4", "--sinks", np.zeros(3, np.float32))
        self.refuse_array("has 2 axes", "--sinks", np.zeros((2, 4), np.float32))
        self.refuse_array("has 0 axes", "--sinks", np.float32(0))
        for kind in ("<f8", "<f2", "?"):
            self.refuse_array("float32 ('<f4') is needed", "--sinks", np.zeros(4, kind))
        self.refuse("Zero: cannot open", "--sinks", "Zero")

    def test_terms(self):
        self.refuse_array("has slopes of 3 heads; one for each query head is needed, 4", "--alibi", np.zeros(3, np.float32))
        self.refuse_array("has slopes of 9 batch elements", "--alibi", np.zeros((9, 4), np.float32))
        self.refuse_array("has 0 axes", "--alibi", np.float32(0))
        self.refuse_array("has numbers of 4 distances; 2n + 1 are needed", "--relative", np.zeros(4, np.float32))
        self.refuse_array("has tables of 3 heads", "--relative", np.zeros((3, 5), np.float32))
        self.refuse_array("has 3 axes", "--relative", np.zeros((1, 4, 5), np.float32))

    def test_shapes(self):
        def refuse(text, q, k, v):
            self.save(*(np.zeros(shape, np.float32) for shape in (q, k, v)))
            self.refuse(text)

        refuse("axes", (8,), (8,), (8,))
        refuse("axes", (), (), ())
        refuse("axes", (1, 1, 1, 5, 8), (1, 1, 1, 5, 8), (1, 1, 1, 5, 8))
        refuse("axes", (5, 8), (1, 5, 8), (1, 5, 8))
        refuse("axes", (1, 5, 8), (1, 5, 8), (5, 8))
        refuse("batch", (2, 1, 5, 8), (3, 1, 5, 8), (3, 1, 5, 8))
        refuse("batch", (2, 1, 5, 8), (2, 1, 5, 8), (1, 1, 5, 8))
        refuse("heads", (2, 5, 8), (2, 5, 8), (1, 5, 8))
        refuse("heads", (5, 5, 8), (2, 5, 8), (2, 5, 8))
        refuse("heads", (2, 5, 8), (4, 5, 8), (4, 5, 8))
        refuse("rows", (2, 5, 8), (2, 6, 8), (2, 7, 8))
        refuse("dimensions", (2, 5, 8), (2, 6, 9), (2, 6, 8))
        refuse("", (0, 5, 8), (0, 6, 8), (0, 6, 8))
        refuse("", (2, 5, 0), (2, 6, 0), (2, 6, 8))
        refuse("", (2, 5, 8), (2, 6, 8), (2, 6, 0))

    def test_huge_output(self):
        self.save(*tensors((2, 5, 8), (2, 0, 8)))
        with open(self.path("v.npy"), "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "<f4", "fortran_order": False, "shape": (2, 0, 2**57)})
        self.refuse("")

    def test_element_types(self):
        for kind, text in (("<f8", "astype('<f4')"), ("<u2", "'<u2'"), (">f4", "'>f4'"), ("<i4", "'<i4'"), ("?", "'|b1'")):
            np.save(self.path("k.npy"), np.zeros((2, 2, 9, 8), kind))
            self.refuse(text)
            self.refuse("float32 ('<f4') or float16 ('<f2') is needed", "--cast", "f32")

    def test_fortran_order(self):
        np.save(self.path("v.npy"), np.asfortranarray(np.zeros((2, 2, 9, 8), np.float32)))
        self.refuse("Fortran order")

    def test_damaged_files(self):
        with open(self.path("q.npy"), "rb") as file:
            whole = file.read()
        damaged = (whole[:-1], whole[:100], whole[:9], b"", b"garbage" * 100, whole + b"x", b"\x93NUMPY\x07" + whole[7:],
                   whole.replace(b"shape", b"shave"), whole.replace(b"(2, 4, 5, 8)", b"(2, 4, 5, 9)"))
        for content in damaged:
            with open(self.path("q.npy"), "wb") as file:
                file.write(content)
            self.refuse("q.npy: ")

    def test_files_that_are_not_there(self):
        for name in "qkv":
            words = self.inputs()
            words[words.index("--" + name) + 1] = self.path("nothing\n.npy")
            self.refuse("nothing?.npy: cannot open", inputs=words)
            words[words.index("--" + name) + 1] = self.path(".")
            self.refuse("cannot read", inputs=words)

    def test_outputs_that_cannot_be_written(self):
        self.refuse("cannot write", outputs=("nowhere/o.npy",))
        self.refuse("cannot write", outputs=("nowhere/o.npy", "lse.npy"))
        self.refuse("cannot write", outputs=("o.npy", "nowhere/lse.npy"))
        self.refuse("directory", outputs=(".",))
        self.refuse("directory", outputs=("o.npy", "."))
        self.refuse("same file", outputs=("o.npy", "o.npy"))
        self.refuse("cannot write", outputs=("o.npy", "./o.npy"))
        self.refuse("cannot write", "--weights", self.path("nowhere/w.npy"))
        self.refuse("--out and --weights name the same file", "--weights", self.path("o.npy"))
        self.refuse("--lse and --weights name the same file", "--weights", self.path("lse.npy"))
        if os.path.exists("/dev/full") and not on_windows():
            self.refuse("cannot write", outputs=("/dev/full",))
            self.refuse("cannot write", outputs=("o.npy", "/dev/full"))
            self.refuse("cannot write", "--weights", "/dev/full")

    def test_outputs_over_inputs(self):
        """Every option that writes, over a file of every option that reads, by its name and by links."""
        terms = np.zeros((4, 9), np.float32)
        files = {"mask": np.ones((5, 9), bool), "sinks": terms[:, 0], "alibi": terms[:, 0], "relative": terms,
                 "shaw-keys": np.zeros((9, 8), np.float32), "shaw-values": np.zeros((9, 8), np.float32)}
        for name, array in files.items():
            np.save(self.path(name + ".npy"), array)
        np.save(self.path("documents.npy"), np.zeros(9, np.int64))
        words = [word for name in files for word in ("--" + name, self.path(name + ".npy"))]
        words += ["--pattern", "documents " + self.path("documents.npy")]
        self.attend(*words)
        os.remove(self.path("o.npy"))
        os.remove(self.path("lse.npy"))
        for name in ("q", "k", "v", *files, "documents"):
            self.refuse(name + ".npy: cannot write: the command reads this file, too", *words, outputs=(name + ".npy",))
        for option in ("--lse", "--weights", "--scores", "--column-sums", "--topk 3 --top-keys"):
            self.refuse("mask.npy: cannot write: the command reads this file, too", *words, *option.split(),
                        self.path("mask.npy"), outputs=("o.npy",))
        self.refuse("cannot write: the command reads this file, too", outputs=("./q.npy",))
        if not on_windows():
            os.symlink(self.path("q.npy"), self.path("soft.npy"))
            os.link(self.path("q.npy"), self.path("hard.npy"))
            for name in ("soft.npy", "hard.npy"):
                self.refuse("cannot write: the command reads this file, too", outputs=(name,))
        else:
            self.refuse("cannot write: the command reads this file, too", outputs=("Q.NPY",))

    def test_advice_for_masks(self):
        """Whoever does what the refusal of a mask says gets the mask that was meant."""
        seen = np.random.default_rng(2).random((5, 9)) < 0.7
        seen[:, 0] = True
        np.save(self.path("mask.npy"), seen)
        wanted = self.bits("--mask", self.path("mask.npy"))
        os.remove(self.path("o.npy"))
        os.remove(self.path("lse.npy"))
        for kind in ("<i8", "<i4", "|i1", "|u1", "<u2", ">i8"):
            np.save(self.path("mask.npy"), seen.astype(kind))
            before = self.files()
            done = run("attend", *self.inputs(), "--out", self.path("o.npy"), "--mask", self.path("mask.npy"))
            self.assert_refused(done, "float32 ('<f4'), float16 ('<f2') or bool ('|b1') is needed")
            self.assertEqual(self.files(), before)
            advice = re.search("in NumPy: (.*), if 0 stands for keys that are not visible$", done.stderr.decode().strip())[1]
            self.assertEqual(advice, "a.astype(bool)")
            np.save(self.path("mask.npy"), seen.astype(kind).astype(bool))
            self.assertEqual(self.bits("--mask", self.path("mask.npy")), wanted)
            os.remove(self.path("o.npy"))
            os.remove(self.path("lse.npy"))

    def test_old_outputs_stay(self):
        with open(self.path("o.npy"), "w", encoding="ascii") as file:
            file.write("old")
        self.refuse("scale", "--scale", "nan")
        self.refuse("cannot write", outputs=("o.npy", "nowhere/lse.npy"))
        with open(self.path("o.npy"), encoding="ascii") as file:
            self.assertEqual(file.read(), "old")

    def test_full_stdout(self):
        if on_windows() or not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run(COMMAND + ["info"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
        self.assert_refused(done, "cannot print")


class OtherCommands(unittest.TestCase):
    def output(self, *arguments, environment=None):
        done = run(*arguments, environment=environment)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stderr)
        return done.stdout.decode()

    def test_help(self):
        for name in ("attend", "heatmap", "info", "selftest"):
            self.assertIn(name, self.output("--help"))
            for word in ("--help", "-h"):
                self.assertTrue(self.output(name, word).startswith(f"Usage: fovea {name}"))
        options = ("--q", "--k", "--v", "--out", "--lse", "--causal", "--window", "--chunk", "--offset", "--q-lens",
                   "--kv-lens", "--kv-begins", "--mask", "--scale", "--softcap", "--sinks", "--cast", "--out-type", "--threads", "--isa",
                   "--weights", "--weights-type")
        for option in options:
            self.assertIn(option, self.output("attend", "--help"))
        self.assertTrue(self.output("attend", "--q", "nothing", "--help").startswith("Usage: fovea attend"))
        for name in ("attend", "heatmap"):
            self.assertTrue(all(len(line) <= 116 for line in self.output(name, "--help").splitlines()))

    def test_version(self):
        self.assertRegex(self.output("--version"), r"\Afovea \d+\.\d+\.\d+\n\Z")

    def test_info(self):
        text = self.output("info")
        for word in ("version", "cpu", "instruction set", "threads", "FOVEA_ISA", "usable", "chosen", "reason", "scalar"):
            self.assertIn(word, text)
        self.assertEqual(len(re.findall(r"^\S+ +yes +yes ", text, re.MULTILINE)), 1)
        self.assertRegex(text, r"(?m)^exact mode +\S+$")
        with_amx, without = r"AMX, if .*fovea_allow_amx.*; else \S+ by FMA", r"\S+ by (FMA|VDPBF16PS|BFMLAL); not AMX: .+"
        self.assertRegex(text, rf"(?m)^bf16 mode +({with_amx}|{without})$")
        self.assertRegex(text, r"(?m)^int8 mode +(AMX, if .*fovea_allow_amx.*; else )?\S+ by \w+$")

    def test_info_measures(self):
        text = self.output("info", "--measure")
        speeds = r"exact mode +(64|128) dims: \d+ Gflop/s with many rows, \d+ GB/s with one\n"
        of_mode = r" mode +\d+\.\d\d x as fast with many rows, \d+\.\d\d x with one\n"
        self.assertEqual(len(re.findall(speeds + "bf16" + of_mode + "int8" + of_mode, text)), 2)
        self.assertTrue(text.startswith(self.output("info")))

    def test_info_under_a_cap(self):
        text = self.output("info", environment={"FOVEA_ISA": "scalar"})
        self.assertRegex(text, r"(?m)^instruction set +scalar$")
        self.assertRegex(text, r"(?m)^bf16 mode +scalar by FMA; not AMX: .+$")
        self.assertRegex(text, r"(?m)^int8 mode +scalar by \w+$")
        self.assertRegex(self.output("info", environment={"FOVEA_ISA": "z80"}), r"(?m)^environment +.*ignored")


if __name__ == "__main__":
    COMMAND[:] = sys.argv[1:]
    # Programs start slowly under wine: there only what has to do with files and the screen.
    about_files = ["Files", "OtherCommands", "Shapes.test_ranks", "Types.test_f16_files", "Types.test_out_type",
                   "Mistakes.test_outputs_that_cannot_be_written", "Mistakes.test_outputs_over_inputs", "Mistakes.test_old_outputs_stay"]
    unittest.main(argv=sys.argv[:1] + (about_files if on_windows() else []))
