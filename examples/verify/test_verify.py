#!/usr/bin/env python3
"""Receipts of a model that make_gguf.py makes: written one way, checked every other way, and wrong in every part. Then
those in `kept`, also of models that people know (known_models.py): AVX-512 wrote them with 2 threads.

  test_verify.py [EMULATOR] PROGRAM"""

import hashlib
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import known_models
from known_models import make_gguf

PROGRAM = sys.argv[1:]
EMULATED = "FOVEA_TEST_EMULATED" in os.environ  # which takes twenty times as long
SLOW = "FOVEA_TEST_SLOW" in os.environ
KEPT = pathlib.Path(__file__).with_name("kept")


def run(*words):
    done = subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, timeout=300, check=False, text=True,
                          errors="replace")  # a model of random weights writes any bytes
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
        self.assertRegex(out, r"^the same: \d+ tokens, 40 of them written, \d+ hashes\n$")

    def changed(self, pattern, replacement):
        """A receipt with one change, of exactly one place."""
        text, count = re.subn(pattern, replacement, self.receipt.read_text(), count=1, flags=re.MULTILINE)
        self.assertEqual(count, 1)
        path = self.folder / "changed"
        path.write_text(text)
        return path

    def test_other_ways(self):
        check_on_all(self, self.model, self.receipt)
        self.assert_verified(self.receipt, "--threads", 1)

    def test_written_by_portable_code(self):
        other = self.folder / "by_scalar"
        self.write(other, "--isa", "scalar")
        self.assertEqual(other.read_text(), self.receipt.read_text())

    def test_drawn_tokens(self):
        drawn = self.folder / "drawn"
        self.write(drawn, "--temperature", 0.8, "--seed", 7, "--cache", "f16")
        self.assert_verified(drawn, "--isa", "scalar", "--threads", 3)
        drawn.write_text(drawn.read_text().replace("seed 7", "seed 8"))
        status, out, _ = self.check(drawn)
        self.assertEqual(status, 1)
        self.assertRegex(out, r"^token \d+ is \d+; the model writes \d+ there\n$")

    def test_int8(self):
        model, path = self.folder / "codes.gguf", self.folder / "int8"
        make_gguf.make(model, "tiny", "q8_0", False)
        self.assertEqual(run("write", model, path, "a cat", "--int8", "--threads", 2), (0, "", ""))
        self.assertIn("\ncontract 1.0 int8\n", path.read_text())
        check_on_all(self, model, path)
        path.write_text(path.read_text().replace("int8", "exact"))
        status, out, err = run("check", model, path)
        self.assertEqual((status, out, err), (1, "position 0: the state after layer 0 has another hash\n", ""))
        path.write_text(path.read_text().replace("exact", "int8"))
        status, out, err = run("check", self.model, path)
        self.assertEqual((status, out), (2, ""))
        self.assertIn("model.gguf: int8 mode is for quantised weights, of which it has none", err)

    def test_command_line(self):
        for words in ((), ("verify",), ("check",), ("check", "a"), ("check", "a", "b", "c"), ("write", "a", "b"),
                      ("check", "a", "b", "--steps", 3), ("check", "a", "b", "--isa"),
                      ("write", self.model, "b", "c", "--every", 0), ("write", self.model, "b", "c", "--int8"),
                      ("check", self.model, self.folder / "none"), ("check", self.folder / "none", self.receipt),
                      ("check", self.receipt, self.receipt), ("check", self.model, self.model),
                      ("check", self.model, self.receipt, "--isa", "none"),
                      ("write", self.model, self.folder / "none" / "receipt", "c"),
                      ("write", self.model, self.folder / "long", "a " * 300)):
            status, out, err = run(*words)
            with self.subTest(words=words):
                self.assertEqual((status, out), (2, ""))
                self.assertRegex(err, r"^fovea_verify: [^\n]+\n$")

    def test_help(self):
        for words in (("--help",), ("check", "--help"), ("write", self.model, "--help")):
            status, out, err = run(*words)
            self.assertEqual((status, err), (0, ""))
            self.assertRegex(out, "^Usage: ")

    def test_temperatures(self):
        """Whatever is written can be checked."""
        path = self.folder / "warm"
        for temperature in ("1e-6", "1e6"):
            self.write(path, "--endless", "--temperature", temperature)
            self.assert_verified(path)
        for temperature in ("9e-7", "1e-40", "1.1e6", "1e300"):
            status, out, err = run("write", self.model, path, "a", "--temperature", temperature)
            self.assertEqual((status, out), (2, ""))
            self.assertRegex(err, r"^fovea_verify: --temperature is '\S+'; it must be 0, or from 1e-6 to 1e6\n$")
        for temperature in ("9e-7", "1.1e6"):
            error = self.refused(self.changed(r"^temperature \S+", f"temperature {temperature}"))
            self.assertRegex(error, r"^fovea_verify: the temperature is \S+; it must be 0, or from 1e-6 to 1e6\n$")

    def test_text(self):
        status, out, err = self.check(self.receipt, "--text")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"^ ?a cat sat on a mat[^\n]*\nthe same: [^\n]*\n$")

    def test_endless(self):
        """Of tokens that are drawn from nearly equal chances, one ends the text before the model's last position."""
        path, words = self.folder / "endless", ("a cat", "--steps", 300, "--temperature", 9)
        for seed, options, length in ((3, (), None), (3, ("--endless",), 256)):
            self.assertEqual(run("write", self.model, path, *words, "--seed", seed, *options), (0, "", ""))
            count = int(re.search(r"^tokens (\d+):", path.read_text(), re.MULTILINE)[1])
            self.assertEqual(count == 256, length == 256, count)
            self.assertEqual(self.check(path)[0], 0)

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
                              (r"^(logits )(.)", "the logits of all rows have another hash, and those of no row that "
                               "has its own\n")):
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

    def test_a_weight_without_effect(self):
        """A bit of an embedding that no token of the text has."""
        values, tensors = make_gguf.make(self.folder / "other.gguf", "tiny", "f16", False)
        embedding, kind = tensors["token_embd.weight"]
        unused = next(token for token in range(3, 400) if f" {token} " not in self.receipt.read_text())
        embedding[unused, 5] += 1
        make_gguf.write(self.folder / "other.gguf", values, tensors | {"token_embd.weight": (embedding, kind)})
        status, out, err = run("check", self.folder / "other.gguf", self.receipt, "--any-weights")
        self.assertEqual((status, err), (1, ""))
        self.assertRegex(out, r"^the weights are another file: [^\n]+\nthe same: [^\n]+\n$")

    def refused(self, path):
        status, out, err = self.check(path)
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(err, r"^fovea_verify: [^\n]+\n$")
        return err

    def test_cut_off(self):
        text = self.receipt.read_text()
        path = self.folder / "cut"
        for length in [0, 5, *range(20, len(text) - 4, 997 if EMULATED else 97), len(text) - 4, len(text) - 1]:
            with self.subTest(length=length):
                path.write_text(text[:length])
                self.refused(path)

    def test_what_comes_after(self):
        path = self.folder / "longer"
        for more in ("\n", "end\n", "\0"):
            path.write_text(self.receipt.read_text() + more)
            self.refused(path)

    def test_other_versions(self):
        for pattern, replacement in ((r"^fovea receipt 1", "fovea receipt 2"), (r"^contract 1.0", "contract 2.0"),
                                     (r"^contract 1.0 exact", "contract 1.0 int8"), (r"^layers 2", "layers 3"),
                                     (r"^cache q8_0", "cache q9_0"), (r"^every 16", "every 0"),
                                     (r"^every 16", "every 17"), (r"^seed 1$", "seed 01"),
                                     (r"^prompt \d+", "prompt 60"), (r"^temperature \S+", "temperature nan"),
                                     (r"^(tokens \d+:) \d+", r"\1 400"),
                                     (r"^tokens \d+", "tokens 999999999999"), (r"^(tokens \d+: \d+)", r"\1x"),
                                     (r"^(tokens \d+:)", r"\1 -1"), (r"^row 32", "row 33")):
            with self.subTest(replacement=replacement):
                self.refused(self.changed(pattern, replacement))
        error = self.refused(self.changed(r"^contract 1.0", "contract 2.0"))
        self.assertIn("line 2 must be 'contract 1.0 <exact or int8>', and is 'contract 2.0 exact'", error)

    def test_any_bit(self):
        """Whichever bit of a receipt is flipped, it is not verified, but for digits of a temperature that do not make
        another float."""
        drawn, path, generator = self.folder / "drawn", self.folder / "flipped", random.Random(1)
        self.write(drawn, "--temperature", 0.8, "--seed", 7)
        data = drawn.read_bytes()
        exempt = range(data.index(b"temperature"), data.index(b"seed"))
        places = [at for at in range(len(data)) if at not in exempt]
        for at in generator.sample(places, 5 if EMULATED else 20 if SLOW else 200):
            flipped = bytearray(data)
            flipped[at] ^= 1 << generator.randrange(8)
            path.write_bytes(flipped)
            status, out, err = self.check(path)
            with self.subTest(at=at, byte=flipped[at]):
                self.assertIn(status, (1, 2))
                self.assertRegex(out if status == 1 else err, r"^[^\n]+\n$")
                self.assertEqual(err if status == 1 else out, "")


