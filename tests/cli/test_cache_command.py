"""`fovea cache`: bytes read by NumPy's own formulas, the way back, the error, and every mistake refused.

    test_cache_command.py COMMAND...    the words that start the program, an emulator among them
"""

import re
import sys
import unittest

import numpy as np

import command
from command import run

SHAPE = (2, 3, 40, 64)
NAMES = """i8_rows q8_kv q8_0 q4_0 q4_1 q5_0 q5_1 iq4_nl openvino_u8 openvino_u4 openvino_i8 openvino_u8_keys ort_s8 ort_u4
    ort_s8_dims ort_u4_dims e4m3 e5m2 kivi_k4 kivi_k2 kivi_v4 kivi_v2
    vllm_e4m3_keys vllm_e5m2_keys vllm_e4m3_values vllm_e5m2_values vllm_bf16_values""".split()
VLLM = set(NAMES[-5:])
APART = {"i8_rows", "ort_s8", "ort_u4", "ort_s8_dims", "ort_u4_dims", "e4m3", "e5m2"} | VLLM
MINIMA = {"kivi_k4", "kivi_k2", "kivi_v4", "kivi_v2"}
TABLE = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], "f4")


def tensor(shape=SHAPE, seed=1):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def fp8(exponent_bits):
    """The number of each code."""
    codes = np.arange(256)
    fraction_bits = 7 - exponent_bits
    exponent = codes >> fraction_bits & (1 << exponent_bits) - 1
    fraction = (codes & (1 << fraction_bits) - 1) / (1 << fraction_bits)
    bias = (1 << exponent_bits - 1) - 1
    numbers = np.where(exponent > 0, (1 + fraction) * 2.0 ** (exponent - bias), fraction * 2.0 ** (1 - bias))
    return (np.where(codes > 127, -1, 1) * numbers).astype("f4")


def halves(codes):
    """Codes of 4 bits in the last axis: the low halves of all bytes, then the high halves."""
    return np.concatenate([codes & 15, codes >> 4], axis=-1)


def pairs(codes):
    return np.stack([codes & 15, codes >> 4], axis=-1).reshape(codes.shape[:-1] + (-1,))


def fused(codes, scale, minimum):
    """These products and sums have fewer than 53 bits."""
    return (codes.astype("f8") * scale.astype("f8") + minimum.astype("f8")).astype("f4")


def f16_at(blocks, at):
    return np.ascontiguousarray(blocks[..., at : at + 2]).view("<f2").astype("f4")


def f32_at(blocks, at, count=1):
    return np.ascontiguousarray(blocks[..., at : at + 4 * count]).view("<f4")


