"""`fovea heatmap`: its pictures against the weights, a stored picture, and every mistake.

    test_heatmap.py COMMAND...    the words that start the program, an emulator among them
"""

import os
import pathlib
import re
import sys
import unittest
import xml.dom.minidom

import numpy as np

import command
import png
from command import COMMAND, on_windows, run

GOLDEN = pathlib.Path(__file__).with_name("heatmap.svg")
GOLDEN_PNG = pathlib.Path(__file__).with_name("heatmap.png")
LEVELS = 128
STOPS = np.array([(255, 255, 255), (199, 222, 242), (122, 179, 222), (48, 122, 189), (13, 56, 122)])
GREY = "#b8b8b8"


def colours():
    """The level of each colour but white."""
    places = np.arange(LEVELS + 1) / (LEVELS / 4)
    channels = [np.floor(np.interp(places, np.arange(5), STOPS[:, i]) + 0.5).astype(int) for i in range(3)]
    levels = {"#%02x%02x%02x" % colour: level for level, colour in enumerate(zip(*channels))}
    return {**levels, GREY: -1}


def softmax(shape, seed=1):
    numbers = np.exp(2 * np.random.default_rng(seed).standard_normal(shape))
    return (numbers / numbers.sum(axis=-1, keepdims=True)).astype(np.float32)


def averaged(matrix, factors):
    """The means of blocks; blocks at the ends are smaller."""
    rows, keys = (range(0, length, factor) for length, factor in zip(matrix.shape, factors))
    return np.array([[matrix[i:i + factors[0], j:j + factors[1]].mean(dtype=float) for j in keys] for i in rows])


class Picture:
    """A picture, read back: the levels of each panel's cells, -1 for grey, and all texts."""

    def __init__(self, content, shape):
        self.root = xml.dom.minidom.parseString(content).documentElement
        self.texts = ["".join(node.data for node in text.childNodes) for text in
                      self.root.getElementsByTagName("text")]
        self.panels = [self.cells(group, shape) for group in self.root.getElementsByTagName("g")
                       if group.hasAttribute("shape-rendering")]

    @staticmethod
    def cells(group, shape):
        levels, known = np.zeros(shape, int), colours()
        for path in group.getElementsByTagName("path"):
            strokes = re.findall(r"M(\d+) (\d+)h(\d+)", path.getAttribute("d"))
            assert "".join("M%s %sh%s" % stroke for stroke in strokes) == path.getAttribute("d")
            for x, y, length in (map(int, stroke) for stroke in strokes):
                assert x + length <= shape[1] and not levels[y, x:x + length].any() # no cell is drawn twice
                levels[y, x:x + length] = known[path.getAttribute("stroke")]
        return levels


class Drawn(command.InDirectory):
    def draw(self, weights, *options, shape=None):
        np.save(self.path("w.npy"), weights)
        before = self.files()
        done = run("heatmap", self.path("w.npy"), "--out", self.path("w.svg"), *options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), done.stderr)
        self.assertEqual(self.files(), sorted({*before, "w.svg"}))
        with open(self.path("w.svg"), "rb") as file:
            return Picture(file.read(), shape or weights.shape[-2:])

    def tokens(self, text, name="t.txt"):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def check_levels(self, picture, panels, full=None):
        self.assertEqual(len(picture.panels), len(panels))
        full = max(panel.max() for panel in panels) if full is None else full
        for levels, panel in zip(picture.panels, panels):
            exact = np.minimum(panel.astype(float) / full, 1) * LEVELS
            self.assertLess(np.abs(levels - exact).max(), 0.501)


