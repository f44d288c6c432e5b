"""Patterns of `fovea attend` against masks that NumPy makes: the same bits, and every mistake with its place.

    test_pattern.py COMMAND...    the words that start the program, an emulator among them
"""

import sys
import unittest

import numpy as np

import command
from command import COMMAND, run

ROWS, KEYS = 50, 90


class InDirectory(command.InDirectory):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(7)
        self.save((2, 4, ROWS, 24), (2, 2, KEYS, 24))

    def save(self, q_shape, k_shape):
        for name, shape in (("q", q_shape), ("k", k_shape), ("v", k_shape)):
            np.save(self.path(name + ".npy"), self.random.standard_normal(shape, dtype=np.float32))

    def words(self, *options):
        inputs = [word for name in "qkv" for word in ("--" + name, self.path(name + ".npy"))]
        return ["attend", *inputs, "--out", self.path("o.npy"), "--lse", self.path("lse.npy"), *options]

    def bits(self, *options):
        done = run(*self.words(*options))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""), (options, done.stderr))
        return np.load(self.path("o.npy")).tobytes() + np.load(self.path("lse.npy")).tobytes()

    def array(self, name, numbers, kind=np.int64):
        np.save(self.path(name), np.asarray(numbers, kind))
        return f"'{self.path(name)}'"

    def csr(self, seen):
        """The files of a boolean matrix."""
        starts = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
        return self.array("indptr.npy", starts) + " " + self.array("indices.npy", np.nonzero(seen)[1], np.int32)

    def check(self, text, seen, *options, offset=KEYS - ROWS):
        """`seen` takes positions of rows and keys."""
        mask = np.broadcast_to(seen(np.arange(ROWS)[:, None] + offset, np.arange(KEYS)), (ROWS, KEYS))
        np.save(self.path("mask.npy"), mask)
        with self.subTest(text=text):
            expected = self.bits("--mask", self.path("mask.npy"), *options)
            self.assertEqual(self.bits("--pattern", text, *options), expected)


