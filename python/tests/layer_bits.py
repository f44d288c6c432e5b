"""Prints a hash of the outputs of every layer of fovea.nn: python layer_bits.py THREADS. FOVEA_ISA caps the set."""

import hashlib
import sys

import fovea
import numpy as np
from fovea import nn

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 0
DIM, HEADS, ROWS = 64, 4, 70


def normal(seed, *shape, size=1.0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32) * np.float32(size)


def linear(seed, out, dim, **options):
    return nn.Linear(normal(seed, out, dim, size=dim**-0.5), normal(seed + 1, out), **options)


def block(seed, cross=False):
    attentions = [nn.Attention(*(linear(seed + 10 * i + j, DIM, DIM) for j in range(4)), HEADS) for i in range(2)]
    return nn.Block(attentions[0], nn.LayerNorm(DIM), linear(seed + 50, 96, DIM, activation="gelu"),
                    linear(seed + 52, DIM, 96), nn.LayerNorm(DIM), cross=attentions[1] if cross else None,
                    cross_norm=nn.RMSNorm(DIM) if cross else None)


def outputs():
    threads = {"threads": THREADS}
    x, memory = normal(1, 2, ROWS, DIM), normal(2, 2, 30, DIM)
    heads = normal(3, 2, HEADS, ROWS, 16), normal(4, 2, HEADS, ROWS, 16), normal(5, 2, HEADS, ROWS, 16)
    codes = np.random.default_rng(6).integers(0, 120, (80, DIM)).astype(np.uint8)
    yield "linear", linear(10, 80, DIM, activation="silu")(x, **threads)
    yield "linear, bf16", nn.Linear(normal(11, 80, DIM).astype(np.float16), activation="elu")(x, **threads)
    yield "linear, int8", nn.Linear(normal(12, 80, DIM), quantise=True, mode="int8")(x, **threads)
    yield "linear, e4m3", nn.Linear.of_codes("e4m3", DIM, 80, codes, group=32, group_outs=16,
                                             scales=normal(13, 5, 2))(x, **threads)
    yield "norm", nn.LayerNorm(DIM)(x, **threads)
    yield "softmax", nn.softmax(x, **threads)
    yield "sinusoids", nn.add_sinusoids(x, **threads)
    yield "dropout", nn.dropout(x, 0.3, seed=5, **threads)
    yield "encoder", nn.Encoder([block(100), block(200)])(x, window=9, **threads)
    decoder = nn.Encoder([block(300, True), block(400, True)])
    yield "decoder", decoder(x, memory=memory, causal=True, **threads)
    cache = fovea.Cache.paged(2, 40, 16, HEADS, 16, layers=2)
    cuts = ((0, 65), (65, 66), (66, ROWS))
    yield "steps", [decoder(x[:, a:b].copy(), memory=memory, causal=True, cache=cache, **threads) for a, b in cuts]
    yield "encoder-decoder", nn.EncoderDecoder(nn.Encoder([block(500)]), decoder, output=linear(600, 33, DIM))(
        x, memory, causal=True, **threads)
    stream = nn.Stream([block(700), block(800)], 8, window=(5, 3))
    yield "stream", [stream.push(x[0, :31], **threads), stream.push(x[0, 31:], **threads), stream.finish(**threads)]
    additive = nn.Additive(normal(14, 32), linear(900, 32, DIM), linear(910, 32, DIM))
    yield "additive", additive(x, memory, memory, **threads)
    yield "gru", nn.GRUCell(linear(920, 60, DIM), linear(930, 60, 20))(x[0], normal(15, ROWS, 20), **threads)
    yield "lstm", nn.LSTMCell(linear(940, 80, DIM), linear(950, 80, 20))(x[0], *normal(16, 2, ROWS, 20), **threads)
    yield "linear attention", nn.LinearAttention("gated_delta", HEADS, 16, 16, unit=True)(
        *heads, decay=-np.abs(heads[0][..., 0]), beta=np.abs(heads[1][..., 0]), **threads)
    projection = nn.random_features(40, 16, seed=2, **threads)
    yield "performer", nn.Performer(projection, causal=True)(*(each / 2 for each in heads), **threads)
    yield "linformer", nn.Linformer(normal(17, ROWS, 20))(*heads, **threads)
    yield "differential", nn.Differential(0.3, 0.5)(*heads[:2], heads[1], heads[0], heads[2], causal=True, **threads)
    latent = [nn.LatentAttention(HEADS, 24, 16, 8, 16, q_b_proj=linear(960, 96, DIM), kv_a_proj=linear(961, 32, DIM),
                                 kv_b_weight=normal(962, 128, 24, size=0.2), o_proj=linear(963, DIM, 64),
                                 rotary=fovea.Rotary(8), absorbed=absorbed) for absorbed in (False, True)]
    yield "latent", [each(x, causal=True, **threads) for each in latent]
    layers = [linear(970 + i, 64, DIM) for i in range(3)]
    yield "longformer", nn.Longformer(2, HEADS, ROWS, 16, 7)(x, *layers, **threads)
    yield "bigbird", fovea.attention(*heads, pattern=nn.bigbird(ROWS, block_size=8, chosen=1), **threads)
    lsh = nn.LSH(16, rounds=2, bucket_size=16, buckets=8)
    yield "lsh", lsh(heads[0], heads[2], normal(18, 16, 2, lsh.columns), **threads)
    yield "selection", nn.select_keys(heads[0], heads[1][:, 0], normal(19, 2, ROWS, HEADS), 9, **threads)
    sources = np.random.default_rng(20).integers(0, ROWS, 5 * ROWS)
    nodes = [each[0].swapaxes(0, 1) for each in heads]
    yield "graph", nn.GraphAttention("gatv2", HEADS, 16, a=normal(21, HEADS, 16))(
        *nodes[:2], edge_starts=np.arange(0, 5 * ROWS + 1, 5), edge_sources=sources, **threads)


if __name__ == "__main__":
    for name, output in outputs():
        parts = output if isinstance(output, (list, tuple)) else [output]
        print(name, hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in parts)).hexdigest())