class Cells(Drawn):
    def test_shapes(self):
        for shape in ((1, 1), (5, 7), (30, 4), (1, 512), (512, 1)):
            weights = softmax(shape)
            self.check_levels(self.draw(weights), [weights])

    def test_heads_and_batch(self):
        weights = softmax((2, 20, 6, 5))
        self.check_levels(self.draw(weights[0, :7]), weights[0, :7])
        picture = self.draw(weights)
        self.check_levels(picture, weights[0, :16])
        self.assertIn("16 of 20 heads", picture.texts)
        picture = self.draw(weights, "--heads", "19,0,3", "--batch", "1")
        self.check_levels(picture, weights[1, [19, 0, 3]])
        self.assertEqual([text for text in picture.texts if "head" in text],
                         ["batch 1, head 19", "batch 1, head 0", "batch 1, head 3"])
        self.check_levels(self.draw(weights, "--heads", ",".join(map(str, range(20)))), weights[0])

    def test_f16(self):
        weights = softmax((3, 8, 9)).astype("<f2")
        self.check_levels(self.draw(weights), weights)

    def test_averages(self):
        for shape, factors in (((513, 20), (2, 1)), ((3, 1300), (1, 3)), ((1030, 600), (3, 2))):
            weights = softmax(shape)
            cells = averaged(weights, factors)
            picture = self.draw(weights, shape=cells.shape)
            self.check_levels(picture, [cells])
            self.assertIn(f"averaged: a cell is the mean of {factors[0]} x {factors[1]} weights (rows x keys)",
                          picture.texts)

    def test_scale(self):
        weights = softmax((6, 6))
        picture = self.draw(weights, "--max", "1")
        self.check_levels(picture, [weights], 1)
        self.assertIn("1", picture.texts)
        picture = self.draw(weights, "--max", "0.25")
        self.check_levels(picture, [weights], 0.25)
        for text in ("\u2265 0.25", "0.125", "0"):
            self.assertIn(text, picture.texts)
        self.check_levels(self.draw(np.zeros((3, 3), np.float32)), [np.zeros((3, 3))], 1)

    def test_not_finite(self):
        weights = softmax((600, 6))
        weights[7, 2], weights[100, 3] = np.nan, np.inf
        picture = self.draw(weights, shape=(300, 6))
        self.assertEqual(np.argwhere(picture.panels[0] == -1).tolist(), [[3, 2], [50, 3]])
        self.assertTrue(any("grey" in text for text in picture.texts))
        self.assertTrue((self.draw(np.full((2, 2), np.nan, np.float32)).panels[0] == -1).all())

    def test_weights_of_attend(self):
        random = np.random.default_rng(3)
        for name in "qkv":
            np.save(self.path(name + ".npy"), random.standard_normal((2, 3, 9, 8), dtype=np.float32))
        inputs = [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]
        done = run("attend", *inputs, "--causal", "--out", self.path("o.npy"), "--weights", self.path("a.npy"))
        self.assertEqual(done.returncode, 0, done.stderr)
        weights = np.load(self.path("a.npy"))
        picture = self.draw(weights, "--batch", "1")
        self.check_levels(picture, weights[1])
        self.assertFalse(np.triu(picture.panels[0], 1).any())


