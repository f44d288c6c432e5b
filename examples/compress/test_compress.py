#!/usr/bin/env python3
"""Texts that a model of make_gguf.py packs: packed and unpacked by every instruction set, damaged, and of other models.

  test_compress.py [EMULATOR] PROGRAM"""

import hashlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "llm"))

import make_gguf  # noqa: E402

PROGRAM = sys.argv[1:]
EMULATED = "FOVEA_TEST_EMULATED" in os.environ  # which takes twenty times as long
SENTENCE = b"the cat sat on the mat and so did the dog. "
TEXTS = {"empty": b"", "letter": b"a", "blanks": b" two  spaces \n\n ", "bytes": "Zo\u00eb \u5317\u4eac!".encode() + b"\xff\x01\r\n",
         "long": SENTENCE * (2 if EMULATED else 45)}


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

    def test_one_file(self):
        text = SENTENCE * (1 if EMULATED else 9)
        data = self.packed(text, "--isa", "scalar", "--threads", 1)
        self.assertEqual(self.packed(text, "--threads", 3), data)
        for isa in ("scalar", "avx2", "avx512", "neon"):
            status, _, err = self.unpack(data, "--isa", isa, "--threads", 2)
            with self.subTest(isa=isa):
                if isa != "scalar" and status == 2 and b"isa" in err:  # not of this CPU
                    continue
                self.assertEqual((status, err), (0, b""))
                self.assertEqual((self.folder / "back").read_bytes(), text)

    def test_kept(self):
        """A file that AVX-512 packed with 2 threads: every machine unpacks it."""
        kept = pathlib.Path(__file__).with_name("kept.packed").read_bytes()
        if hashlib.sha256(self.model.read_bytes()).hexdigest().encode() not in kept:
            self.skipTest("this NumPy draws other weights")
        self.assertEqual(self.unpack(kept), (0, b"", b""))
        self.assertEqual((self.folder / "back").read_bytes(), (SENTENCE * 10)[:400])
        self.assertEqual(self.packed((SENTENCE * 10)[:400]), kept)

    def refused(self, data):
        status, out, err = self.unpack(data)
        self.assertEqual((status, out), (2, b""))
        self.assertRegex(err, rb"^fovea_compress: [^\n]+\n$")
        self.assertFalse((self.folder / "back").exists())
        return err

    def test_damaged_files(self):
        data = self.packed(SENTENCE)
        generator = random.Random(1)
        for at in [0, 7, 100, 137, len(data) - 1, len(data) - 8, *generator.sample(range(145, len(data)), 4 if EMULATED else 12)]:
            with self.subTest(at=at):
                flipped = bytearray(data)
                flipped[at] ^= 1 << generator.randrange(8)
                self.refused(bytes(flipped))
        for length in [0, 20, 144, 145, len(data) // 2, len(data) - 1]:
            with self.subTest(length=length):
                self.refused(data[:length])
        self.refused(data + b"\0")

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