class Rules(InDirectory):
    def test_positions(self):
        self.check("causal", lambda i, j: j <= i)
        self.check("window 30", lambda i, j: (j <= i) & (j >= i - 30))
        self.check("window 30 4", lambda i, j: (j <= i + 4) & (j >= i - 30))
        self.check("window -1 4", lambda i, j: j <= i + 4)
        self.check("dilated 30 9 3", lambda i, j: (j <= i + 9) & (j >= i - 30) & ((i - j) % 3 == 0))
        self.check("chunks 16", lambda i, j: i // 16 == j // 16)
        self.check("chunks 16 20", lambda i, j: (j >= i // 16 * 16 - 20) & (j < i // 16 * 16 + 16))
        self.check("chunks 16 -1 3", lambda i, j: j < i // 16 * 16 + 19)
        self.check("keys 3:60", lambda i, j: (j >= 3) & (j < 60))
        self.check("rows 45:70", lambda i, j: (i >= 45) & (i < 70))
        self.check("prefix 20", lambda i, j: j < 20)
        self.check("every 7 2:4", lambda i, j: (j % 7 >= 2) & (j % 7 < 4))

    def test_lists(self):
        some = [3, 44, 80]
        is_global = lambda i, j: np.isin(i, some) | np.isin(j, some)
        self.check("global 80,3,44,3", is_global)
        self.check("global " + self.array("global.npy", some), is_global)
        numbers = np.arange(KEYS) // 13
        self.check("documents " + self.array("d.npy", numbers), lambda i, j: numbers[i] == numbers[j])
        rows = numbers[::-1].copy()
        self.check("documents " + self.array("d.npy", numbers) + " " + self.array("r.npy", rows),
                   lambda i, j: rows[i] == numbers[j])

    def test_matrices(self):
        blocks = self.random.random((6, 5)) < 0.5
        self.check("blocks 16 20 " + self.csr(blocks), lambda i, j: blocks[i // 16, j // 20])
        # Drawn by the definition, as the lists of tests/test_random_blocks.c are.
        random = [[0, 4, 10, 11, 17], [2, 8, 10, 11, 12], [1, 2, 3, 11, 15]]
        chosen = np.array([[column in row for column in range(18)] for row in random])
        self.check("random 20 5 5 7", lambda i, j: chosen[i // 20, j // 5], "--offset", "0", offset=0)
        edges = self.random.random((KEYS, KEYS)) < 0.3
        self.check("csr " + self.csr(edges), lambda i, j: edges[i, j])
        self.check("csr " + self.csr(edges[45:60]) + " 45",
                   lambda i, j: edges[i, j] & (i >= 45) & (i < 60))

    def test_trees(self):
        parents = [-1, 0, 0, 1, 1, 2, -1, 6]
        ancestors = np.eye(8, dtype=bool)
        for node in range(8):
            at = parents[node]
            while at >= 0:
                ancestors[node, at] = True
                at = parents[at]
        for text, first in (("tree ", KEYS - 8), ("tree ", 60)):
            words = text + self.array("parents.npy", parents, np.int32) + (" 60" if first == 60 else "")
            inside = lambda i: (i >= first) & (i < first + 8)
            self.check(words, lambda i, j: (j < first) | (inside(i) & inside(j) &
                                                          ancestors[np.clip(i - first, 0, 7), np.clip(j - first, 0, 7)]))

    def test_grids(self):
        def along(i, j, length, window, dilation=1, causal=False):
            places, cells = i // dilation, (length - i % dilation + dilation - 1) // dilation
            first = places - window + 1 if causal else np.clip(places - window // 2, 0, cells - window)
            key = j // dilation
            return ((i - j) % dilation == 0) & (key >= first) & (key < first + window) & (not causal or key <= places)
        along = np.vectorize(along, excluded={"length", "window", "dilation", "causal"})
        self.check("grid 90 7", lambda i, j: along(i, j, length=90, window=7))
        self.check("grid 90 7 dilation 4", lambda i, j: along(i, j, length=90, window=7, dilation=4))
        self.check("grid 90 7 causal", lambda i, j: along(i, j, length=90, window=7, causal=True))
        self.check("grid 9x10 3x5", lambda i, j: along(i // 10, j // 10, length=9, window=3) &
                   along(i % 10, j % 10, length=10, window=5))
        self.check("grid 9x10 3x2 dilation 2x3 causal",
                   lambda i, j: along(i // 10, j // 10, length=9, window=3, dilation=2, causal=True) &
                   along(i % 10, j % 10, length=10, window=2, dilation=3, causal=True))

    def test_joined(self):
        causal, window = lambda i, j: j <= i, lambda i, j: (j <= i) & (j >= i - 9)
        is_global = lambda i, j: np.isin(i, [0, 50]) | np.isin(j, [0, 50])
        prefix = lambda i, j: j < 20
        self.check("causal & (window 9 | global 0,50)", lambda i, j: causal(i, j) & (window(i, j) | is_global(i, j)))
        self.check("causal|prefix 20", lambda i, j: causal(i, j) | prefix(i, j))
        self.check("window 9 | causal & prefix 20", lambda i, j: window(i, j) | (causal(i, j) & prefix(i, j)))
        self.check("!window 9&causal", lambda i, j: ~window(i, j) & causal(i, j))
        self.check(" ! ( window 9 ) \n\t& ((causal))", lambda i, j: ~window(i, j) & causal(i, j))
        self.check("!!causal", causal)
        chain = " | ".join(f"keys {key}:{key + 1}" for key in range(0, 90, 3))
        self.check(chain, lambda i, j: (j % 3 == 0) | (i < 0))

    def test_with_other_rules(self):
        self.check("every 2 0:1", lambda i, j: (j % 2 == 0) | (i < 0), "--causal", "--kv-lens", "90,90")
        self.check("causal", lambda i, j: j <= i, "--offset", "7", offset=7)
        self.assertEqual(self.bits("--pattern", "causal", "--by-row"), self.bits("--causal", "--offset", "0"))
        options = ["--causal", "--kv-lens", "90,60", "--q-lens", "50,11"]
        self.assertEqual(self.bits("--pattern", "window 9", *options), self.bits("--window", "9,0", *options))
        options = ["--offset", "40,3"]
        self.assertEqual(self.bits("--pattern", "causal", *options), self.bits("--causal", *options))

    def test_short_forms(self):
        edges = self.random.random((KEYS, KEYS)) < 0.3
        words = self.csr(edges).replace("'", "").split(" ")
        self.assertEqual(self.bits("--csr", ",".join(words)), self.bits("--pattern", "csr " + self.csr(edges)))
        self.assertEqual(self.bits("--global", "2,50"), self.bits("--pattern", "global 2,50"))
        self.assertEqual(self.bits("--global", self.array("some.npy", [2, 50]).strip("'")),
                         self.bits("--pattern", "global 2,50"))
        self.assertEqual(self.bits("--csr", ",".join(words), "--global", "2,50", "--pattern", "causal|prefix 9"),
                         self.bits("--pattern", "csr " + self.csr(edges) + "&global 2,50&(causal|prefix 9)"))

    def test_graph(self):
        """A graph's nodes attend to their neighbours."""
        nodes = np.random.default_rng(1).random((64, 64)) < 0.1
        self.save((64, 16), (64, 16))
        np.save(self.path("mask.npy"), nodes)
        expected = self.bits("--mask", self.path("mask.npy"))
        self.assertEqual(self.bits("--csr", ",".join(self.csr(nodes).replace("'", "").split(" "))), expected)


class Mistakes(InDirectory):
    def refuse(self, text, *options):
        before = self.files()
        done = run(*self.words(*options))
        with self.subTest(options=options):
            self.assert_refused(done, text)
            self.assertEqual(self.files(), before)

    def refuse_pattern(self, said, text):
        self.refuse("--pattern: " + said, "--pattern", text)

    def test_grammar(self):
        self.refuse_pattern("a rule is needed at its end, character 2", " ")
        self.refuse_pattern("no rule at character 1, 'windw 3'", "windw 3")
        self.refuse_pattern("no rule at character 10, 'Window 3'", "causal & Window 3")
        self.refuse_pattern("a rule is needed at its end, character 9", "causal &")
        self.refuse_pattern("a rule is needed at character 1, '| causal'", "| causal")
        self.refuse_pattern("a rule is needed at character 9, '& causal'", "causal && causal")
        self.refuse_pattern("& or | is needed at character 8, 'causal'", "causal causal")
        self.refuse_pattern("& or | is needed at character 7, ') & causal'", "causal) & causal")
        self.refuse_pattern("a bracket that does not end at character 10, '(causal | prefix 3'",
                            "causal & (causal | prefix 3")
        self.refuse_pattern("& | or ) is needed at character 9, 'causal)'", "(causal causal)")
        self.refuse_pattern("a rule is needed at character 2, ')'", "()")
        self.refuse_pattern("too many brackets and ! within each other at character 25", "(" * 1000)
        self.refuse_pattern("too many brackets and ! within each other", "!" * 1000 + "causal")
        self.refuse_pattern("too many rules in one row", "|".join(["causal"] * 200))
        self.refuse_pattern("a quote that does not end at character 8, ''x.npy'", "global 'x.npy")
        self.refuse_pattern("a word that is too long at character 8", "global " + "x" * 2000)
        self.refuse("--pattern needs", "--pattern")
        self.refuse("--by-row needs --pattern", "--by-row")
        many = "(" + "|".join(["causal"] * 100) + ")"
        self.refuse("more than 256 rules", "--pattern", f"{many} & {many} & {many}")

    def test_numbers(self):
        self.refuse_pattern("a number of keys is needed at its end, character 7", "window")
        self.refuse_pattern("a number of keys is needed at character 8, '& causal'", "window & causal")
        self.refuse_pattern("no number at character 8, 'x'", "window x")
        self.refuse_pattern("no number at character 8, '3.5'", "window 3.5")
        self.refuse_pattern("no number at character 8, '99999999999999999999'", "window 99999999999999999999")
        self.refuse_pattern("a number of keys after is needed", "dilated 3")
        self.refuse_pattern("a step is needed", "dilated 3 4")
        self.refuse_pattern("a range A:B is needed", "keys")
        for text in ("3", "3:", ":3", "3-4", "3:4:5", "a:b", "3:4,5"):
            self.refuse_pattern(f"no range A:B at character 6, '{text}'", "keys " + text)
        for text in ("3,", "3,,4", "3,x", "3;4"):
            self.refuse_pattern("no list of numbers at character 8", "global " + text)
        for text in ("3xx4", "x3", "3x", "3y4", "1x2x3x4", "a"):
            self.refuse_pattern("no lengths like 14x14, of one to three axes, at character 6", "grid " + text)
        self.refuse_pattern("as many axes as the grid has are needed at character 10", "grid 9x9 3")
        self.refuse_pattern("as many axes as the grid has are needed at character 23", "grid 9x9 3x3 dilation 2")
        self.refuse_pattern("a window KxK is needed", "grid 9x10")
        self.refuse_pattern("a dilation DxD is needed", "grid 9x10 3x3 dilation")

    def test_what_the_library_refuses(self):
        self.refuse_pattern("before is -2; it must be 0 or more, or -1 for no limit, of the rule at character 10, "
                            "'window -2 | causal'", "causal & window -2 | causal")
        self.refuse_pattern("step is 0", "dilated 3 3 0")
        self.refuse_pattern("end is 3; it must be from 7 to 2147483648, of the rule at character 3", "! keys 7:3")
        self.refuse_pattern("positions[1] is 90; it must be from 0 to 89", "global 3,90")
        self.refuse_pattern("axis[1].window is 11", "grid 9x10 3x11")
        self.refuse("--global: positions[0] is 90", "--global", "90")
        self.refuse("it must be from 0 to", "--csr", self.csr(np.ones((91, 4), bool)).replace("'", "").replace(" ", ","))
        parents = self.array("parents.npy", [1, 0])
        self.refuse_pattern("parents[0] begins a circle", "tree " + parents)
        self.refuse_pattern("first is -1", "tree " + self.array("long.npy", [-1] * 91))
        self.refuse("rows of batch element 0 are at positions -3 to 46", "--pattern", "causal", "--offset", "-3")

    def test_files(self):
        self.refuse_pattern("at character 8: nothing.npy: cannot open", "global nothing.npy")
        self.refuse_pattern("at character 11: ", "documents " + self.array("f.npy", [1.5], np.float32))
        self.refuse("int32 ('<i4') or int64 ('<i8') is needed, in NumPy: a.astype('<i8')", "--pattern",
                    "documents " + self.array("f.npy", [1.5], np.float32))
        marks = self.array("marks.npy", [True, False, True], bool)
        self.refuse("in NumPy: numpy.flatnonzero(a), if it marks the numbers of a list", "--pattern", "global " + marks)
        self.refuse_pattern("a file with one axis of integers is needed at character 11",
                            "documents " + self.array("two.npy", [[1]]))
        self.refuse_pattern("as many documents of rows as of keys are needed",
                            "documents " + self.array("a.npy", [1]) + " " + self.array("b.npy", [1, 2]))
        one, empty = self.array("one.npy", [0, 1]), self.array("empty.npy", [])
        self.refuse_pattern("a file indices.npy is needed at its end", "csr " + one)
        self.refuse_pattern("at character", f"csr {one} {empty}")
        self.refuse("indptr[1] is 1, but indices has 0 numbers", "--pattern", f"csr {one} {empty}")
        self.refuse_pattern("at character 15: chosen is 20; it must be from 0 to 18", "random 5 5 20 1")
        self.refuse_pattern("blocks of one row and key or more are needed at character 14", "random 0 5 1 1")
        self.refuse_pattern("a seed is needed at its end", "random 5 5 1")
        self.refuse("indptr has no number", "--pattern", f"blocks 2 2 {empty} {empty}")
        self.refuse("starts[1] is 0", "--pattern", f"csr {self.array('down.npy', [1, 0])} {one}")
        self.refuse("--csr: a file indices.npy is needed at its end", "--csr", self.path("one.npy"))
        self.refuse("--csr: nothing more is needed", "--csr", ",".join([self.path("one.npy")] * 2 + ["0", "x"]))
        self.refuse("--global: no list of numbers at character 1", "--global", "1 2")


if __name__ == "__main__":
    COMMAND[:] = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