class Labels(Drawn):
    def test_numbers(self):
        self.assertEqual(self.draw(softmax((2, 3))).texts[:5], ["0", "1", "2", "0", "1"])
        self.assertEqual(self.draw(softmax((1, 120))).texts[:4], ["0", "5", "10", "15"])
        self.assertEqual(self.draw(softmax((1, 3000)), shape=(1, 500)).texts[:3], ["0", "120", "240"])

    def test_tokens(self):
        path = self.tokens("the\ncat\nsat\n")
        self.assertEqual(self.draw(softmax((3, 3)), "--tokens", path).texts[:6], ["the", "cat", "sat"] * 2)
        other = self.tokens("le\r\nchat", "other.txt")
        picture = self.draw(softmax((2, 3)), "--row-tokens", other, "--key-tokens", path)
        self.assertEqual(picture.texts[:5], ["the", "cat", "sat", "le", "chat"])
        self.assertEqual(self.draw(softmax((2, 3)), "--key-tokens", path).texts[:5], ["the", "cat", "sat", "0", "1"])
        long = self.tokens("".join(f"t{i}\n" for i in range(1500)), "long.txt")
        texts = self.draw(softmax((1, 1500)), "--key-tokens", long, shape=(1, 500)).texts
        self.assertEqual(texts[:3], ["t0", "t60", "t120"])

    def test_text_that_xml_reserves(self):
        lines = [b"<a href=\"x\">", b"&amp;", b"'", b"", b" in", b"out ", b"  ", b"a b", "\u00e9t\u00e9".encode(),
                 "\u65e5\U0001f600".encode(), b"\xff\xc3", b"\x00\x1b\t", b"\xed\xa0\x80", b"\xc0\xaf", b"\xef\xbf\xbf",
                 b"\xf4\x90\x80\x80", b"x" * 24, b"y" * 25, b"]]>", b"\xc2\x85"]
        bad = "\ufffd"
        expected = ["<a href=\"x\">", "&amp;", "'", "", "\u2423in", "out\u2423", "\u2423\u2423", "a b",
                    "\u00e9t\u00e9", "\u65e5\U0001f600", bad * 2, bad * 3, bad, bad, bad, bad,
                    "x" * 24, "y" * 24 + "\u2026", "]]>", bad]
        picture = self.draw(softmax((len(lines), 1)), "--row-tokens", self.tokens(b"\n".join(lines) + b"\n"))
        self.assertEqual(picture.texts[1:1 + len(lines)], expected)

    def test_title(self):
        self.assertEqual(self.draw(softmax((2, 3)), "--title", "Heads & <tails>").texts[0], "Heads & <tails>")
        self.assertEqual(self.draw(softmax((2, 3)), "--title=" + "x" * 200).texts[0], "x" * 100 + "\u2026")

    def test_marked_row(self):
        weights = softmax((3, 20, 5))
        frames = lambda picture: [[int(node.getAttribute(name)) for name in ("x", "y", "width", "height")]
                                  for node in picture.root.getElementsByTagName("rect")
                                  if node.getAttribute("stroke-width") == "2"]
        first, plain = self.draw(weights, "--mark", "0"), self.draw(weights)
        grids = [[int(node.getAttribute(name)) for name in ("x", "y", "width", "height")]
                 for node in first.root.getElementsByTagName("rect")
                 if node.getAttribute("stroke") == "#888" and node.getAttribute("fill") == "none"]
        cell = grids[0][3] // 20
        self.assertEqual(frames(plain), [])
        self.assertIn("framed: what row 0 attends to", first.texts)
        for row in (0, 7, 19):
            self.assertEqual(frames(self.draw(weights, "--mark", str(row))),
                             [[x - 1, y + row * cell - 1, width + 2, cell + 2] for x, y, width, _ in grids])
        picture = self.draw(softmax((2, 3)), "--row-tokens", self.tokens("the\n<cat>\n"), "--mark", "1")
        self.assertIn('framed: what "<cat>" attends to', picture.texts)
        long = self.draw(softmax((1300, 4)), "--mark", "1299", shape=(434, 4)) # three rows are one cell
        (_, top, _, height), = frames(long)
        grid, = [node for node in long.root.getElementsByTagName("rect") if node.getAttribute("stroke") == "#888" and
                 node.getAttribute("fill") == "none"]
        self.assertEqual(top + height - 1, int(grid.getAttribute("y")) + int(grid.getAttribute("height")))

    def test_everything_lies_in_the_picture(self):
        for shape, options in (((1, 1), ()), ((4, 3, 3), ("--title", "t" * 100)), ((17, 2, 600), ())):
            picture = self.draw(softmax(shape), *options, shape=(shape[-2], min(shape[-1], 300)))
            width, height = (int(picture.root.getAttribute(name)) for name in ("width", "height"))
            for node in picture.root.getElementsByTagName("text") + picture.root.getElementsByTagName("rect"):
                if node.hasAttribute("x"):
                    x, y = int(node.getAttribute("x")), int(node.getAttribute("y"))
                    right = x + int(node.getAttribute("width") or 0)
                    self.assertTrue(0 < x and right < width and 0 < y < height, node.toxml())


