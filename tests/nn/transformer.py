"""Writes transformer.inc: what PyTorch's nn.Transformer says, in float64, with the weights of stack.c.

    python3 tests/nn/transformer.py > tests/nn/transformer.inc

Needs PyTorch (2.13.0 wrote the file) and numpy."""

import math

import numpy
import torch

LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY = 3, 24, 3, 40, 11
SOURCE = [[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 0, 0]]
TARGET = [[8, 9, 7, 9, 3], [2, 3, 8, 4, 6]]
SOURCE_LENGTHS = [6, 4]


def numbers(first, count):
    """stack_number() of the indices from `first` on."""
    h = numpy.arange(first, first + count, dtype=numpy.uint32) * numpy.uint32(0x9E3779B1) + numpy.uint32(0x7F4A7C15)
    h = (h ^ (h >> numpy.uint32(16))) * numpy.uint32(0x85EBCA6B)
    h = (h ^ (h >> numpy.uint32(13))) * numpy.uint32(0xC2B2AE35)
    h ^= h >> numpy.uint32(16)
    return ((h >> numpy.uint32(16)).astype(numpy.float64) - 32768) / 65536


class Source:
    def __init__(self):
        self.next = 1

    def take(self, *shape, offset=0.0):
        count = math.prod(shape)
        self.next += count
        return torch.tensor(numbers(self.next - count, count) + offset).reshape(shape)


def fill(source, parameters, offset=0.0):
    for parameter in parameters:
        parameter.data = source.take(*parameter.shape, offset=offset)


def fill_norm(source, norm):
    fill(source, [norm.weight], 1.0)
    fill(source, [norm.bias])


def fill_stack(source, layers, norm):
    for layer in layers:
        attentions = [layer.self_attn] + ([layer.multihead_attn] if hasattr(layer, "multihead_attn") else [])
        for a in attentions:
            fill(source, [a.in_proj_weight, a.in_proj_bias, a.out_proj.weight, a.out_proj.bias])
        fill(source, [layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias])
        for i in range(len(attentions) + 1):
            fill_norm(source, getattr(layer, f"norm{i + 1}"))
    fill_norm(source, norm)
    tokens = source.take(VOCABULARY, WIDTH)
    output = source.take(VOCABULARY, WIDTH), source.take(VOCABULARY)
    source.take(2 * WIDTH, offset=0.0)  # the norm of an embedding, which is not used here
    return tokens, output


def embed(tokens, ids):
    ids = torch.tensor(ids)
    angles = torch.arange(ids.shape[1], dtype=torch.float64)[:, None] * 10000.0 ** (
        -torch.arange(0, WIDTH, 2, dtype=torch.float64) / WIDTH
    )
    positions = torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(ids.shape[1], WIDTH)
    return tokens[ids] * math.sqrt(WIDTH) + positions


def write(name, values):
    print(f"static const double {name}[] = {{")
    for value in values.flatten().tolist():
        print(f"    {value:.17g},")
    print("};")


def main():
    print("/* Written by transformer.py. */")
    for norm_first in (False, True):
        model = torch.nn.Transformer(
            WIDTH, HEADS, LAYERS, LAYERS, HIDDEN, 0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64
        )
        source = Source()
        source_tokens, _ = fill_stack(source, model.encoder.layers, model.encoder.norm)
        target_tokens, output = fill_stack(source, model.decoder.layers, model.decoder.norm)
        hidden = torch.arange(len(SOURCE[0]))[None, :] >= torch.tensor(SOURCE_LENGTHS)[:, None]
        causal = torch.nn.Transformer.generate_square_subsequent_mask(len(TARGET[0]), dtype=torch.float64)
        with torch.no_grad():
            rows = model(
                embed(source_tokens, SOURCE),
                embed(target_tokens, TARGET),
                tgt_mask=causal,
                src_key_padding_mask=hidden,
                memory_key_padding_mask=hidden,
            )
            write(f"logits_{'pre' if norm_first else 'post'}", rows @ output[0].T + output[1])


main()