def numbers_of(name, data, shape, scales, zeros):
    """What the bytes of a format stand for."""
    batch, heads, rows, dim = shape
    data = np.frombuffer(data, np.uint8)
    blocks = lambda size: data.reshape(batch, heads, rows, -1, size)
    flat = lambda x: x.reshape(shape)
    lines = data.reshape(batch, heads, -1, data.size // (batch * heads * rows) or 1) if name not in GROUPED else None
    if name in ("i8_rows", "ort_s8", "ort_s8_dims"):
        share = {"ort_s8_dims": lambda s: s[:, None], "i8_rows": lambda s: s}.get(name, lambda s: s.reshape(()))
        return lines.view(np.int8).astype("f4") * share(scales)
    if name in ("ort_u4", "ort_u4_dims"):
        return (pairs(lines).astype("f4") - 8) * (scales[:, None] if name == "ort_u4_dims" else scales.reshape(()))
    if name in ("e4m3", "e5m2"):
        return fp8(4 if name == "e4m3" else 5)[lines] * scales.reshape(())
    if name == "q8_kv":
        assert np.all(lines[..., 4:8].copy().view("<i4")[..., 0] == lines[..., 8:].view(np.int8).sum(-1))
        return lines[..., 8:].view(np.int8).astype("f4") * f32_at(lines, 0)
    if name == "q8_0":
        return flat(blocks(34)[..., 2:].view(np.int8).astype("f4") * f16_at(blocks(34), 0))
    if name == "q4_0":
        return flat((halves(blocks(18)[..., 2:]).astype("f4") - 8) * f16_at(blocks(18), 0))
    if name == "iq4_nl":
        return flat(TABLE[halves(blocks(18)[..., 2:])] * f16_at(blocks(18), 0))
    if name == "q4_1":
        return flat(fused(halves(blocks(20)[..., 4:]), f16_at(blocks(20), 0), f16_at(blocks(20), 2)))
    if name in ("q5_0", "q5_1"):
        size, at = (22, 2) if name == "q5_0" else (24, 4)
        fifths = np.unpackbits(blocks(size)[..., at : at + 4], axis=-1, bitorder="little")
        codes = halves(blocks(size)[..., at + 4 :]) + 16 * fifths
        if name == "q5_1":
            return flat(fused(codes, f16_at(blocks(size), 0), f16_at(blocks(size), 2)))
        return flat((codes.astype("f4") - 16) * f16_at(blocks(size), 0))
    if name == "openvino_i8":
        return lines[..., 4:].view(np.int8).astype("f4") * f32_at(lines, 0)
    if name == "openvino_u8":
        return (lines[..., 8:].astype("f4") - f32_at(lines, 4)) * f32_at(lines, 0)
    if name == "openvino_u4":
        codes = pairs(lines[..., 8:])
        codes = codes.reshape(codes.shape[:-1] + (-1, 2))[..., ::-1].reshape(codes.shape)  # the even dim is high
        return (codes.astype("f4") - f32_at(lines, 4)) * f32_at(lines, 0)
    if name == "openvino_u8_keys":
        pages = data.reshape(batch, heads, -1, dim * 40)
        codes = pages[..., dim * 8 :].reshape(pages.shape[:3] + (32, dim)).astype("f4")
        numbers = (codes - f32_at(pages, dim * 4, dim)[..., None, :]) * f32_at(pages, 0, dim)[..., None, :]
        return numbers.reshape(batch, heads, -1, dim)[:, :, :rows]
    if name in VLLM:
        codes = data.view("<u2") if name == "vllm_bf16_values" else data
        if name.endswith("keys"):  # [keys / 16][dim / 2][16 keys][2 dims]
            tiles = codes.reshape(batch, heads, -1, dim // 2, 16, 2).transpose(0, 1, 2, 4, 3, 5)
        else:  # pages of 128 keys: [dim / 16][keys / 2][16 dims][2 keys]
            tiles = codes.reshape(batch, heads, -1, dim // 16, 64, 16, 2).transpose(0, 1, 2, 4, 6, 3, 5)
        codes = tiles.reshape(batch, heads, -1, dim)[:, :, :rows]
        if name == "vllm_bf16_values":
            return (codes.astype("<u4") << 16).view("f4") * scales.reshape(())
        return fp8(4 if "e4m3" in name else 5)[codes] * scales.reshape(())
    bits = int(name[-1])
    if name.startswith("kivi_k"):
        words = np.frombuffer(data, "<u4").reshape(batch, heads, -1, 1, dim)
        shifts = np.arange(0, 32, bits, dtype=np.uint32)[:, None]
        codes = (words >> shifts & (1 << bits) - 1).reshape(batch, heads, -1, dim)[:, :, :rows]
        spread = lambda x: np.repeat(x, 32, axis=2)[:, :, :rows]
    else:
        codes = (lines[..., None] >> np.arange(0, 8, bits, dtype=np.uint8) & (1 << bits) - 1).reshape(shape)
        spread = lambda x: np.repeat(x, 32, axis=3)
    return fused(codes, spread(scales), spread(zeros))


GROUPED = {"q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "openvino_u8_keys", "kivi_k4", "kivi_k2"} | VLLM


class InDirectory(command.InDirectory):
    def beside(self, name):
        """The options for scales and zeros that lie apart."""
        words = ["--scales", self.path("s.npy")] if name in APART | MINIMA else []
        return words + (["--zeros", self.path("z.npy")] if name in MINIMA else [])

    def convert(self, *arguments):
        done = run("cache", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stderr)
        return done.stdout.decode()

    def narrow(self, name, x):
        """The bytes, and what is printed."""
        np.save(self.path("x.npy"), x)
        printed = self.convert("--to", name, self.path("x.npy"), self.path("x.bin"), *self.beside(name))
        with open(self.path("x.bin"), "rb") as file:
            return file.read(), printed

    def widen(self, name, shape, *options):
        self.convert("--from", name, "--shape", ",".join(map(str, shape)), self.path("x.bin"), self.path("y.npy"),
                     *self.beside(name), *options)
        return np.load(self.path("y.npy"))


class Formats(InDirectory):
    def test_numbers(self):
        """The way back gives the numbers that the bytes stand for, and these are near the numbers that were quantised."""
        x = tensor()
        for name in NAMES:
            with self.subTest(name):
                data, printed = self.narrow(name, x)
                scales = np.load(self.path("s.npy")) if name in APART | MINIMA else None
                zeros = np.load(self.path("z.npy")) if name in MINIMA else None
                y = self.widen(name, SHAPE)
                self.assertEqual(y.tobytes(), numbers_of(name, data, SHAPE, scales, zeros).tobytes())
                error = (x - y) / np.sqrt(np.mean(x.astype("f8") ** 2, axis=-1, keepdims=True))
                rms, largest = map(float, re.search(r"rms: rms (\S+), largest (\S+)\n", printed).groups())
                self.assertAlmostEqual(rms, np.sqrt(np.mean(error**2)), delta=0.006 * rms)
                self.assertAlmostEqual(largest, np.abs(error).max(), delta=0.006 * largest)
                self.assertLess(rms, 0.5 if name.endswith("2") and name != "e5m2" else 0.25)

    def test_list(self):
        lines = self.convert("--list").splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["name"] + NAMES)
        self.assertEqual(lines[3].split(), "q8_0 8.5 136 f16 for 32 dims, before code * scale".split())
        self.assertEqual(lines[19].split(), "kivi_k4 5 80 f16 for each dim of 32 keys, apart code * scale + minimum".split())

    def test_types(self):
        """f16 and bf16 are widened exactly before they become codes."""
        x = tensor()
        halves = x.astype("f2")
        self.assertEqual(self.narrow("q8_0", halves)[0], self.narrow("q8_0", halves.astype("f4"))[0])
        cut = (x.view("<u4") >> 16).astype("<u2")
        self.assertEqual(self.narrow("q4_1", cut)[0], self.narrow("q4_1", (cut.astype("<u4") << 16).view("f4"))[0])
        y = self.widen("q4_1", SHAPE)
        self.assertEqual(self.widen("q4_1", SHAPE, "--type", "f16").tobytes(), y.astype("f2").tobytes())

    def test_shapes(self):
        """Fewer axes are the same bytes; no rows are none."""
        x = tensor()
        self.assertEqual(self.narrow("q8_0", x)[0], self.narrow("q8_0", x.reshape(6, 40, 64))[0])
        self.assertEqual(self.narrow("q8_0", x)[0], self.narrow("q8_0", x.reshape(240, 64))[0])
        self.assertEqual(self.widen("q8_0", (240, 64)).shape, (240, 64))
        for name in ("q8_0", "i8_rows", "kivi_k4", "openvino_u8_keys", "e4m3"):
            self.assertEqual(self.narrow(name, np.zeros((3, 0, 64), "f4"))[0], b"")
            self.assertEqual(self.widen(name, (3, 0, 64)).shape, (3, 0, 64))

    def test_one_scale(self):
        x = tensor()
        np.save(self.path("x.npy"), x)
        words = [self.path("x.npy"), self.path("x.bin"), "--scale", "0.5"]
        self.convert("--to", "e4m3", *words)
        with open(self.path("x.bin"), "rb") as file:
            codes = np.frombuffer(file.read(), np.uint8)
        numbers = fp8(4)
        nearest = np.min(np.abs(numbers[None, :127] - np.abs(x.reshape(-1, 1)[:999] * 2)), axis=1)
        self.assertTrue(np.all(np.abs(numbers[codes[:999]] - x.reshape(-1)[:999] * 2) == nearest))
        self.convert("--from", "e4m3", "--shape", "2,3,40,64", self.path("x.bin"), self.path("y.npy"), "--scale=0.5")
        self.assertEqual(np.load(self.path("y.npy")).tobytes(), (numbers[codes] * np.float32(0.5)).tobytes())

    def test_rows_left_out(self):
        x = tensor((2, 32))
        x[0] = 0
        self.assertIn("1 rows do not count", self.narrow("q8_0", x)[1])


class Mistakes(InDirectory):
    def refuse(self, text, *arguments):
        before = self.files()
        self.assert_refused(run("cache", *arguments), text)
        self.assertEqual(self.files(), before)

    def setUp(self):
        super().setUp()
        np.save(self.path("x.npy"), tensor((3, 4, 64)))
        self.files_to = [self.path("x.npy"), self.path("x.bin")]
        self.files_from = [self.path("y.bin"), self.path("y.npy")]
        with open(self.path("y.bin"), "wb") as file:
            file.write(bytes(3 * 4 * 68))

    def test_outputs_over_inputs(self):
        self.refuse("x.npy: cannot write: the command reads this file, too", "--to", "q8_0", self.path("x.npy"),
                    self.path("./x.npy"))
        self.refuse("x.npy: cannot write: the command reads this file, too", "--to", "i8_rows", *self.files_to,
                    "--scales", self.path("./x.npy"))
        self.refuse("x.npy: cannot write: the command reads this file, too", "--to", "kivi_k4", *self.files_to,
                    "--scales", self.path("s.npy"), "--zeros", self.path("./x.npy"))
        self.refuse("y.bin: cannot write: the command reads this file, too", "--from", "q8_0", "--shape", "3,4,64",
                    self.path("y.bin"), self.path("./y.bin"))
        np.save(self.path("s.npy"), np.ones((1, 3, 4, 1), np.float32))
        self.refuse("s.npy: cannot write: the command reads this file, too", "--from", "i8_rows", "--shape", "3,4,68",
                    "--scales", self.path("s.npy"), self.path("y.bin"), self.path("./s.npy"))

    def test_formats(self):
        for option in (["--to"], ["--shape", "3,4,64", "--from"]):
            self.refuse("no format is called 'q9'; there are i8_rows, q8_kv, q8_0, ", *option, "q9", *self.files_to)

    def test_options(self):
        self.refuse("one of --to, --from and --list is needed")
        self.refuse("one of --to, --from and --list is needed", "--to", "q8_0", "--from", "q8_0", *self.files_to)
        self.refuse("--list takes no other option", "--list", "--to", "q8_0")
        self.refuse("two files are needed", "--to", "q8_0", self.path("x.npy"))
        self.refuse("the same name", "--to", "q8_0", self.path("x.npy"), self.path("x.npy"))
        self.refuse("--shape is for --from", "--to", "q8_0", "--shape", "3,4,64", *self.files_to)
        self.refuse("--type is for --from", "--to", "q8_0", "--type", "f16", *self.files_to)
        self.refuse("--from needs --shape", "--from", "q8_0", *self.files_from)
        self.refuse("--scale is -1", "--to", "e4m3", "--scale=-1", *self.files_to)
        self.refuse("--scale is 1e+99", "--to", "e4m3", "--scale=1e99", *self.files_to)
        self.refuse("q8_0 computes its scales", "--to", "q8_0", "--scale", "1", *self.files_to)
        self.refuse("in place of --scales", "--to", "e4m3", "--scale", "1", "--scales", self.path("s"), *self.files_to)
        self.refuse("--scales or --scale is needed", "--to", "e4m3", *self.files_to)
        self.refuse("--scales is needed", "--to", "i8_rows", *self.files_to)
        self.refuse("beside the codes", "--to", "q8_0", "--scales", self.path("s"), *self.files_to)
        self.refuse("--zeros is needed", "--to", "kivi_k4", "--scales", self.path("s"), *self.files_to)
        self.refuse("--zeros: q8_0 has none apart", "--to", "q8_0", "--zeros", self.path("s"), *self.files_to)

    def test_shapes(self):
        shape = lambda text: ["--from", "q8_0", "--shape", text, *self.files_from]
        self.refuse("1 axes; 2 to 4 are needed", *shape("64"))
        self.refuse("axis 0 is 0; at least 1", *shape("0,4,64"))
        self.refuse("axis 1 is -4; at least 0", *shape("3,-4,64"))
        self.refuse("too large", *shape("140737488355328,140737488355328,64"))
        self.refuse("too large", *shape("1000000,1000000,1000000,4096"))
        self.refuse("--shape: its last axis is 65: format.group is 32", *shape("3,4,65"))
        np.save(self.path("x.npy"), tensor((4, 24)))
        self.refuse("x.npy: its last axis is 24: format.group is 32", "--to", "q8_0", *self.files_to)
        np.save(self.path("x.npy"), np.zeros((4, 4), "i4"))
        self.refuse("is needed", "--to", "i8_rows", "--scales", self.path("s.npy"), *self.files_to)
        np.save(self.path("x.npy"), np.zeros((2, 5000), "f4"))
        self.refuse("x.npy: its last axis is 5000; at most 4096 numbers", "--to", "q8_kv", *self.files_to)

    def test_files(self):
        self.refuse("cannot open", "--from", "q8_0", "--shape", "3,4,64", self.path("none"), self.path("y.npy"))
        self.refuse("ends after 816 of the 1020 bytes", "--from", "q8_0", "--shape", "3,5,64", *self.files_from)
        self.refuse("goes on after the 612 bytes", "--from", "q8_0", "--shape", "3,3,64", *self.files_from)
        np.save(self.path("s.npy"), np.ones((1, 3, 4), "f4"))
        self.refuse("12 numbers in 3 axes; the shape (1, 3, 4, 1) is needed", "--from", "i8_rows", "--shape", "3,4,68",
                    "--scales", self.path("s.npy"), *self.files_from)
        np.save(self.path("s.npy"), np.ones((1, 3, 4, 1), "f2"))
        self.refuse("float32 ('<f4') is needed", "--from", "i8_rows", "--shape", "3,4,68", "--scales",
                    self.path("s.npy"), *self.files_from)


if __name__ == "__main__":
    command.COMMAND[:] = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
