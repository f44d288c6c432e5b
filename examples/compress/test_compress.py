#!/usr/bin/env python3
"""Texts that a model of make_gguf.py packs: packed and unpacked by every instruction set, damaged, and of other models.
Then those in `kept`, which AVX-512 packed with 2 threads.

  test_compress.py [EMULATOR] PROGRAM"""

import lzma
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "verify"))

import known_models  # noqa: E402
from known_models import make_gguf  # noqa: E402

PROGRAM = sys.argv[1:]
EMULATED = "FOVEA_TEST_EMULATED" in os.environ  # which takes twenty times as long
SLOW = "FOVEA_TEST_SLOW" in os.environ
KEPT = pathlib.Path(__file__).with_name("kept")
STORY = ROOT / "bench" / "examples" / "story.txt"
HEAD = 43  # bytes before the code
SENTENCE = b"the cat sat on the mat and so did the dog. "
TEXTS = {"empty": b"", "letter": b"a", "blanks": b" two  spaces \n\n ",
         "bytes": "Zo\u00eb \u5317\u4eac!".encode() + b"\xff\x01\r\n", "long": SENTENCE * (2 if EMULATED else 45)}


def run(*words):
    done = subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.held.name)
        cls.model = cls.folder / "model.gguf"
        make_gguf.make(cls.model, "tiny", "q8_0", False)

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    def packed(self, text, *options):
        (self.folder / "text").write_bytes(text)
        self.assertEqual(run("pack", self.model, self.folder / "text", self.folder / "packed", *options), (0, b"", b""))
        return (self.folder / "packed").read_bytes()

    def unpack(self, data, *options):
        (self.folder / "packed").write_bytes(data)
        (self.folder / "back").unlink(missing_ok=True)
        return run("unpack", self.model, self.folder / "packed", self.folder / "back", *options)

    def test_texts_come_back(self):
        for name, text in TEXTS.items():
            with self.subTest(text=name):
                self.assertEqual(self.unpack(self.packed(text)), (0, b"", b""))
                self.assertEqual((self.folder / "back").read_bytes(), text)

    def unpack_on_all(self, data, text):
        for isa in ("scalar", "avx2", "avx512", "neon"):
            status, _, err = self.unpack(data, "--isa", isa, "--threads", 3)
            with self.subTest(isa=isa):
                if isa != "scalar" and status == 2 and b"isa" in err:  # not of this CPU
                    continue
                self.assertEqual((status, err), (0, b""))
                self.assertEqual((self.folder / "back").read_bytes(), text)

    def test_one_file(self):
        text = SENTENCE * (1 if EMULATED else 9)
        data = self.packed(text, "--isa", "scalar", "--threads", 1)
        self.assertEqual(self.packed(text, "--threads", 3), data)
        self.unpack_on_all(data, text)

    def test_several_pieces(self):
        """Of a text that the model reads in pieces, as its vocabulary cuts them."""
        text = bytes(random.Random(1).choices(b"abc \n", k=200 if EMULATED else 3000))
        self.assertEqual(self.unpack(self.packed(text)), (0, b"", b""))
        self.assertEqual((self.folder / "back").read_bytes(), text)

    def kept(self, name, model, text):
        data = (KEPT / f"{name}.packed").read_bytes()
        held, self.__class__.model = self.model, model
        try:
            status, _, err = self.unpack(data, "--threads", 1)
            if b"another model" in err:
                self.skipTest("this NumPy makes another file of the model")
            self.assertEqual((status, err), (0, b""))
            self.assertEqual((self.folder / "back").read_bytes(), text)
            if not SLOW:
                self.unpack_on_all(data, text)
            self.assertEqual(self.packed(text), data)
        finally:
            self.__class__.model = held
        return data

    def test_kept(self):
        self.kept("tiny", self.model, (SENTENCE * 10)[:400])

    def test_kept_story(self):
        """In the words of the texts that the model was trained for; the model did not write it."""
        model = known_models.stories(self.folder)
        if not model:
            self.skipTest("the model is not here")
        text = STORY.read_bytes()[:600]
        data = self.kept("story", model, text)
        self.assertLess(len(data), 0.6 * len(lzma.compress(text, preset=9)))

    def refused(self, data):
        status, out, err = self.unpack(data)
        self.assertEqual((status, out), (2, b""))
        self.assertRegex(err, rb"^fovea_compress: [^\n]+\n$")
        self.assertFalse((self.folder / "back").exists())
        return err

    def test_damaged_files(self):
        data = self.packed(SENTENCE)
        generator = random.Random(1)
        for at in [0, 7, 10, 11, 27, HEAD - 1, HEAD, len(data) - 1, len(data) - 8,
                   *generator.choices(range(len(data)), k=4 if EMULATED else 20 if SLOW else 200)]:
            with self.subTest(at=at):
                flipped = bytearray(data)
                flipped[at] ^= 1 << generator.randrange(8)
                self.refused(bytes(flipped))
        for length in range(0, len(data), 20 if SLOW else 1):
            with self.subTest(length=length):
                self.refused(data[:length])
        self.refused(data + b"\0")

    def test_a_bit_of_the_model_s_hash(self):
        data = self.packed(b"a cat")
        for at in (11, 15, 26):
            flipped = bytearray(data)
            flipped[at] ^= 1
            stated, found = re.search(rb"begins with (\w{32}), this one's with (\w{32})\n$",
                                      self.refused(bytes(flipped))).groups()
            self.assertEqual((bytes.fromhex(stated.decode()), bytes.fromhex(found.decode())),
                             (bytes(flipped[11:27]), data[11:27]))

    def test_other_code(self):
        """Bytes that are drawn, doubled, moved, or of another text, with a head that is right."""
        data, generator = self.packed(SENTENCE), random.Random(2)
        other = self.packed(SENTENCE.upper())
        for _ in range(1 if EMULATED else 5 if SLOW else 50):
            begin, end = sorted(generator.choices(range(HEAD, len(data)), k=2))
            drawn = generator.randbytes(max(1, end - begin))
            for changed in (data[:begin] + drawn + data[end:], data[:HEAD] + drawn, data[:HEAD] + other[HEAD:],
                            data[:end] + data[begin:], data[:begin] + data[end:]):
                if changed != data:
                    self.refused(changed)

    def test_a_larger_size(self):
        """A head that says that there is more text than in the code: the end of the code ends it."""
        data = bytearray(self.packed(SENTENCE))
        data[7:11] = (1 << 28).to_bytes(4, "little")
        self.assertIn(b"damaged", self.refused(bytes(data)))
        self.assertIn(b"damaged", self.refused(bytes(data[:HEAD]) + b"\xff" * 50))  # always the last choice
        data[7:11] = (1 << 29).to_bytes(4, "little")
        self.assertIn(b"damaged", self.refused(bytes(data)))

    def test_command_line(self):
        self.packed(b"a cat")
        packed, none = self.folder / "packed", self.folder / "none"
        for words in ((), ("zip",), ("pack", self.model), ("pack", self.model, packed, "b", "c"),
                      ("pack", self.model, none, "b"), ("unpack", none, packed, "b"), ("unpack", packed, packed, "b"),
                      ("unpack", self.model, self.model, "b"),
                      ("unpack", self.model, packed, none / "b"), ("unpack", self.model, packed, "b", "--isa", "none"),
                      ("pack", self.model, packed, "b", "--steps", 3)):
            status, out, err = run(*words)
            with self.subTest(words=words):
                self.assertEqual((status, out), (2, b""))
                self.assertRegex(err, rb"^fovea_compress: [^\n]+\n$")

    def test_help(self):
        for words in (("--help",), ("pack", "--help"), ("unpack", self.model, "--help")):
            status, out, err = run(*words)
            self.assertEqual((status, err), (0, b""))
            self.assertRegex(out, b"^Usage: ")

    def test_another_model(self):
        data = self.packed(b"a cat")
        other = self.folder / "other.gguf"
        make_gguf.make(other, "tiny", "q8_0", False, seed=2)
        held, self.__class__.model = self.model, other
        try:
            self.assertIn(b"another model", self.refused(data))
        finally:
            self.__class__.model = held


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
