#!/usr/bin/env python3
"""Writes GGUF files of models of Llama's kind, by NumPy alone.

  make_gguf.py made OUT [--size tiny] [--type f16]            random weights of a fixed seed: they say nothing
  make_gguf.py llama2c MODEL TOKENIZER OUT [--type f16]       a checkpoint of llama2.c (version 0) and its tokenizer

--size is tiny (0.4 million weights, for tests), small (1.3 million, for tests of K-quants) or 100m (100 million); --type
is the type of all matrices: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k, iq4_nl or mxfp4."""

import argparse
import struct

import numpy

import quantise

TYPES = tuple(quantise.KINDS)
ALIGNMENT = 32
SIZES = {
    "tiny": dict(dim=128, hidden=320, layers=2, heads=4, kv_heads=2, vocabulary=400, context=256, tied=False),
    "small": dict(dim=256, hidden=512, layers=2, heads=4, kv_heads=2, vocabulary=400, context=256, tied=False),
    "100m": dict(dim=768, hidden=2048, layers=12, heads=12, kv_heads=4, vocabulary=32000, context=2048, tied=True),
}


def text(words):
    data = words if isinstance(words, bytes) else words.encode()
    return struct.pack("<Q", len(data)) + data


def value(thing):
    """A value with its type, by the type that it has in Python: int, float, str, or a list of them."""
    if isinstance(thing, list):
        kind, items = {int: (5, "i"), float: (6, "f"), str: (8, ""), bytes: (8, "")}[type(thing[0])]
        packed = b"".join(map(text, thing)) if kind == 8 else struct.pack(f"<{len(thing)}{items}", *thing)
        return struct.pack("<IIQ", 9, kind, len(thing)) + packed
    if isinstance(thing, str):
        return struct.pack("<I", 8) + text(thing)
    return struct.pack("<If", 6, thing) if isinstance(thing, float) else struct.pack("<II", 4, thing)


def write(path, values, tensors):
    """Tensors by names, each with its type; vectors are always f32."""
    head, data = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(values))], []
    head += [text(name) + value(thing) for name, thing in values.items()]
    at = 0
    for name, (tensor, kind) in tensors.items():
        shape = tensor.shape[::-1]
        head.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, quantise.number_of(kind), at))
        data.append(quantise.data_of(tensor, kind))
        data.append(bytes(-len(data[-1]) % ALIGNMENT))
        at += len(data[-2]) + len(data[-1])
    head = b"".join(head)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + b"".join(data))


def vocabulary_of(count, generator):
    """Tokens and scores as SentencePiece has them: marks, bytes, letters, and then pairs of earlier tokens."""
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["\u2581"]
    tokens += list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,'") + ["\u00eb"]
    words = tokens[259:]
    known = set(tokens)
    while len(tokens) < count:
        first, second = (words[i] for i in generator.integers(0, min(len(words), 2000), 2))
        if first + second not in known and len(first + second) < 12:
            known.add(first + second)
            words.append(first + second)
            tokens.append(first + second)
    return tokens, [0.0 if i < 259 else float(259 - i) for i in range(count)]


