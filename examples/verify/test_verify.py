#!/usr/bin/env python3
"""Receipts of a model that make_gguf.py makes: written one way, checked every other way, and wrong in every part.

  test_verify.py [EMULATOR] PROGRAM"""

import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "llm"))

import make_gguf  # noqa: E402

PROGRAM = sys.argv[1:]


def run(*words):
    done = subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, timeout=300, check=False, text=True)
    return done.returncode, done.stdout, done.stderr


class Receipts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.held.name)
        cls.model = cls.folder / "model.gguf"
        cls.receipt = cls.folder / "receipt"
        make_gguf.make(cls.model, "tiny", "f16", False)
        cls.write(cls.receipt)

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    @classmethod
    def write(cls, path, *options):
        words = ("write", cls.model, path, "a cat sat on a mat", "--steps", 40, "--threads", 2, *options)
        done = run(*words)
        if done != (0, "", ""):
            raise AssertionError(done)

    def check(self, path, *options):
        return run("check", self.model, path, *options)

    def assert_verified(self, path, *options):
        status, out, err = self.check(path, *options)
        self.assertEqual((status, err), (0, ""), out)
        self.assertRegex(out, r"^verified: \d+ tokens, 40 of them written, \d+ hashes\n$")

    def changed(self, pattern, replacement):
        """A receipt with one change, of exactly one place."""
        text, count = re.subn(pattern, replacement, self.receipt.read_text(), count=1, flags=re.MULTILINE)
        self.assertEqual(count, 1)
        path = self.folder / "changed"
        path.write_text(text)
        return path

    def test_other_ways(self):
        for isa in ("scalar", "avx2", "avx512", "neon"):
            status, _, err = self.check(self.receipt, "--isa", isa, "--threads", 3)
            with self.subTest(isa=isa):
                if isa != "scalar" and status == 2 and "isa" in err:  # not of this CPU
                    continue
                self.assertEqual(status, 0, err)
        self.assert_verified(self.receipt, "--threads", 1)

    def test_written_by_portable_code(self):
        other = self.folder / "by_scalar"
        self.write(other, "--isa", "scalar")
        self.assertEqual(other.read_text(), self.receipt.read_text())

    def test_kept(self):
        """A receipt that AVX-512 wrote with 2 threads: the same on every machine."""
        kept = pathlib.Path(__file__).with_name("kept.receipt")
        weights = re.search(r"^weights (\w+)$", kept.read_text(), re.MULTILINE)[1]
        if hashlib.sha256(self.model.read_bytes()).hexdigest() != weights:
            self.skipTest("this NumPy draws other weights")
        self.assert_verified(kept)
        self.assertEqual(self.receipt.read_text(), kept.read_text())

    def test_drawn_tokens(self):
        drawn = self.folder / "drawn"
        self.write(drawn, "--temperature", 0.8, "--seed", 7, "--cache", "f16")
        self.assert_verified(drawn, "--isa", "scalar", "--threads", 3)
        drawn.write_text(drawn.read_text().replace("seed 7", "seed 8"))
        status, out, _ = self.check(drawn)
        self.assertEqual(status, 1)
        self.assertRegex(out, r"^token \d+ is \d+; the model writes \d+ there\n$")

    def test_a_token(self):
        tokens = re.search(r"^tokens \d+: (.*)$", self.receipt.read_text(), re.MULTILINE)[1].split()
        other = str(int(tokens[20]) ^ 1)
        path = self.changed(r"^(tokens \d+:(?: \d+){20}) \d+", rf"\1 {other}")
        self.assertEqual(self.check(path), (1, f"token 20 is {other}; the model writes {tokens[20]} there\n", ""))

    def test_a_token_of_the_prompt(self):
        path = self.changed(r"^(tokens \d+:) \d+", r"\1 5")
        self.assertEqual(self.check(path), (1, "position 0: the state after layer 0 has another hash\n", ""))

    def test_hashes(self):
        def flip(match):
            return match[1] + ("0" if match[2] != "0" else "1")
        for pattern, text in ((r"^(row 16 )(.)", "position 16: the state after layer 0 has another hash\n"),
                              (r"^(row 32 \w+ )(.)", "position 32: the state after layer 1 has another hash\n"),
                              (r"^(row 0 \w+ \w+ )(.)", "position 0: the logits have another hash\n"),
                              (r"^(logits )(.)", "the logits of all rows have another hash\n")):
            with self.subTest(pattern=pattern):
                self.assertEqual(self.check(self.changed(pattern, flip)), (1, text, ""))

    def test_a_weight(self):
        """One bit of the model's file, in its last tensors."""
        data, held = bytearray(self.model.read_bytes()), self.model
        data[len(data) // 2] ^= 4
        other = self.folder / "other.gguf"
        other.write_bytes(data)
        status, out, err = run("check", other, self.receipt)
        self.assertEqual((status, err), (1, ""))
        self.assertRegex(out, r"^the weights are another file: SHA-256 is \w{64}, the receipt's \w{64}\n$")
        status, out, err = run("check", other, self.receipt, "--any-weights")
        self.assertEqual((status, err), (1, ""))
        self.assertRegex(out.splitlines()[1], r"^position 0: the state after layer [01] has another hash$")
        self.assertTrue(held.exists())

    def test_cut_off(self):
        text = self.receipt.read_text()
        path = self.folder / "cut"
        for length in [0, 5, *range(20, len(text) - 4, 97), len(text) - 4]:
            path.write_text(text[:length])
            status, out, err = self.check(path)
            self.assertEqual((status, out), (2, ""), length)
            self.assertRegex(err, r"^fovea_verify: [^\n]+\n$")

    def test_other_versions(self):
        for pattern, replacement in ((r"^fovea receipt 1", "fovea receipt 2"), (r"^contract 1.0", "contract 2.0"),
                                     (r"^contract 1.0 exact", "contract 1.0 int8"), (r"^layers 2", "layers 3"),
                                     (r"^cache q8_0", "cache q9_0"), (r"^every 16", "every 0")):
            with self.subTest(replacement=replacement):
                status, out, err = self.check(self.changed(pattern, replacement))
                self.assertEqual((status, out), (2, ""))
                self.assertRegex(err, r"^fovea_verify: [^\n]+\n$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