class Stored(Drawn):
    def test_stored_picture(self):
        """The bytes of a picture are final: they change with the drawing only, and not with the machine."""
        weights = np.zeros((2, 3, 4), np.float32)
        weights[0] = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25, 0.25, 0.5, 0]]
        weights[1] = [[0.125, 0.125, 0.25, 0.5], [0, 0, 0.75, 0.25], [np.nan, 0.375, 0.625, 0]]
        self.draw(weights, "--title", "Two heads", "--row-tokens", self.tokens("a\nb\n<c>\n"))
        with open(self.path("w.svg"), "rb") as file:
            self.assertEqual(file.read(), GOLDEN.read_bytes())
        done = run("heatmap", self.path("w.npy"), "--out", self.path("w.png"), "--title", "Two heads", "--row-tokens",
                   self.path("t.txt"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))
        with open(self.path("w.png"), "rb") as file:
            self.assertEqual(file.read(), GOLDEN_PNG.read_bytes())


INK, NOTE, FRAME = (0x22, 0x26, 0x2E), (0x6B, 0x72, 0x80), (0x88, 0x88, 0x88)


class Pixels(Drawn):
    """PNG pictures: the size, the cells and the labels of the SVG of the same weights."""

    def pixels(self, *options):
        done = run("heatmap", self.path("w.npy"), "--out", self.path("w.png"), *options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), done.stderr)
        with open(self.path("w.png"), "rb") as file:
            return png.read(file.read())

    def check(self, weights, *options, shape=None):
        picture = self.draw(weights, *options, shape=shape)
        pixels, colour_of = self.pixels(*options), {level: name for name, level in colours().items()}
        size = tuple(int(picture.root.getAttribute(name)) for name in ("height", "width"))
        self.assertEqual(pixels.shape, (*size, 3))
        drawn = np.zeros(size, bool)
        groups = [group for group in picture.root.getElementsByTagName("g") if group.hasAttribute("shape-rendering")]
        for group, levels in zip(groups, picture.panels):
            left, top, width, height = map(int, re.match(r"translate\((\d+) (\d+)\) scale\((\d+) (\d+)\)",
                                                         group.getAttribute("transform")).groups())
            cells = np.array([[[int(colour_of[level][i:i + 2], 16) for i in (1, 3, 5)] for level in row]
                              for row in levels]).repeat(height, axis=0).repeat(width, axis=1)
            place = slice(top, top + cells.shape[0]), slice(left, left + cells.shape[1])
            self.assertTrue((pixels[place] == cells).all())
            drawn[place] = True
            frame = np.ones((cells.shape[0] + 2, cells.shape[1] + 2), bool)
            frame[1:-1, 1:-1] = False
            around = pixels[top - 1:top + cells.shape[0] + 1, left - 1:left + cells.shape[1] + 1]
            self.assertTrue((around[frame] == FRAME).all())
        return pixels, drawn

    def test_cells(self):
        self.check(softmax((5, 7)))
        self.check(softmax((1, 1)))
        self.check(softmax((7, 30, 4)))
        self.check(softmax((2, 20, 6, 5)), "--heads", "19,0,3", "--batch", "1")
        self.check(softmax((1030, 600)), shape=(344, 300))
        weights = softmax((6, 6))
        weights[2, 3] = np.nan
        self.check(weights, "--max", "0.2")

    def test_marked_row(self):
        weights = softmax((5, 7))
        picture = self.draw(weights, "--mark", "3")
        pixels = self.pixels("--mark", "3")
        mark, = [node for node in picture.root.getElementsByTagName("rect") if node.getAttribute("stroke-width") == "2"]
        x, y, width, height = (int(mark.getAttribute(name)) for name in ("x", "y", "width", "height"))
        around = pixels[y - 1:y + height + 1, x - 1:x + width + 1]
        ring = np.ones(around.shape[:2], bool)
        ring[2:-2, 2:-2] = False
        self.assertTrue((around[ring] == INK).all())
        self.assertFalse((around[~ring] == INK).all(axis=1).any())

    def test_labels(self):
        """Each letter has dots of its own, and a blank is drawn, too."""
        shapes = set()
        for c in range(32, 127):
            pixels, drawn = self.check(softmax((1, 1)), "--row-tokens", self.tokens(chr(c) + "\n"))
            ink = (pixels == INK).all(axis=2)
            self.assertFalse(ink[drawn].any())
            shapes.add(ink[:, :23].tobytes())
        self.assertEqual(len(shapes), 95)

    def test_other_characters(self):
        boxes = [self.check(softmax((1, 1)), "--row-tokens", self.tokens(text + "\n"))[0].tobytes()
                 for text in ("\u00ef", "\u0416", "\x01")]
        self.assertEqual(len(set(boxes)), 1)
        wide, _ = self.check(softmax((1, 40)), "--row-tokens", self.tokens("\u65e5\n"))
        narrow, _ = self.check(softmax((1, 40)), "--row-tokens", self.tokens("\u00ef\n"))
        self.assertEqual(wide.shape[1], narrow.shape[1] + 7)
        self.check(softmax((2, 2)), "--tokens", self.tokens("a" * 60 + "\n\n"))

    def test_bar(self):
        pixels, drawn = self.check(softmax((20, 20)))
        columns = np.flatnonzero((pixels[:, :, 2] > pixels[:, :, 0]).any(axis=0) & ~drawn.any(axis=0))
        dark = [int(name[1:3], 16) for name, level in colours().items() if level == LEVELS][0]
        bar = [x for x in columns if (pixels[:, x, 0] == dark).any() and (pixels[:, x] == (199, 222, 242)).all(axis=1).any()]
        self.assertEqual(len(bar), 14)
        line = pixels[:, bar[0], 0]
        blue = np.flatnonzero(line[:drawn.any(axis=1).nonzero()[0][-1]] < 255)
        self.assertEqual(sorted(line[blue[1:]]), list(line[blue[1:]]))  # light at the bottom