def check_on_all(test, model, receipt):
    """On each instruction set of this CPU, with 3 threads."""
    for isa in ("scalar", "avx2", "avx512", "neon"):
        status, out, err = run("check", model, receipt, "--isa", isa, "--threads", 3)
        with test.subTest(isa=isa):
            if isa != "scalar" and status == 2 and "isa" in err:  # not of this CPU
                continue
            test.assertEqual((status, err), (0, ""), out)


class Kept(unittest.TestCase):
    """The same on every machine."""

    def check(self, name, model):
        if not model:
            self.skipTest("the model is not here")
        receipt = KEPT / f"{name}.receipt"
        weights = re.search(r"^weights (\w+)$", receipt.read_text(), re.MULTILINE)[1]
        if hashlib.sha256(model.read_bytes()).hexdigest() != weights:
            self.skipTest("this NumPy makes another file of the model")
        if not SLOW:
            check_on_all(self, model, receipt)
        status, out, err = run("check", model, receipt)
        self.assertEqual((status, err), (0, ""), out)

    def test_tiny(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "model.gguf"
            make_gguf.make(model, "tiny", "f16", False)
            self.check("tiny", model)

    def test_stories(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check("stories", known_models.stories(folder))

    def test_smollm2(self):
        self.check("smollm2", known_models.smollm2())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
