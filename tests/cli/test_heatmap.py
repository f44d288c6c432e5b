"""`fovea heatmap`: its pictures and its text against the weights, and every mistake.

    test_heatmap.py COMMAND...    the words that start the program, an emulator among them
"""

import os
import sys
import unittest

import numpy as np

import command
import pictures
from command import COMMAND, draws, needs_pictures, on_windows, run
from pictures import INK, LEVELS

INKS = " .:-=+*#%@"


def softmax(shape, seed=1):
    numbers = np.exp(2 * np.random.default_rng(seed).standard_normal(shape))
    return (numbers / numbers.sum(axis=-1, keepdims=True)).astype(np.float32)


def averaged(matrix, factors):
    """The means of blocks; blocks at the ends are smaller."""
    rows, keys = (range(0, length, factor) for length, factor in zip(matrix.shape, factors))
    return np.array([[matrix[i:i + factors[0], j:j + factors[1]].mean(dtype=float) for j in keys] for i in rows])


class Text:
    """Printed maps, read back: the levels of each panel's cells, -1 for no number, and all that is around them."""

    def __init__(self, printed):
        self.lines = printed.splitlines()
        self.panels, self.labels, self.marked, self.others = [], [], [], []
        inside = False
        for line in self.lines:
            # A label has no bar here, and ends one blank before the cells.
            begin = max(line.find(" |"), line.find(" >"))
            cells = begin >= 0 and line[-1] in "|<" and len(line) > begin + 2
            if not cells:
                self.others.append(line)
                inside = False
                continue
            if not inside:
                self.panels.append([])
                self.labels.append([])
            inside = True
            self.panels[-1].append([-1 if c == "?" else INKS.index(c) for c in line[begin + 2:-1]])
            self.labels[-1].append(line[:begin].lstrip(" "))
            if line[begin + 1] == ">":
                self.marked.append(len(self.labels[-1]) - 1)
        self.panels = [np.array(panel) for panel in self.panels]


class Maps(command.InDirectory):
    def save(self, weights):
        np.save(self.path("w.npy"), weights)

    def print(self, weights, *options):
        self.save(weights)
        before = self.files()
        done = run("heatmap", self.path("w.npy"), *options)
        self.assertEqual((done.returncode, done.stderr, self.files()), (0, b"", before), done.stderr)
        return Text(done.stdout.decode())

    def draw(self, weights, *options, name="w.png"):
        """Draws, and returns the path."""
        self.save(weights)
        before = self.files()
        done = run("heatmap", self.path("w.npy"), "--out", self.path(name), *options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), done.stderr)
        self.assertEqual(self.files(), sorted({*before, name}))
        return self.path(name)

    def cells(self, weights, *options, shape=None):
        image = pictures.pixels(self.draw(weights, *options))
        return [pictures.cells(image, frame, shape or weights.shape[-2:]) for frame in pictures.frames(image)[:-1]]

    def pdf(self, weights, *options):
        with open(self.draw(weights, *options, name="w.pdf"), "rb") as file:
            return pictures.Pdf(file.read())

    def tokens(self, text, name="t.txt"):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def check_levels(self, found, panels, full=None, levels=LEVELS):
        self.assertEqual(len(found), len(panels))
        full = max(panel.max() for panel in panels) if full is None else full
        for cells, panel in zip(found, panels):
            exact = np.minimum(panel.astype(float) / full, 1) * levels
            self.assertEqual(cells.shape, panel.shape)
            self.assertLess(np.abs(cells - exact).max(), 0.501)