def characters_of_bytes():
    """GPT-2 writes a byte that is no printable character of Latin-1 as one from U+0100 on."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    shifted = [byte for byte in range(256) if byte not in plain]
    return [chr(byte if byte in plain else 256 + shifted.index(byte)) for byte in range(256)]


def merges_of(count, generator):
    """Tokens and merges as GPT-2 has them: marks, bytes, and then pairs of earlier tokens."""
    tokens, merges = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + characters_of_bytes(), []
    words = list("abcdefghijklmnopqrstuvwxyz'.1") + ["\u0120", "\u0120", "\u00c3", "\u00ab"]
    while len(tokens) < count:
        first, second = (words[i] for i in generator.integers(0, len(words), 2))
        if first + second not in tokens and len(first + second) < 5:
            words.append(first + second)
            tokens.append(first + second)
            merges.append(f"{first} {second}")
    return tokens, merges


def metadata_of_merges(tokens, merges):
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.token_type": [3] * 3 + [1] * (len(tokens) - 3),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


def metadata_of_scores(tokens, scores):
    kinds = [2, 3, 3] + [6] * 256
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": kinds + [1] * (len(tokens) - len(kinds)),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }


def metadata(name, sizes, eps):
    return {
        "general.architecture": "llama",
        "general.name": name,
        "llama.context_length": sizes["context"],
        "llama.embedding_length": sizes["dim"],
        "llama.feed_forward_length": sizes["hidden"],
        "llama.block_count": sizes["layers"],
        "llama.attention.head_count": sizes["heads"],
        "llama.attention.head_count_kv": sizes["kv_heads"],
        "llama.attention.layer_norm_rms_epsilon": eps,
        "llama.rope.dimension_count": sizes["dim"] // sizes["heads"],
    }


def shapes_of(sizes):
    """The matrices of a layer, (out, in), by the names that GGUF has for them."""
    dim, hidden, kv_dim = sizes["dim"], sizes["hidden"], sizes["dim"] // sizes["heads"] * sizes["kv_heads"]
    return {"attn_q": (dim, dim), "attn_k": (kv_dim, dim), "attn_v": (kv_dim, dim), "attn_output": (dim, dim),
            "ffn_gate": (hidden, dim), "ffn_up": (hidden, dim), "ffn_down": (dim, hidden)}


def make(path, size="tiny", kind="f16", tied=None, has_merges=False, seed=1):
    """Returns what it has written: values and tensors. Tied: the embedding makes the logits."""
    sizes, generator = SIZES[size], numpy.random.Generator(numpy.random.PCG64(seed))
    if has_merges:
        words = metadata_of_merges(*merges_of(sizes["vocabulary"], generator))
    else:
        words = metadata_of_scores(*vocabulary_of(sizes["vocabulary"], generator))

    def matrix(rows, columns, scale=1.0):
        return generator.standard_normal((rows, columns), numpy.float32) * numpy.float32(scale / columns ** 0.5)

    def norm():
        return 1 + generator.standard_normal(sizes["dim"], numpy.float32) / 8, "f32"

    tensors = {"token_embd.weight": (matrix(sizes["vocabulary"], sizes["dim"], 4), kind), "output_norm.weight": norm()}
    if not (sizes["tied"] if tied is None else tied):
        tensors["output.weight"] = matrix(sizes["vocabulary"], sizes["dim"], 4), kind
    for layer in range(sizes["layers"]):
        tensors |= {f"blk.{layer}.{name}.weight": norm() for name in ("attn_norm", "ffn_norm")}
        tensors |= {f"blk.{layer}.{name}.weight": (matrix(*shape, 2), kind) for name, shape in shapes_of(sizes).items()}
    values = metadata(f"made, {size}", sizes, 1e-5) | {"llama.rope.freq_base": 50000.0} | words
    write(path, values, tensors)
    return values, tensors


def read_llama2c_tokens(path, count):
    tokens, scores = [], []
    with open(path, "rb") as file:
        file.read(4)
        for _ in range(count):
            score, length = struct.unpack("<fi", file.read(8))
            scores.append(score)
            tokens.append(file.read(length).replace(b" ", "\u2581".encode()))
    tokens[:3] = b"<unk>", b"<s>", b"</s>"
    return tokens, scores


def convert(model, tokenizer, path, kind="f16"):
    with open(model, "rb") as file:
        header = struct.unpack("<7i", file.read(28))
        numbers = numpy.fromfile(file, numpy.float32)
    sizes = dict(zip(("dim", "hidden", "layers", "heads", "kv_heads", "vocabulary", "context"), header))
    tied, sizes["vocabulary"] = header[5] > 0, abs(header[5])
    at = 0

    def take(*shape):
        nonlocal at
        at += int(numpy.prod(shape))
        return numbers[at - int(numpy.prod(shape)):at].reshape(shape)

    dim, layers, shapes = sizes["dim"], sizes["layers"], shapes_of(sizes)
    order = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_down", "ffn_up")
    embedding = take(sizes["vocabulary"], dim)
    parts = {name: take(layers, *shapes.get(name, (dim,))) for name in order}
    tensors = {"token_embd.weight": (embedding, kind), "output_norm.weight": (take(dim), "f32")}
    take(sizes["context"], dim // sizes["heads"])  # cosines and sines
    if not tied:
        tensors["output.weight"] = take(sizes["vocabulary"], dim), kind
    for layer in range(layers):
        for name, tensor in parts.items():
            own = kind if quantise.fits(tensor.shape[-1], kind) else "f16"
            tensors[f"blk.{layer}.{name}.weight"] = tensor[layer], "f32" if tensor.ndim == 2 else own
    words = metadata_of_scores(*read_llama2c_tokens(tokenizer, sizes["vocabulary"]))
    write(path, metadata("from llama2.c", sizes, 1e-5) | words, tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("made")
    made.add_argument("out")
    made.add_argument("--size", choices=SIZES, default="tiny")
    llama2c = commands.add_parser("llama2c")
    for name in ("model", "tokenizer", "out"):
        llama2c.add_argument(name)
    for command in (made, llama2c):
        command.add_argument("--type", choices=TYPES, default="f16")
    options = parser.parse_args()
    if options.command == "made":
        make(options.out, options.size, options.type)
    else:
        convert(options.model, options.tokenizer, options.out, options.type)


if __name__ == "__main__":
    main()