class Mistakes(Drawn):
    def setUp(self):
        super().setUp()
        np.save(self.path("w.npy"), softmax((2, 3, 4, 5)))

    def refuse(self, text, *options, weights=None, out="w.svg"):
        if weights is not None:
            np.save(self.path("w.npy"), weights)
        before = self.files()
        done = run("heatmap", self.path("w.npy"), "--out", self.path(out), *options)
        with self.subTest(options=options, out=out):
            self.assert_refused(done, text)
            self.assertEqual((done.stdout, self.files()), (b"", before))

    def test_options(self):
        self.assert_refused(run("heatmap"), "a file with weights is missing")
        self.assert_refused(run("heatmap", self.path("w.npy")), "--out is missing")
        self.assert_refused(run("heatmap", "--out", self.path("w.svg")), "a file with weights is missing")
        self.refuse("unexpected argument 'more'", "more")
        self.refuse("unknown option '--frob' (see fovea heatmap --help)", "--frob")
        self.refuse("--out is given twice", "--out", "x")
        for option in ("--heads", "--batch", "--tokens", "--row-tokens", "--key-tokens", "--title", "--max", "--mark"):
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
        self.draw(weights, "--heads", "0,2")
        self.assert_refused(run("heatmap", self.path("nothing.npy"), "--out", self.path("n.svg")), "cannot open")

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
    unittest.main(argv=sys.argv[:1] + (["Stored", "Mistakes.test_outputs"] if on_windows() else []))
