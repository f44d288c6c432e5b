#!/usr/bin/env python3
"""fovea_llm over models that make_gguf.py makes: logits, texts and digests against NumPy, and files that it refuses.

  test_llm.py [EMULATOR] PROGRAM

FOVEA_CONFORMANCE_DIR/models may hold stories260K.bin and tok512.bin, a model that people know."""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

import checkpoints
import make_gguf
import quantise
import reference

PROGRAM = sys.argv[1:]
PROMPTS = ["the cat sat on the mat and so did Zo\u00eb \u5317!", "a", "One two three. Four, five  six"]
STEPS = 6
STORY = ("Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she "
         "saw a big, red ball. She wanted to play with it, but it was too high.")


def run(*words):
    return subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, timeout=300, check=False)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "model.gguf"

    def output(self, *words):
        done = run(self.path, *words)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def logits(self, *words):
        self.output(*words, "--logits", self.folder / "logits")
        return (self.folder / "logits").read_bytes()

    def refused(self, part, *words):
        done = run(self.path, *(words or ["a"]))
        self.assertEqual((done.returncode, done.stdout), (2, b""), part)
        self.assertRegex(done.stderr, rb"^fovea_llm: [^\n]+\n$")
        self.assertIn(part.encode(), done.stderr)


class Answers(Folder):
    def texts(self, values, data, choose):
        """Tokens and logits of each prompt, as the program's logits say: choose(row, text) is the next token."""
        rows = numpy.frombuffer(data, "<f4").reshape(-1, len(values["tokenizer.ggml.tokens"]))
        texts, at = [], 0
        for index, prompt in enumerate(PROMPTS):
            tokens, first = reference.encode(values, prompt), at
            for _ in range(STEPS):
                at += 1
                token = choose(rows[at - 1], index)
                if token in (1, 2):
                    break
                tokens.append(token)
            texts.append((tokens, rows[first:at]))
        self.assertEqual(at, len(rows))
        return texts

    def compare(self, kind, cache, tied, int8):
        size = "small" if kind.endswith("_k") else "tiny"
        values, tensors = make_gguf.make(self.path, size, kind, tied)
        self.compare_with(values, tensors, cache, ("blk", "output", "token_embd") if int8 else ())

    def compare_with(self, values, tensors, cache, int8, *more):
        """The program computes in f32, and so does NumPy here: errors of both are of one size. Caches and int8 mode
        round what differs by little to one of two neighbours: few of their roundings differ, so their logits may differ
        by a quarter of what all roundings change."""
        words = [*PROMPTS, "--steps", STEPS, "--cache", cache, *more] + ["--int8"] * bool(int8)
        data = self.logits(*words)
        texts = self.texts(values, data, lambda row, _: int(row.argmax()))
        models = [reference.Model(values, tensors, *how) for how in
                  ((numpy.float64, cache, int8), (numpy.float32, "f32"), (numpy.float64, "f32"))]
        error = single = rounding = 0
        for prompt, (tokens, rows) in zip(PROMPTS, texts):
            read = tokens[:len(reference.encode(values, prompt)) + len(rows) - 1]  # the last token is not read
            expected, narrow, plain = (model.logits(read)[-len(rows):] for model in models)
            self.assertTrue(numpy.isfinite(rows).all())
            error = max(error, abs(rows - expected).max())
            single = max(single, abs(narrow - plain).max())
            rounding = max(rounding, abs(expected - plain).max())
        self.assertLess(error, 4 * single + rounding / 4)
        wanted = [reference.decode(values, tokens) for tokens, _ in texts]
        self.assertEqual(self.output(*words), b"".join(b"%s\n" % text for text in wanted))

    def test_float64(self):
        for kind, cache, tied, int8 in (
                ("f32", "f32", False, 0), ("f16", "f32", True, 0), ("q8_0", "f32", False, 0), ("q4_0", "f32", True, 0),
                ("q4_1", "f32", False, 0), ("q5_0", "f32", True, 0), ("q5_1", "f32", False, 0),
                ("q4_k", "f32", True, 0), ("q5_k", "f32", False, 0), ("q6_k", "f32", True, 0), ("iq4_nl", "f32", False, 0),
                ("mxfp4", "f32", True, 0), ("bf16", "f32", True, 0), ("f32", "f16", True, 0), ("q8_0", "q8_0", True, 0),
                ("q8_0", "f32", False, 1), ("q4_1", "q8_0", True, 1), ("q4_k", "f32", False, 1),
                ("q6_k", "f32", True, 1)):
            with self.subTest(kind=kind, cache=cache, int8=int8):
                self.compare(kind, cache, tied, int8)

    def test_checkpoints(self):
        """Sizes and vocabulary from a GGUF file, matrices from Hugging Face's."""
        values, tensors = make_gguf.make(self.path, "tiny", "f32", True)
        make_gguf.write(self.path, values, {})
        path = self.folder / "model.safetensors"
        for kind, group, int8 in (("f16", 0, 0), ("bf16", 0, 0), ("gptq", 32, 0), ("gptq", 0, 1), ("awq", 64, 0),
                                  ("awq", 32, 1), ("desc_act", 32, 0)):
            with self.subTest(kind=kind, group=group, int8=int8):
                made, numbers = checkpoints.convert(values, tensors, kind, group)
                checkpoints.write(path, made)
                self.compare_with(values, numbers, "f32", ("blk",) if int8 else (), "--weights", path)
        self.refused("mode is FOVEA_MODE_INT8, which takes groups of dims in their order", "a", "--weights", path, "--int8")

    def test_one_digest(self):
        """The same logits in every way, and the digest that Python finds."""
        values, _ = make_gguf.make(self.path, "tiny", "f16", True)
        common = [*PROMPTS, "--steps", STEPS]
        data = self.logits(*common)
        for words in (["--batch", 1], ["--batch", 2, "--chunk", 3], ["--threads", 3, "--page", 5],
                      ["--chunk", 1, "--page", 100]):
            self.assertEqual(self.logits(*common, *words), data, words)
        self.assertNotEqual(self.logits(*common, "--cache", "f16"), data)
        self.refused("int8 mode is for quantised weights", "a", "--int8")
        texts = self.texts(values, data, lambda row, _: int(row.argmax()))
        *_, first, second, _ = self.output(*common, "--check").decode(errors="replace").split("\n")
        self.assertEqual(first, f"digest {reference.digest_of_texts([rows for _, rows in texts]):016x}")
        ways, sets = map(int, re.fullmatch(r"the same bits in (\d+) ways, on (\d+) instruction sets", second).groups())
        self.assertEqual(ways, 12 * sets)
        self.assertGreaterEqual(sets, 1)
        make_gguf.make(self.path, "tiny", "q4_0")
        self.assertNotEqual(self.logits(*common, "--int8"), self.logits(*common))
        checked = self.output(*common, "--int8", "--check").decode(errors="replace")
        self.assertIn(f"the same bits in {ways} ways", checked)

    def test_merges(self):
        """Prompts by byte pair encoding, for one step: logits and texts are those of the tokens that Python finds."""
        values, tensors = make_gguf.make(self.path, "tiny", "f32", has_merges=True)
        model = reference.Model(values, tensors)
        prompts = ["the cat isn't  there", "<|im_start|>user\nabc  12 34\n\n<|im_end|>\n", "Zo\u00eb \u5317, a'll.  'd",
                   " a", "x", "a  ", "\t\tb\n c", "don't' 've.'re", "1 a1b 2", "<|im_start", "..  ..'s"]
        generator = random.Random(2)
        prompts += ["".join(generator.choice("abcdefghi  ''.st1\n\u00eb") for _ in range(30)) for _ in range(40)]
        rows = numpy.frombuffer(self.logits(*prompts, "--steps", 1, "--cache", "f32"), "<f4").reshape(len(prompts), -1)
        wanted = []
        for prompt, row in zip(prompts, rows):
            tokens = reference.encode(values, prompt)
            self.assertLess(abs(model.logits(tokens)[-1] - row).max(), 1e-3, prompt)  # of other tokens: above 1
            token = int(row.argmax())
            wanted.append(reference.decode(values, tokens if token in (1, 2) else tokens + [token]) + b"\n")
        self.assertEqual(self.output(*prompts, "--steps", 1, "--cache", "f32"), b"".join(wanted))
        self.refused("an empty prompt has no token", "")

    def test_draws(self):
        """Each text has a generator of its own, whatever goes through the model beside it."""
        values, _ = make_gguf.make(self.path, "tiny", "f32")
        words = [*PROMPTS, "--steps", STEPS, "--temperature", 0.7, "--seed", 5]
        states = [5 + index for index in range(len(PROMPTS))]

        def choose(row, index):
            token, states[index] = reference.draw(row, 0.7, states[index])
            return token

        data = self.logits(*words)
        texts = self.texts(values, data, choose)
        wanted = [reference.decode(values, tokens) for tokens, _ in texts]
        self.assertEqual(self.output(*words, "--batch", 2), b"".join(b"%s\n" % text for text in wanted))
        self.assertNotEqual(self.logits(*words[:-1], 6), data)

    def test_context(self):
        """A text ends with the context of the model."""
        values, tensors = make_gguf.make(self.path, "tiny", "f16")
        values["llama.context_length"] = 9
        make_gguf.write(self.path, values, tensors)
        room = 9 - len(reference.encode(values, "a"))
        self.assertLessEqual(len(self.logits("a", "--steps", 50)), room * 4 * len(values["tokenizer.ggml.tokens"]))
        self.refused("the model was made for texts of 9", "q w q w q w q w q w q w")

    def test_bench(self):
        """A prompt of so many tokens, which no token ends; nothing but numbers is printed."""
        values, tensors = make_gguf.make(self.path, "tiny", "f32")
        tensors["output.weight"][0][2] *= 100  # the token that ends texts is the likeliest half of the time
        make_gguf.write(self.path, values, tensors)
        words = ["--bench", 10, "--steps", 40, "--chunk", 4, "--cache", "f32"]
        told = self.output(*words, "--logits", self.folder / "logits").decode()
        self.assertRegex(told, r"^with prompts +10 tokens, [0-9.]+ a second\ndecoding +39 tokens, [0-9.]+ a second\n"
                               r"cache +[0-9]+ bytes\n$")
        rows = numpy.frombuffer((self.folder / "logits").read_bytes(), "<f4").reshape(40, -1)
        read = [(7919 * i + 1) % 400 for i in range(10)] + [int(row.argmax()) for row in rows[:-1]]
        self.assertIn(2, read[10:])
        self.assertLess(abs(reference.Model(values, tensors).logits(read)[9:] - rows).max(), 1e-2)
        self.refused("--bench makes its own prompt; 'a' would not be used", "a", "--bench", 9)
        self.refused("a prompt has 256 tokens; the model was made for texts of 256", "--bench", 256)

    def test_story(self):
        models = pathlib.Path(os.environ.get("FOVEA_CONFORMANCE_DIR", "")) / "models"
        if not (models / "stories260K.bin").exists():
            self.skipTest("FOVEA_CONFORMANCE_DIR has no models")
        for kind, cache in (("f32", "f32"), ("f16", "q8_0")):
            make_gguf.convert(models / "stories260K.bin", models / "tok512.bin", self.path, kind)
            told = self.output("Once upon a time", "--steps", 80, "--cache", cache).decode()
            self.assertTrue(told.startswith(STORY if cache == "f32" else STORY[:50]), told)


