"""`fovea explain`: its table against pairs counted by NumPy, its pictures cell by cell, and every mistake.

    test_explain.py COMMAND...    the words that start the program, an emulator among them
"""

import re
import sys
import unittest

import numpy as np

import command
import pictures
from command import COMMAND, needs_pictures, run, usable_isas

KINDS = ("empty", "full", "limited", "bits", "masked")


def sees(rows, keys, rule=lambda i, j: j <= i, offset=None):
    """Which keys each row sees, by a rule over positions."""
    i = np.arange(rows)[:, None] + (keys - rows if offset is None else offset)
    return np.broadcast_to(rule(i, np.arange(keys)), (rows, keys))


def tiles(rows, lanes, row_tile):
    """The row numbers of each tile: vectors are split evenly."""
    vectors = -(-rows // lanes)
    count = -(-vectors // (row_tile // lanes))
    cuts = [min(rows, (vectors // count * t + min(t, vectors % count)) * lanes) for t in range(count + 1)]
    return [np.arange(begin, end) for begin, end in zip(cuts, cuts[1:])]


def kinds(seen, group, lanes, row_tile):
    """How many blocks of each kind there are, if no mask is given."""
    counts = dict.fromkeys(KINDS, 0)
    for tile in tiles(len(seen) * group, lanes, row_tile):
        for key in range(0, seen.shape[1], 128):
            block = seen[tile // group, key:key + 128]
            edges = np.diff(np.pad(block, ((0, 0), (1, 1))).astype(int), axis=1)
            counts["empty" if not block.any() else "full" if block.all() else
                   "bits" if ((edges == 1).sum(axis=1) > 1).any() else "limited"] += 1
    return counts


class Explained(command.InDirectory):
    def explain(self, *options):
        done = run("explain", *options)
        self.assertEqual((done.returncode, done.stderr), (0, b""), (options, done.stderr))
        return done.stdout.decode()

    def number(self, text, pattern):
        found = re.search(pattern, text, re.MULTILINE)
        self.assertIsNotNone(found, (pattern, text))
        return int(found.group(1))

    def check(self, seen, *options, heads=1, kv_heads=1, batch=1):
        text = self.explain("--rows", seen.shape[0], "--keys", seen.shape[1], "--heads", heads, "--kv-heads", kv_heads,
                            "--batch", batch, *options)
        lanes = self.number(text, r"(\d+) rows in a vector")
        row_tile = self.number(text, r"(\d+) in a tile")
        expected = {kind: count * kv_heads * batch
                    for kind, count in kinds(seen, heads // kv_heads, lanes, row_tile).items()}
        self.assertEqual(self.number(text, r"^blocks +(\d+) of"), sum(expected.values()))
        for kind, count in expected.items():
            found = re.search(rf"^  {kind} +(\d+)", text, re.MULTILINE)
            self.assertEqual(int(found.group(1)) if found else 0, count, (kind, text))
        self.assertEqual(self.number(text, r"^pairs +(\d+) "), seen.size * heads * batch)
        self.assertEqual(self.number(text, r", (\d+)(?: \([0-9.]+ %\))? visible"), int(seen.sum()) * heads * batch)
        return text

    def refuse(self, text, *options):
        done = run("explain", *options)
        with self.subTest(options=options):
            self.assert_refused(done, text)
            self.assertEqual((done.stdout, self.files()), (b"", []))


class Table(Explained):
    def test_rules(self):
        everything = sees(100, 300, lambda i, j: j >= 0)
        self.check(everything)
        self.check(sees(300, 300), "--causal")
        self.check(sees(300, 700), "--causal", heads=6, kv_heads=2, batch=3)
        self.check(sees(500, 500, lambda i, j: (j <= i) & (j >= i - 99)), "--window", "99,0")
        self.check(sees(500, 500, lambda i, j: i // 64 == j // 64), "--chunk", "64,0,0")
        self.check(sees(200, 500, offset=3), "--causal", "--offset", "3")

    def test_patterns(self):
        self.check(sees(300, 300, lambda i, j: (j <= i) & ((i - j < 20) | (j < 4))), "--pattern",
                   "causal & (window 19 | keys 0:4)")
        self.check(sees(300, 400, lambda i, j: (i - j) % 3 == 0), "--pattern", "dilated -1 -1 3", heads=4, kv_heads=2)
        self.check(sees(90, 256, lambda i, j: (j == 7) | (j == 200) | (i == 200)), "--global", "7,200")

    def test_every_set(self):
        for isa in usable_isas():
            text = self.check(sees(77, 300), "--causal", "--isa", isa)
            self.assertIn(f" {isa}", text)
            self.assertIn(": the execution names it", text)

    def test_mask(self):
        np.save(self.path("m.npy"), np.ones((40, 300), bool))
        text = self.explain("--rows", "40", "--keys", "300", "--causal", "--mask", self.path("m.npy"), "--isa", "scalar")
        self.assertIn("unknown until run", text)
        self.assertIn("as if there were no mask", text)
        self.assertEqual(self.number(text, r"^  masked +(\d+)"), self.number(text, r"^blocks +(\d+)"))

    def test_work(self):
        text = self.explain("--rows", "100", "--keys", "1000", "--dim", "32", "--v-dim", "16", "--type", "f16",
                            "--out-type", "bf16")
        self.assertIn("9.6 Mflop, 96 for each visible pair", text)
        self.assertIn("102.4 kB read, 3.2 kB written", text)
        self.assertNotIn("time", text)
        text = self.explain("--rows", "1000", "--dim", "32", "--peak", "64", "--bandwidth", "2")
        self.assertIn("at least 2 ms for the work at 64.0 Gflop/s, 256 us for the memory at 2.0 GB/s; the work decides", text)
        text = self.explain("--rows", "1000", "--dim", "32", "--peak", "64")
        self.assertIn("at least 2 ms for the work at 64.0 Gflop/s\n", text)

    def test_measured(self):
        text = self.explain("--rows", "3000", "--type", "f16", "--threads", "1", "--isa", "scalar", "--measure")
        self.assertRegex(text, r"about [0-9.]+ m?s for the work at [0-9.]+ [MGT]flop/s, [0-9.]+ [um]s for the memory "
                               r"at [0-9.]+ [MGT]B/s; the work decides")

    def test_arithmetic(self):
        sizes = ("--rows", "100", "--dim", "32")
        self.assertRegex(self.explain(*sizes), r"(?m)^arithmetic +exact$")
        # Of int8 each set has instructions of its own.
        instruction = {"exact": None, "bf16": r"bf16 by \w+", "int8": r"int8 by \w+"}
        for scores in instruction:
            for values in instruction:
                products = [instruction[mode] for mode in dict.fromkeys((scores, values)) if instruction[mode]]
                if products:
                    self.assertRegex(self.explain(*sizes, "--arithmetic", f"{scores},{values}"),
                                     rf"(?m)^arithmetic +scores {scores}, values {values}; "
                                     rf"products of {', of '.join(products)}$")
        self.assertRegex(self.explain(*sizes, "--arithmetic", "int8"), "(?m)^arithmetic +scores int8, values int8; ")
        # The option is a permission. `fovea info` says whether AMX can run; not where FOVEA_ISA caps the set.
        info = run("info").stdout.decode()
        for mode in ("bf16", "int8"):
            by = "AMX" if re.search(rf"(?m)^{mode} mode +AMX", info) else r"(?!AMX)\w+"
            self.assertRegex(self.explain(*sizes, "--arithmetic", mode, "--allow-amx"), rf"products of {mode} by {by}\n")
        self.assert_refused(run("explain", *sizes, "--allow-amx"), "--allow-amx needs --arithmetic bf16")
        self.assert_refused(run("explain", *sizes, "--arithmetic", "int4"), "--arithmetic takes exact, bf16 or int8")

    def test_measured_arithmetic(self):
        for mode in ("bf16", "int8"):
            text = self.explain("--rows", "300", "--dim", "8", "--threads", "1", "--isa", "scalar", "--measure",
                                "--arithmetic", mode)
            self.assertRegex(text, r"(?m)^exact +[0-9.]+ [MG]flop/s, [0-9.]+ [MG]B/s here in exact mode: this is [0-9.]+ x "
                                   r"as fast with many rows, [0-9.]+ x with one$")

    def test_ways(self):
        text = self.explain("--rows", "1", "--keys", "100000")
        self.assertIn("decoded, keys in the lanes of vectors", text)
        self.assertIn("few", text)
        rows = 1000
        np.save(self.path("starts.npy"), np.arange(rows + 1))
        np.save(self.path("keys.npy"), np.arange(rows) * 7 % rows)
        text = self.explain("--rows", rows, "--csr", self.path("starts.npy") + "," + self.path("keys.npy"))
        self.assertIn("1000 one by one, the keys of their lists gathered", text)
        self.assertIn("leave few keys", text)
        self.assertIn("1000 (0.10 %) visible", text)
        self.assertIn("none", self.explain("--rows", "0"))


@needs_pictures
class Pictures(Explained):
    def cells(self, seen, factors):
        """The share of pairs, and so the levels of cells."""
        rows, keys = (range(0, length, factor) for length, factor in zip(seen.shape, factors))
        shares = np.array([[seen[i:i + factors[0], j:j + factors[1]].mean() for j in keys] for i in rows])
        return np.floor(shares * 128 + 0.5).astype(int)

    def check_picture(self, panels, *options, factors=(1, 1)):
        """Returns the texts of the picture."""
        self.explain(*options, "--out", self.path("p.png"))
        self.explain(*options, "--out", self.path("p.pdf"))
        image = pictures.pixels(self.path("p.png"))
        frames = pictures.frames(image)[:-1]
        self.assertEqual(len(frames), len(panels))
        for frame, seen in zip(frames, panels):
            expected = self.cells(seen, factors)
            self.assertTrue((pictures.cells(image, frame, expected.shape) == expected).all(), options)
        with open(self.path("p.pdf"), "rb") as file:
            return pictures.Pdf(file.read()).texts

    def test_rules(self):
        texts = self.check_picture([sees(40, 70)], "--rows", "40", "--keys", "70", "--causal")
        self.assertIn("dark: the row sees the key", texts)
        self.check_picture([sees(40, 40, lambda i, j: (j <= i + 2) & (j >= i - 5))], "--rows", "40", "--window", "5,2")
        self.check_picture([sees(64, 64, lambda i, j: (i - j) % 5 == 0)], "--rows", "64", "--pattern",
                           "dilated -1 -1 5")

    def test_averages(self):
        seen = sees(1300, 600, lambda i, j: (i - j) % 3 == 0, offset=0)
        texts = self.check_picture([seen], "--rows", "1300", "--keys", "600", "--offset", "0", "--pattern",
                                   "dilated -1 -1 3", factors=(3, 2))
        self.assertIn("averaged: a cell is the share of 3 x 2 pairs (rows x keys) where the row sees the key", texts)
        seen = sees(1, 200000, lambda i, j: j % 1000 < 300)
        self.check_picture([seen], "--rows", "1", "--keys", "200000", "--pattern", "every 1000 0:300", factors=(1, 391))

    def test_heads_and_mask(self):
        mask = np.random.default_rng(1).random((2, 3, 30, 50)) < 0.5
        np.save(self.path("m.npy"), mask)
        seen = mask & sees(30, 50)
        options = ("--batch", "2", "--heads", "3", "--rows", "30", "--keys", "50", "--causal", "--mask")
        texts = self.check_picture(seen[1, [2, 0]], *options, self.path("m.npy"), "--head", "2,0", "--element", "1")
        self.assertEqual([text for text in texts if "head" in text], ["batch 1, head 2", "batch 1, head 0"])
        self.check_picture(seen[0, :1], *options, self.path("m.npy"))
        for kind in ("<f4", "<f2"):
            np.save(self.path("m.npy"), np.where(mask[:, :1, :, 10:40], 0, -np.inf).astype(kind))
            part = np.zeros_like(mask)
            part[:, :, :, :10] = True
            part[:, :, :, 10:40] = mask[:, :1, :, 10:40]
            self.check_picture((part & sees(30, 50))[0, 1:2], *options, self.path("m.npy"), "--mask-begin", "10",
                               "--head", "1")

    def test_lengths(self):
        seen = sees(20, 30, lambda i, j: (j < 11) & (i < 7), offset=0)
        self.check_picture([seen], "--batch", "2", "--rows", "20", "--keys", "30", "--q-lens", "20,7", "--kv-lens",
                           "30,11", "--element", "1")


class Mistakes(Explained):
    def test_options(self):
        self.refuse("--rows is missing (see fovea explain --help)")
        self.refuse("unknown option '--frob' (see fovea explain --help)", "--frob")
        self.refuse("unknown option '--q'", "--q", "x")
        self.refuse("unexpected argument 'more'", "--rows", "1", "more")
        self.refuse("--rows is given twice", "--rows", "1", "--rows", "1")
        self.refuse("--causal is given twice", "--rows", "1", "--causal", "--causal")
        for option in ("--rows", "--keys", "--dim", "--type", "--out", "--pattern", "--window"):
            self.refuse(f"{option} needs", option)
        self.refuse("--type takes f32, f16 or bf16", "--rows", "1", "--type", "f64")
        self.refuse("--by-row needs", "--rows", "1", "--by-row")
        self.refuse("--head needs --out", "--rows", "1", "--head", "0")
        self.refuse("--element needs --out", "--rows", "1", "--element", "0")
        self.refuse("--measure measures what --peak says", "--rows", "1", "--measure", "--peak", "1")
        self.refuse("--measure: dims of more than", "--rows", "1", "--measure", "--dim", "5000")
        for text in ("0", "-1", "inf", "nan"):
            self.refuse("--peak is", "--rows", "1", "--peak", text)
            self.refuse("--bandwidth is", "--rows", "1", "--bandwidth", text)

    def test_problems(self):
        self.refuse("q_len is -1", "--rows", "-1")
        self.refuse("heads is 0", "--rows", "1", "--heads", "0")
        self.refuse("kv_heads", "--rows", "1", "--heads", "4", "--kv-heads", "3")
        self.refuse("--chunk: a chunk of 0 keys", "--rows", "1", "--chunk", "0,0,0")
        self.refuse("--threads is -1", "--rows", "1", "--threads", "-1")
        self.refuse("isa is \"none\"", "--rows", "1", "--isa", "none")
        self.refuse("no rule at character 1", "--rows", "1", "--pattern", "sideways")
        self.refuse("cannot open", "--rows", "1", "--mask", self.path("m.npy"))


@needs_pictures
class PictureMistakes(Explained):
    def test_pictures(self):
        out = ("--out", self.path("p.png"))
        self.refuse("no rows or no keys", "--rows", "0", *out)
        self.refuse("too many to draw", "--rows", "1", "--keys", str(1 << 40), *out)
        self.refuse("--head has 2; the problem has 2 heads", "--rows", "1", "--heads", "2", "--head", "2", *out)
        self.refuse("--head has 1 twice", "--rows", "1", "--heads", "2", "--head", "1,1", *out)
        self.refuse("--element is 1; the problem has 1 batch elements", "--rows", "1", "--element", "1", *out)
        self.refuse("cannot", "--rows", "1", "--out", self.path("no/p.png"))

    def test_pictures_over_inputs(self):
        np.save(self.path("m.npy"), np.ones((1, 1), bool))
        done = run("explain", "--rows", "1", "--mask", self.path("m.npy"), "--out", self.path("m.npy"))
        self.assert_refused(done, "m.npy: cannot write: the command reads this file, too")
        self.assertEqual((done.stdout, self.files()), (b"", ["m.npy"]))


if __name__ == "__main__":
    COMMAND[:] = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