class Printed(Maps):
    def check(self, weights, panels, *options, full=None):
        text = self.print(weights, *options)
        self.check_levels(text.panels, panels, full, len(INKS) - 1)
        return text

    def test_cells(self):
        for shape in ((1, 1), (5, 7), (96, 3), (1, 96)):
            weights = softmax(shape)
            self.check(weights, [weights])
        weights = softmax((2, 20, 6, 5))
        text = self.check(weights, weights[0, :16])
        self.assertIn("16 of 20 heads", text.others)
        text = self.check(weights, weights[1, [19, 0]], "--heads", "19,0", "--batch", "1")
        self.assertEqual([line for line in text.others if "head" in line], ["batch 1, head 19", "batch 1, head 0"])

    def test_averages(self):
        weights = softmax((97, 300))
        text = self.check(weights, [averaged(weights, (2, 4))])
        self.assertIn("averaged: a cell is the mean of 2 x 4 weights (rows x keys)", text.others)
        self.assertEqual(text.labels[0][:3], ["0", "2", "4"])

    def test_scale(self):
        weights = softmax((6, 6))
        self.assertIn("' ' is 0, '@' is 1", self.check(weights, [weights], "--max", "1", full=1).others)
        self.assertIn("' ' is 0, '@' is 0.25 or more", self.check(weights, [weights], "--max", "0.25", full=0.25).others)
        weights[2, 3] = np.nan
        text = self.print(weights)
        self.assertEqual(np.argwhere(text.panels[0] == -1).tolist(), [[2, 3]])
        self.assertIn("rows: queries, columns: keys; ?: not a finite number", text.others)

    def test_tokens(self):
        path = self.tokens("the\r\ncat\nsat")
        self.assertEqual(self.print(softmax((3, 3)), "--tokens", path).labels, [["the", "cat", "sat"]])
        self.assertEqual(self.print(softmax((3, 2)), "--row-tokens", path).labels, [["the", "cat", "sat"]])
        self.assertEqual(self.print(softmax((2, 3)), "--key-tokens", path).labels, [["0", "1"]])
        long = self.tokens("".join(f"t{i}\n" for i in range(150)), "long.txt")
        self.assertEqual(self.print(softmax((150, 1)), "--row-tokens", long).labels[0][:3], ["t0", "t2", "t4"])

    def test_any_bytes(self):
        lines = [b"<a href=\"x\">", b"&amp;", b"'", b"", b" in", b"out ", b"  ", b"a b", "\u00e9t\u00e9".encode(),
                 "\u65e5\U0001f600".encode(), b"\xff\xc3", b"\x00\x1b\t", b"\xed\xa0\x80", b"\xc0\xaf", b"\xef\xbf\xbf",
                 b"\xf4\x90\x80\x80", b"x" * 24, b"y" * 25, b"]]>", b"\xc2\x85"]
        bad = "\ufffd"
        expected = ["<a href=\"x\">", "&amp;", "'", "", "\u2423in", "out\u2423", "\u2423\u2423", "a b",
                    "\u00e9t\u00e9", "\u65e5\U0001f600", bad * 2, bad * 3, bad, bad, bad, bad,
                    "x" * 24, "y" * 24 + "\u2026", "]]>", bad]
        path = self.tokens(b"\n".join(lines) + b"\n")
        text = self.print(softmax((len(lines), 1)), "--row-tokens", path)
        self.assertEqual(text.labels[0], expected)
        if draws():
            self.draw(softmax((len(lines), 1)), "--row-tokens", path, name="w.svg")
            self.draw(softmax((len(lines), 1)), "--row-tokens", path)

    def test_title_and_mark(self):
        self.assertEqual(self.print(softmax((2, 3)), "--title", "Heads & <tails>").lines[0], "Heads & <tails>")
        self.assertEqual(self.print(softmax((2, 3)), "--title=" + "x" * 200).lines[0], "x" * 100 + "\u2026")
        text = self.print(softmax((3, 20, 5)), "--mark", "7")
        self.assertEqual(text.marked, [7] * 3)
        self.assertIn("framed: what row 7 attends to", text.others)
        text = self.print(softmax((2, 3)), "--row-tokens", self.tokens("the\n<cat\n"), "--mark", "1")
        self.assertIn('framed: what "<cat" attends to', text.others)
        text = self.print(softmax((1300, 4)), "--mark", "1299")
        self.assertEqual(text.marked, [1299 // 14])
        self.assertIn("framed: the cells of row 1299", text.others)


@needs_pictures
class Cells(Maps):
    def test_shapes(self):
        for shape in ((1, 1), (5, 7), (30, 4), (1, 512), (512, 1)):
            weights = softmax(shape)
            self.check_levels(self.cells(weights), [weights])

    def test_heads_and_batch(self):
        weights = softmax((2, 20, 6, 5))
        self.check_levels(self.cells(weights[0, :7]), weights[0, :7])
        self.check_levels(self.cells(weights), weights[0, :16])
        self.check_levels(self.cells(weights, "--heads", "19,0,3", "--batch", "1"), weights[1, [19, 0, 3]])
        self.check_levels(self.cells(weights, "--heads", ",".join(map(str, range(20)))), weights[0])

    def test_f16(self):
        weights = softmax((3, 8, 9)).astype("<f2")
        self.check_levels(self.cells(weights), weights)

    def test_averages(self):
        for shape, factors in (((513, 20), (2, 1)), ((3, 1300), (1, 3)), ((1030, 600), (3, 2))):
            weights = softmax(shape)
            expected = averaged(weights, factors)
            self.check_levels(self.cells(weights, shape=expected.shape), [expected])

    def test_scale(self):
        weights = softmax((6, 6))
        self.check_levels(self.cells(weights, "--max", "1"), [weights], 1)
        self.check_levels(self.cells(weights, "--max", "0.25"), [weights], 0.25)
        self.check_levels(self.cells(np.zeros((3, 3), np.float32)), [np.zeros((3, 3))], 1)

    def test_not_finite(self):
        weights = softmax((600, 6))
        weights[7, 2], weights[100, 3] = np.nan, np.inf
        found, = self.cells(weights, shape=(300, 6))
        self.assertEqual(np.argwhere(found == -1).tolist(), [[3, 2], [50, 3]])
        self.assertTrue((self.cells(np.full((2, 2), np.nan, np.float32))[0] == -1).all())

    def test_weights_of_attend(self):
        random = np.random.default_rng(3)
        for name in "qkv":
            np.save(self.path(name + ".npy"), random.standard_normal((2, 3, 9, 8), dtype=np.float32))
        inputs = [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]
        done = run("attend", *inputs, "--causal", "--out", self.path("o.npy"), "--weights", self.path("a.npy"))
        self.assertEqual(done.returncode, 0, done.stderr)
        weights = np.load(self.path("a.npy"))
        found = self.cells(weights, "--batch", "1")
        self.check_levels(found, weights[1])
        self.assertFalse(np.triu(found[0], 1).any())

    def test_bar(self):
        image = pictures.pixels(self.draw(softmax((20, 20))))
        left, top, width, height = pictures.frames(image)[-1]
        self.assertEqual(width, 14)
        levels = pictures.levels(image[top:top + height, left:left + width])
        self.assertTrue((levels == levels[:, :1]).all())
        self.assertEqual((levels[0, 0], levels[-1, 0]), (LEVELS, 0))  # light at the bottom
        self.assertTrue((np.diff(levels[:, 0]) <= 0).all())

    def test_marked_row(self):
        weights = softmax((3, 20, 5))
        plain = pictures.pixels(self.draw(weights))
        for row in (0, 7, 19):
            marked = pictures.pixels(self.draw(weights, "--mark", str(row)))
            for left, top, width, height in pictures.frames(plain)[:-1]:
                first, side = top + row * (height // 20), height // 20
                ring = np.ones((side + 4, width + 4), bool)
                ring[2:-2, 2:-2] = False
                around = marked[first - 2:first + side + 2, left - 2:left + width + 2]
                self.assertTrue((around[ring] == INK).all())
                self.assertTrue((around[~ring] == plain[first:first + side, left:left + width].reshape(-1, 3)).all())


@needs_pictures
class Kinds(Maps):
    """PNG, SVG and PDF have the same size, the same cells, and the same text."""

    def test_kinds(self):
        weights = softmax((2, 6, 5))
        weights[0, 1, 2] = np.nan
        options = ("--row-tokens", self.tokens("the\ncat\nsat\non\na\nmat\n"), "--title", "Heads (two) & <more>", "--max", "0.5")
        image = pictures.pixels(self.draw(weights, *options))
        svg = pictures.Svg(self.draw(weights, *options, name="w.svg"))
        pdf = self.pdf(weights, *options)
        self.assertEqual((svg.size, pdf.size), ((image.shape[1], image.shape[0]),) * 2)
        self.assertEqual(len(svg.images), 3)
        for embedded, (left, top, width, height) in zip(svg.images, pictures.frames(image)):
            with open(self.path("embedded.png"), "wb") as file:
                file.write(embedded)
            self.assertTrue((pictures.pixels(self.path("embedded.png")) == image[top:top + height, left:left + width]).all())
        labels = ["the", "cat", "sat", "on", "a", "mat", "0", "1", "2", "3", "4", "head 0", "head 1", "0.125", "0.25",
                  "0.375", "Heads (two) & <more>", "rows: queries, columns: keys; grey: not a finite number"]
        for label in labels:
            self.assertIn(label, pdf.texts)
        self.assertGreaterEqual(svg.letters, sum(map(len, labels)) + len("thecatsatonamat01234"))

    def test_same_map_same_bytes(self):
        for name in ("w.png", "w.svg", "w.pdf"):
            files = []
            for _ in range(2):
                with open(self.draw(softmax((3, 4, 5)), "--title", "t", name=name), "rb") as file:
                    files.append(file.read())
            self.assertEqual(*files)

    def test_labels_that_are_drawn(self):
        self.assertEqual(self.pdf(softmax((1, 120))).texts.count("5"), 1)
        self.assertNotIn("4", self.pdf(softmax((1, 120))).texts)
        texts = self.pdf(softmax((1, 3000))).texts
        self.assertTrue({"0", "120", "240"} <= set(texts) and "60" not in texts)
        self.assertIn("x" * 24, "".join(self.pdf(softmax((1, 1)), "--row-tokens", self.tokens("x" * 30)).texts))

    def test_letters(self):
        """Each letter of ASCII has a shape of its own, and a blank is drawn, too."""
        shapes = set()
        for c in range(32, 127):
            image = pictures.pixels(self.draw(softmax((1, 1)), "--row-tokens", self.tokens(chr(c) + "\n")))
            left = pictures.frames(image)[0][0]
            shapes.add(image[:, :left - 1].tobytes())
        self.assertEqual(len(shapes), 95)

    def test_font(self):
        plain, sans, mono = (self.pdf(softmax((2, 2)), *options).fonts for options in
                             ((), ("--font", "DejaVu Sans"), ("--font", "DejaVu Sans Mono")))
        self.assertEqual(plain, sans)
        if "DejaVuSans" in sans: # one package has both
            self.assertEqual(mono, {"DejaVuSansMono"})

    def test_everything_lies_in_the_picture(self):
        for shape, options in (((1, 1), ()), ((4, 3, 3), ("--title", "t" * 100)), ((17, 2, 600), ()),
                               ((2, 2, 2), ("--row-tokens", self.tokens("W" * 24 + "\n" + "W" * 24)))):
            image = pictures.pixels(self.draw(softmax(shape), *options))
            edge = np.concatenate([image[:8].reshape(-1, 3), image[-8:].reshape(-1, 3),
                                   image[:, :8].reshape(-1, 3), image[:, -8:].reshape(-1, 3)])
            self.assertTrue((edge == pictures.PAPER).all(), shape)


class Without(Maps):
    def test_refusal(self):
        """Without cairo a picture is refused before anything is read, and the text says how to get it."""
        if draws():
            self.skipTest("this program has cairo")
        for out in ("w.png", "w.svg", "w.pdf"):
            done = run("heatmap", self.path("w.npy"), "--out", self.path(out))
            self.assert_refused(done, "built without cairo")
            self.assertIn("libcairo2-dev", done.stderr.decode())
        self.assert_refused(run("explain", "--rows", "3", "--out", self.path("w.png")), "built without cairo")
        self.assertEqual(self.files(), [])


class Mistakes(Maps):
    def setUp(self):
        super().setUp()
        np.save(self.path("w.npy"), softmax((2, 3, 4, 5)))

    def refuse(self, text, *options, weights=None, out="w.svg"):
        if weights is not None:
            np.save(self.path("w.npy"), weights)
        before = self.files()
        done = run("heatmap", self.path("w.npy"), *(("--out", self.path(out)) if draws() else ()), *options)
        with self.subTest(options=options, out=out):
            self.assert_refused(done, text)
            self.assertEqual((done.stdout, self.files()), (b"", before))

    def test_options(self):
        self.assert_refused(run("heatmap"), "a file with weights is missing")
        self.assert_refused(run("heatmap", self.path("w.npy"), "--font", "x"), "--font needs --out")
        self.assert_refused(run("heatmap", "--out", self.path("w.svg")), "a file with weights is missing")
        self.refuse("unexpected argument 'more'", "more")
        self.refuse("unknown option '--frob' (see fovea heatmap --help)", "--frob")
        if draws():
            self.refuse("--out is given twice", "--out", "x")
        for option in ("--heads", "--batch", "--tokens", "--row-tokens", "--key-tokens", "--title", "--font", "--max", "--mark"):
            self.refuse(f"{option} needs", option)

    def test_heads_and_batch(self):
        for text in ("3", "-1", "0,1,7"):
            self.refuse("has 3 heads, counted from 0", "--heads", text)
        self.refuse("--heads has 1 twice", "--heads", "1,0,1")
        for text in ("4", "-1"):
            self.refuse("the weights have 4 rows, counted from 0", "--mark", text)
        self.refuse("--heads takes numbers", "--heads", "1,x")
        for text in ("2", "-1"):
            self.refuse(f"--batch is {text}", "--batch", text)
        self.refuse("--batch takes a number", "--batch", "0,1")
        self.refuse("has 65 numbers; at most 64 are drawn", "--heads", ",".join(map(str, range(65))),
                    weights=softmax((70, 2, 2)))

    def test_max(self):
        for text in ("0", "-1", "nan", "inf", "1e-60", "1e60"):
            self.refuse("--max is", "--max", text)
        self.refuse("--max takes a number", "--max", "x")

    def test_weights(self):
        for shape in ((), (4,), (1, 1, 1, 4, 5)):
            self.refuse(f"has {len(shape)} axes", weights=np.zeros(shape, np.float32))
        for shape in ((0, 5), (5, 0), (2, 0, 5, 5), (0, 5, 5)):
            self.refuse("is empty", weights=np.zeros(shape, np.float32))
        for kind in ("<f8", "<i4", "?", "<u2"):
            self.refuse("float32 ('<f4') or float16 ('<f2') is needed", weights=np.zeros((4, 5), kind))
        self.refuse("Fortran order", weights=np.asfortranarray(softmax((4, 5))))
        weights = softmax((3, 4, 5))
        weights[1, 2, 3] = -0.5
        self.refuse("head 1 has -0.5 at row 2, key 3", weights=weights)
        self.print(weights, "--heads", "0,2")
        self.assert_refused(run("heatmap", self.path("nothing.npy")), "cannot open")

    def test_tokens(self):
        four, five = self.tokens("a\nb\nc\nd\n", "four.txt"), self.tokens("a\nb\nc\nd\ne\n", "five.txt")
        self.refuse("five.txt: has 5 tokens, one a line, but the weights have 4 rows", "--row-tokens", five)
        self.refuse("four.txt: has 4 tokens, one a line, but the weights have 5 keys", "--key-tokens", four)
        self.refuse("has 0 tokens", "--key-tokens", self.tokens(b"", "empty.txt"))
        self.refuse("4 rows and 5 keys; use --row-tokens, --key-tokens", "--tokens", five)
        for option in ("--row-tokens", "--key-tokens"):
            self.refuse(f"{option} cannot be given, too", "--tokens", five, option, four)
        self.refuse("nothing.txt: cannot open", "--row-tokens", self.path("nothing.txt"))
        self.refuse("cannot", "--row-tokens", self.path("."))

    @needs_pictures
    def test_outputs(self):
        self.refuse("cannot write", out="nowhere/w.svg")
        self.refuse("directory", out=".")
        self.refuse("w.npy: cannot write: the command reads this file, too", out="w.npy")
        four = self.tokens("a\nb\nc\nd\n", "four.txt")
        self.refuse("four.txt: cannot write: the command reads this file, too", "--row-tokens", four, out="four.txt")
        if os.path.exists("/dev/full") and not on_windows():
            self.refuse("cannot write", out="/dev/full")
        with open(self.path("w.svg"), "w", encoding="ascii") as file:
            file.write("old")
        self.refuse("--max is 0", "--max", "0")
        with open(self.path("w.svg"), encoding="ascii") as file:
            self.assertEqual(file.read(), "old")


if __name__ == "__main__":
    COMMAND[:] = sys.argv[1:]
    # Programs start slowly under wine: there only what has to do with files and the screen.
    unittest.main(argv=sys.argv[:1] + (["Printed", "Without"] if on_windows() else []))
