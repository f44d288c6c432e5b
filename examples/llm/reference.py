"""A model of Llama's kind in NumPy, without a line of the library: its tokens, its logits, and how tokens are drawn."""

import math
import re
import struct

import numpy

import make_gguf
import quantise


def half(data):
    return numpy.ascontiguousarray(data).view(numpy.float16).astype(numpy.float64)


def halves(data):
    """Codes of 4 bits: the lower halves of bytes, then the upper halves."""
    return numpy.concatenate([data & 15, data >> 4], 1).astype(numpy.float64)


def fifths(data):
    return 16.0 * numpy.unpackbits(data, axis=1, bitorder="little")


def read_minima(blocks, has_fifth):
    """Of q4_k and q5_k."""
    packed, at = blocks[:, 4:16].astype(int), 48 if has_fifth else 16
    scales = numpy.concatenate([packed[:, :4] & 63, packed[:, 8:] & 15 | packed[:, :4] >> 6 << 4], 1)
    minima = numpy.concatenate([packed[:, 4:8] & 63, packed[:, 8:] >> 4 | packed[:, 4:8] >> 6 << 4], 1)
    pairs = blocks[:, at:].reshape(-1, 4, 1, 32)
    codes = numpy.concatenate([pairs & 15, pairs >> 4], 2).reshape(-1, 8, 32).astype(float)
    if has_fifth:
        codes += 16 * (blocks[:, None, 16:48] >> numpy.arange(8)[:, None] & 1)
    scales, minima = half(blocks[:, :2]) * scales, half(blocks[:, 2:4]) * minima
    return codes * scales[:, :, None] - minima[:, :, None]


def read_six_bits(blocks):
    lower, upper = blocks[:, :128].reshape(-1, 2, 1, 64), blocks[:, 128:192].reshape(-1, 2, 1, 32)
    lower = numpy.concatenate([lower & 15, lower >> 4], 2).reshape(-1, 256)
    upper = (upper >> 2 * numpy.arange(4)[:, None] & 3).reshape(-1, 256)
    scales = half(blocks[:, 208:]) * blocks[:, 192:208].view(numpy.int8)
    return (lower + 16.0 * upper - 32) * numpy.repeat(scales, 16, 1)


# Bytes of a block, and its numbers.
BLOCKS = {
    "q8_0": (34, lambda b: half(b[:, :2]) * b[:, 2:].view(numpy.int8)),
    "q4_0": (18, lambda b: half(b[:, :2]) * (halves(b[:, 2:]) - 8)),
    "q4_1": (20, lambda b: half(b[:, :2]) * halves(b[:, 4:]) + half(b[:, 2:4])),
    "q5_0": (22, lambda b: half(b[:, :2]) * (halves(b[:, 6:]) + fifths(b[:, 2:6]) - 16)),
    "q5_1": (24, lambda b: half(b[:, :2]) * (halves(b[:, 8:]) + fifths(b[:, 4:8])) + half(b[:, 2:4])),
    "iq4_nl": (18, lambda b: half(b[:, :2]) * quantise.IQ4_NL[halves(b[:, 2:]).astype(int)]),
    "mxfp4": (17, lambda b: numpy.exp2(b[:, :1] - 127.0) * quantise.E2M1[halves(b[:, 1:]).astype(int)]),
    "q4_k": (144, lambda b: read_minima(b, False)),
    "q5_k": (176, lambda b: read_minima(b, True)),
    "q6_k": (210, read_six_bits),
}