class Files(Folder):
    def setUp(self):
        super().setUp()
        self.values, self.tensors = make_gguf.make(self.path, "tiny", "q8_0")
        self.whole = self.path.read_bytes()

    def write(self, *tables):
        """Without the entries that are None."""
        kept = ({key: entry for key, entry in table.items() if entry is not None} for table in tables)
        make_gguf.write(self.path, *kept)

    def test_ends_too_early(self):
        head = self.whole.index(b"blk.0.attn_norm.weight")
        places = [0, 3, 4, 8, 23, 60, head, head + 30, len(self.whole) // 2, len(self.whole) - 1 - 32]
        for place in places + list(range(100, head, head // 40)):
            self.path.write_bytes(self.whole[:place])
            self.refused("does not begin with GGUF" if place < 4 else "too few" if place < 24 else " of ")
        for place, part in ((24, "do not fit into its 24 bytes"), (-64, "ends at byte"),
                            (60, "value 0 of its head, 'general.architecture', ends after the file")):
            self.path.write_bytes(self.whole[:place])
            self.refused(part)

    def test_other_bytes(self):
        """Whatever the bytes are, there is an answer or a line."""
        generator = random.Random(1)
        head = self.whole.index(b"tokenizer.ggml.tokens")
        for _ in range(60):
            bytes_ = bytearray(self.whole)
            for _ in range(generator.choice((1, 4))):
                bytes_[generator.randrange(head if generator.random() < 0.5 else 12000)] = generator.randrange(256)
            self.path.write_bytes(bytes_)
            done = run(self.path, "a", "--steps", 2)
            self.assertIn(done.returncode, (0, 2))
            self.assertRegex(done.stderr, rb"^(fovea_llm: [^\n]+\n)?$")

    def test_other_heads(self):
        def with_bytes(at, data):
            self.path.write_bytes(self.whole[:at] + data + self.whole[at + len(data):])

        with_bytes(0, b"GGML")
        self.refused("does not begin with GGUF")
        with_bytes(4, b"\1")
        self.refused("version 1 of GGUF; it must be 2 or 3")
        with_bytes(8, b"\xff" * 8)
        self.refused("do not fit into")
        at = self.whole.index(b"general.architecture") + 20
        with_bytes(at, b"\x0d")
        self.refused("'general.architecture', has a type that GGUF does not have")
        at = self.whole.index(b"output_norm.weight") + 18
        with_bytes(at, b"\5")
        self.refused("'output_norm.weight', has not 1 to 4 dims")
        with_bytes(at + 4, b"\0")
        self.refused("'output_norm.weight', is no matrix and no vector")
        with_bytes(at + 12, b"\4")
        self.refused("'output_norm.weight', has another type than F32, F16, BF16, Q4_0, ")
        with_bytes(at + 12, b"\14")
        self.refused("'output_norm.weight', has rows of no whole blocks")
        with_bytes(at + 16, b"\1")
        self.refused("'output_norm.weight', is not aligned")
        with_bytes(at + 16, b"\0\0\0\0\1")
        self.refused("'output_norm.weight', ends at byte 4294967")

    def test_other_values(self):
        for name, value, part in (
                ("general.architecture", "gpt2", "general.architecture is not 'llama'"),
                ("llama.embedding_length", None, "it has no value llama.embedding_length"),
                ("llama.embedding_length", 0, "llama.embedding_length is 0"),
                ("llama.embedding_length", 64, "llama.rope.dimension_count is 32; it must be from 0 to 16"),
                ("llama.embedding_length", "x", "llama.embedding_length is no whole number"),
                ("llama.block_count", 3, "it has no tensor blk.2.attn_q.weight"),
                ("llama.block_count", 1, "no use for its tensor blk.1."),
                ("llama.attention.head_count_kv", 3, "3 kv heads do not divide 4 heads"),
                ("llama.attention.head_count_kv", 5, "llama.attention.head_count_kv is 5; it must be from 1 to 4"),
                ("llama.attention.head_count_kv", 4, "attn_k.weight is (64, 128); it must be (128, 128)"),
                ("llama.attention.layer_norm_rms_epsilon", 1, "is no number of 32 bits"),
                ("llama.attention.layer_norm_rms_epsilon", -1.0, "it must be a number from 0 on"),
                ("llama.rope.dimension_count", 5, "llama.rope.dimension_count is odd"),
                ("llama.rope.scaling.type", "yarn", "llama.rope.scaling.type is not 'none'"),
                ("general.alignment", 12, "general.alignment is 12; it must be a multiple of 8"),
                ("tokenizer.ggml.model", "gpt2", "tokenizer.ggml.model and .pre are not 'llama', nor 'gpt2' and"),
                ("tokenizer.ggml.scores", [0.0], "400 tokens and 1 of tokenizer.ggml.scores"),
                ("tokenizer.ggml.tokens", [0], "has another type than an array of type 8"),
                ("tokenizer.ggml.tokens", ["<unk>"] * 400, "token 3 is not <0x00>"),
                ("tokenizer.ggml.bos_token_id", 7, "tokenizer.ggml.bos_token_id is 7; it must be from 1 to 1")):
            with self.subTest(name=name, value=value):
                values = {**self.values, name: value}
                self.write(values, self.tensors)
                self.refused(part)

    def test_other_tensors(self):
        norm = self.tensors["output_norm.weight"]
        for name, tensor, part in (("output_norm.weight", None, "it has no tensor output_norm.weight"),
                                   ("output_norm.weight", (norm[0][:64], "f32"), "is (1, 64); it must be (1, 128)"),
                                   ("token_embd.weight", (self.tensors["token_embd.weight"][0][:399], "f16"),
                                    "token_embd.weight is (399, 128); it must be (400, 128)"),
                                   ("blk.0.attn_q.bias", norm, "no use for its tensor blk.0.attn_q.bias")):
            with self.subTest(name=name, part=part):
                tensors = {**self.tensors, name: tensor}
                self.write(self.values, tensors)
                self.refused(part)

    def test_other_checkpoints(self):
        values, tensors = make_gguf.make(self.path, "tiny", "f32", True)
        path, name = self.folder / "model.safetensors", "model.layers.1.mlp.up_proj"
        made, _ = checkpoints.convert(values, tensors, "gptq")
        for other, tensor, part in (
                ("model.norm.weight", None, "it has no tensor model.norm.weight"),
                (f"{name}.qweight", None, f"it has no tensor {name}.weight"),
                (f"{name}.scales", None, f"it has no tensor {name}.scales"),
                (f"{name}.qzeros", made[f"{name}.qzeros"][:2], "are not the tensors of 4 bits"),
                (f"{name}.scales", made[f"{name}.scales"].astype("f4"), "are not the tensors of 4 bits"),
                (f"{name}.g_idx", made[f"{name}.g_idx"][1:], f"{name}.g_idx is no I32 of (128)"),
                (f"{name}.g_idx", made[f"{name}.g_idx"].astype("f4"), f"{name}.g_idx is no I32 of (128)"),
                (f"{name}.g_idx", made[f"{name}.g_idx"] + 1, "codes.g_idx[96] is 4; it must be 0 to 3"),
                (f"{name}.bias", made[f"{name}.bias"] + 1, f"no use for its tensor {name}.bias"),
                ("model.embed_tokens.weight", made["model.embed_tokens.weight"][:9], "another shape than (400, 128)")):
            with self.subTest(name=other, part=part):
                changed = {**made, other: tensor}
                checkpoints.write(path, {key: entry for key, entry in changed.items() if entry is not None})
                self.refused(part, "a", "--weights", path)
        codes, _ = checkpoints.quantised(tensors["token_embd.weight"][0], "gptq", 32)
        changed = {key: entry for key, entry in made.items() if "embed_tokens" not in key}
        checkpoints.write(path, changed | {f"model.embed_tokens.{key}": entry for key, entry in codes.items()})
        self.refused("its token_embd is in codes without blocks", "a", "--weights", path)
        self.refused("No such file", "a", "--weights", self.folder / "none")

    def test_words(self):
        for words, part in ((["--steps", "1"], "it needs the path of a model, and a prompt"),
                            (["a", "--steps", "0"], "--steps is '0'; it must be a whole number from 1"),
                            (["a", "--batch", "1025"], "--batch is '1025'"),
                            (["a", "--cache", "q4"], "--cache has no 'q4'"),
                            (["a", "--seed", "1"], "--seed is for another --temperature than 0"),
                            (["a", "--temperature", "x"], "--temperature is 'x'"),
                            (["a", "--temperature", "9e-7"], "--temperature is '9e-7'; it must be 0, or from 1e-6"),
                            (["a", "--isa", "abacus"], "abacus"),
                            (["a", "--chunk"], "--chunk wants something after it"),
                            (["a", "--speed", "1"], "there is no option --speed"),
                            (["a", "--logits", self.folder], "Is a directory")):
            with self.subTest(words=words):
                self.refused(part, *words)
        self.path.unlink()
        self.refused("No such file")

    def test_other_merges(self):
        self.values, self.tensors = make_gguf.make(self.path, "tiny", "q8_0", has_merges=True)
        tokens, merges = (self.values[f"tokenizer.ggml.{name}"] for name in ("tokens", "merges"))
        for name, value, part in (("merges", [merges[0], "ab"], "merge 1 is not of two tokens that make a third"),
                                  ("merges", ["\u5317 b"], "merge 0 is not of two tokens"),
                                  ("merges", None, "it has no value tokenizer.ggml.merges"),
                                  ("token_type", [1], "400 tokens and 1 of tokenizer.ggml.token_type"),
                                  ("pre", "llama-bpe", "nor 'gpt2' and 'smollm'"),
                                  ("tokens", tokens[:3] + ["b" * 70000] + tokens[4:], "token 3 has 70000 bytes"),
                                  ("tokens", ["Q-" if token == "Q" else token for token in tokens],
                                   "the vocabulary has no token for byte 81 of a prompt")):
            with self.subTest(name=name, part=part):
                self.write({**self.values, f"tokenizer.ggml.{name}": value}, self.tensors)
                self.refused(part, "aQ")

    def test_package(self):
        """The Python package of ggml's authors reads the same names, values and bytes."""
        try:
            import gguf
        except ImportError:
            self.skipTest("the package gguf is not there")
        reader = gguf.GGUFReader(self.path)
        for name, value in self.values.items():
            found = reader.fields[name].contents()
            self.assertEqual(found, float(numpy.float32(value)) if isinstance(value, float) else value)
        for kind in quantise.KINDS:
            _, tensors = make_gguf.make(self.path, "small", kind)
            for tensor in gguf.GGUFReader(self.path).tensors:
                numbers, kept = tensors[tensor.name]
                if kept not in ("q4_k", "q5_k", "q6_k", "iq4_nl"):  # whose scales ggml searches for
                    quantised = gguf.quants.quantize(numbers, gguf.GGMLQuantizationType[kept.upper()])
                    self.assertEqual(quantised.tobytes(), tensor.data.tobytes(), kept)
                self.assertTrue((gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(numbers.shape) ==
                                 reference.numbers_of(numbers, kept)).all(), kept)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