def numbers_of(tensor, kind):
    """What a reader of the file gets, exactly: each number is rounded once."""
    data = quantise.data_of(tensor, kind)
    if kind in BLOCKS:
        size, read = BLOCKS[kind]
        numbers = read(numpy.frombuffer(data, numpy.uint8).reshape(-1, size)).astype(numpy.float32)
    elif kind == "bf16":
        numbers = (numpy.frombuffer(data, numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
    else:
        numbers = numpy.frombuffer(data, "f4" if kind == "f32" else "f2")
    return numbers.astype(numpy.float64).reshape(tensor.shape)


def rounded(rows, cache):
    """Rows of heads, as a cache of that type keeps them."""
    if cache == "f16":
        return rows.astype(numpy.float32).astype(numpy.float16).astype(rows.dtype)
    if cache == "q8_0":
        return numbers_of(rows, "q8_0").astype(rows.dtype)
    return rows


class Model:
    """All passes are in `dtype`; `cache` is the type of keys and values. int8: how the names of matrices begin for which
    rows become codes with one scale."""

    def __init__(self, values, tensors, dtype=numpy.float64, cache="f32", int8=()):
        self.values, self.dtype, self.cache, self.int8 = values, dtype, cache, int8
        self.tensors = {name: numbers_of(*tensor).astype(dtype) for name, tensor in tensors.items()}
        self.heads, self.kv_heads = (values[f"llama.attention.head_count{end}"] for end in ("", "_kv"))

    def linear(self, x, name):
        if name.startswith(self.int8):
            scale = abs(x).max(-1, keepdims=True) / 127
            x = numpy.rint(x / scale) * scale
        return x @ self.tensors[name].T

    def norm(self, x, name):
        eps = self.dtype(numpy.float32(self.values["llama.attention.layer_norm_rms_epsilon"]))
        return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + eps) * self.tensors[name]

    def rotated(self, x):
        """Neighbours of (positions, heads, dims) are pairs."""
        dims = x.shape[-1]
        base = self.values.get("llama.rope.freq_base", 10000.0)
        angles = numpy.arange(len(x))[:, None, None] * base ** (-numpy.arange(0, dims, 2) / dims)
        cos, sin = numpy.cos(angles).astype(self.dtype), numpy.sin(angles).astype(self.dtype)
        even, odd = x[..., 0::2], x[..., 1::2]
        return numpy.stack([even * cos - odd * sin, odd * cos + even * sin], -1).reshape(x.shape)

    def attention(self, x, layer):
        def heads(name, count):
            return self.linear(x, f"{layer}.{name}.weight").reshape(len(x), count, -1)

        q = self.rotated(heads("attn_q", self.heads))
        k = rounded(self.rotated(heads("attn_k", self.kv_heads)), self.cache)
        v = rounded(heads("attn_v", self.kv_heads), self.cache)
        k, v = (numpy.repeat(rows, self.heads // self.kv_heads, 1) for rows in (k, v))
        scores = numpy.einsum("ihd,jhd->hij", q, k) / self.dtype(math.sqrt(q.shape[-1]))
        scores = numpy.where(numpy.tri(len(x), dtype=bool), scores, self.dtype(-math.inf))
        weights = numpy.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        out = numpy.einsum("hij,jhd->ihd", weights, v).reshape(len(x), -1)
        return self.linear(out, f"{layer}.attn_output.weight")

    def logits(self, tokens):
        """Of each position."""
        x = self.tensors["token_embd.weight"][tokens]
        for index in range(self.values["llama.block_count"]):
            layer = f"blk.{index}"
            x = x + self.attention(self.norm(x, f"{layer}.attn_norm.weight"), layer)
            y = self.norm(x, f"{layer}.ffn_norm.weight")
            gate, up = (self.linear(y, f"{layer}.{name}.weight") for name in ("ffn_gate", "ffn_up"))
            x = x + self.linear(gate / (1 + numpy.exp(-gate)) * up, f"{layer}.ffn_down.weight")
        head = "output.weight" if "output.weight" in self.tensors else "token_embd.weight"
        return self.linear(self.norm(x, "output_norm.weight"), head)


def encode_by_merges(values, prompt):
    """Marks are tokens; words are digits, or letters or other signs with a space before them, or spaces."""
    tokens = {token: number for number, token in enumerate(values["tokenizer.ggml.tokens"])}
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(values["tokenizer.ggml.merges"])}
    characters, found = make_gguf.characters_of_bytes(), []
    letters = r"[^\W\d_]|[^\x00-\x7f]"
    pattern = rf"'s|'t|'re|'ve|'m|'ll|'d| ?(?:{letters})+| ?(?:(?!{letters})[^\s\d])+|\s+(?!\S)|\s+"
    for part in re.split(r"(<\|im_start\|>|<\|im_end\|>|<\|endoftext\|>|[0-9])", prompt):
        if part in tokens and part.startswith("<|"):
            found.append(tokens[part])
            continue
        for word in re.findall(pattern, part) if not part.isdigit() else [part]:
            pieces = [characters[byte] for byte in word.encode()]
            while True:
                pairs = [(ranks[pair], i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in ranks]
                if not pairs:
                    break
                place = min(pairs)[1]
                pieces[place:place + 2] = ["".join(pieces[place:place + 2])]
            found += [tokens[piece] for piece in pieces]
    return found


def encode(values, prompt):
    """Characters, or else their bytes; then the neighbours that make the token with the highest score are merged."""
    if values["tokenizer.ggml.model"] == "gpt2":
        return encode_by_merges(values, prompt)
    tokens, scores = values["tokenizer.ggml.tokens"], values["tokenizer.ggml.scores"]
    numbers = {token: number for number, token in enumerate(tokens)}
    words = []
    for character in ("\u2581" + prompt.replace(" ", "\u2581") if prompt else ""):
        words += [character] if character in numbers else [f"<0x{byte:02X}>" for byte in character.encode()]
    while True:
        pairs = [(-scores[numbers[a + b]], i) for i, (a, b) in enumerate(zip(words, words[1:])) if a + b in numbers]
        if not pairs:
            return [1] + [numbers[word] for word in words]
        place = min(pairs)[1]
        words[place:place + 2] = [words[place] + words[place + 1]]


def decode(values, tokens):
    """What is printed of tokens: no control characters, and no space at the begin."""
    words, parts = [values["tokenizer.ggml.tokens"][token] for token in tokens], []
    characters = make_gguf.characters_of_bytes()
    for before, token, word in zip([2, *tokens], tokens, words):
        if values["tokenizer.ggml.model"] == "gpt2":
            part = bytes(characters.index(character) for character in word)
        else:
            part = bytes([token - 3]) if 3 <= token < 259 else word.replace("\u2581", " ").encode()
        if token != 1:  # the begin
            parts.append(part[1:] if before == 1 and part.startswith(b" ") else part)
    return bytes(byte for byte in b"".join(parts) if byte >= 32 or byte in b"\n\t")


def draw(logits, temperature, state):
    """A token by SplitMix64 and the chances of examples/stories/chances.h, and the generator's next state. Chances are
    computed in float64 here: a few may differ by 1, which few of the numbers of a generator can show."""
    mask = 2 ** 64 - 1
    state = (state + 0x9e3779b97f4a7c15) & mask
    bits = state
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9 & mask
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb & mask
    scaled = (logits * (numpy.float32(1) / numpy.float32(temperature))).astype(numpy.float64)
    weights = numpy.exp(scaled - scaled.max())
    ends = numpy.cumsum(1 + (weights / weights.sum() * 2 ** 24).astype(numpy.int64))
    return int(numpy.searchsorted(ends, (bits ^ bits >> 31) * int(ends[-1]) >> 64, "right")), state


def digest(data, start=0xcbf29ce484222325):
    """FNV-1a of bytes."""
    for byte in data:
        start = (start ^ byte) * 0x100000001b3 % 2 ** 64
    return start


def digest_of_texts(texts):
    """Of the logits of each text, then of these digests."""
    return digest(b"".join(struct.pack("<Q", digest(rows.astype("<f4").tobytes())) for rows in texts))
