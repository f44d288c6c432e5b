"""Decoders: cross-attention, caches, encoder-decoders; against float64, and steps have the bits of all rows at once."""

import fovea
import numpy as np
import pytest
import reference
from fovea import nn
from test_encoder import DIM, HEADS, Weights, attention_of, layer_norm, normal

LAYERS = 2


class DecoderWeights(Weights):
    """Random weights of a block with cross-attention."""

    def __init__(self, seed):
        super().__init__(seed)
        self.other = Weights(seed + 1000)

    def decoder_block(self, **options):
        return nn.Block(self.attention(), nn.LayerNorm(DIM, *self.norms[0]), nn.Linear(self.up, activation="relu"),
                        nn.Linear(self.down), nn.LayerNorm(DIM, *self.norms[1]), cross=self.other.attention(),
                        cross_norm=nn.LayerNorm(DIM, *self.other.norms[0]), **options)


def decoder_of(weights, x, memory, visible):
    """A block of a decoder, post-norm, in float64."""
    x = layer_norm(x + attention_of(weights, x, visible), *weights.norms[0])
    x = layer_norm(x + attention_of(weights.other, x, memory=memory), *weights.other.norms[0])
    up = np.maximum(x @ weights.up.T.astype(float), 0)
    return layer_norm(x + up @ weights.down.T.astype(float), *weights.norms[1])


STACK = [DecoderWeights(500), DecoderWeights(600)]
CAUSAL = reference.visible_pairs(12, 12, causal=True)
X, MEMORY = normal(50, 3, 12, DIM), normal(51, 3, 7, DIM)


def test_block():
    block = STACK[0].decoder_block()
    y = block(X, MEMORY, causal=True)
    reference.close(y, decoder_of(STACK[0], X.astype(float), MEMORY.astype(float), CAUSAL), 5e-5)
    for threads in (1, 2, 3):
        assert block(X, MEMORY, causal=True, threads=threads).tobytes() == y.tobytes()
    assert block(X[1, :5], MEMORY[1], causal=True).tobytes() == y[1, :5].tobytes()
    short = block(X, MEMORY, cross={"kv_lens": [7, 3, 1]}, causal=True)
    assert short[1].tobytes() == block(X[1], MEMORY[1, :3], causal=True).tobytes()
    packed = block(X.reshape(36, DIM), MEMORY.reshape(21, DIM), cross={"cu_seqlens_kv": [0, 7, 14, 21]}, causal=True,
                   cu_seqlens_q=[0, 12, 24, 36], cu_seqlens_kv=[0, 12, 24, 36])
    assert packed.tobytes() == y.tobytes()
    plain = STACK[0].block()
    assert plain(X).tobytes() == nn.Encoder([plain])(X).tobytes()


def test_decoder():
    decoder = nn.Encoder([each.decoder_block() for each in STACK])
    y, expected = decoder(X, memory=MEMORY, causal=True), X.astype(float)
    steps = X
    for weights in STACK:
        expected = decoder_of(weights, expected, MEMORY.astype(float), CAUSAL)
        steps = weights.decoder_block()(steps, MEMORY, causal=True)
    reference.close(y, expected, 1e-4)
    assert steps.tobytes() == y.tobytes()


@pytest.mark.parametrize("kind", ["contiguous", "paged", "ring"])
def test_steps_from_a_cache(kind):
    """A model of a language: causal blocks with rotary embeddings, row by row and in chunks."""
    rotary = fovea.Rotary(DIM // HEADS)

    def block(weights):
        return nn.Block(weights.attention(rotary=rotary), nn.RMSNorm(DIM), nn.Linear(weights.up, activation="silu"),
                        nn.Linear(weights.down), nn.RMSNorm(DIM), gate=nn.Linear(weights.gate), norm_first=True)

    model = nn.Encoder([block(each) for each in STACK], final_norm=nn.RMSNorm(DIM))
    whole = model(X, causal=True)
    for cuts in ((0, 12), (0, 5, 6, 7, 12)):
        sizes = (3, 16, 4) if kind == "paged" else (3, 16)
        cache = getattr(fovea.Cache, kind)(*sizes, HEADS, DIM // HEADS, layers=LAYERS)
        for begin, end in zip(cuts, cuts[1:]):
            y = model(X[:, begin:end].copy(), causal=True, cache=cache)
            assert cache.lens == [end] * 3
            assert y.tobytes() == whole[:, begin:end].tobytes()
    cache = fovea.Cache.contiguous(3, 16, HEADS, DIM // HEADS, layers=LAYERS)
    y = model(X, causal=True, cache=cache, q_lens=[12, 4, 9])
    assert cache.lens == [12, 4, 9] and y[1, :4].tobytes() == whole[1, :4].tobytes()
    y = model(X[:, 4:5].copy(), causal=True, cache=cache, q_lens=[0, 1, 0])
    assert cache.lens == [12, 5, 9] and y[1].tobytes() == whole[1, 4:5].tobytes()
    with pytest.raises(fovea.UnusedError, match="first_position is given, and a cache"):
        model(X[:, :1].copy(), causal=True, cache=cache, first_position=3)
    with pytest.raises(fovea.ArgumentError, match="x has 12 new rows for batch element 0, which has 12"):
        model(X, causal=True, cache=cache)
    assert cache.lens == [12, 5, 9]


def test_attention_over_a_cache():
    weights = STACK[1]
    layer = weights.attention()
    cache = fovea.Cache.contiguous(3, 16, HEADS, DIM // HEADS)
    whole = layer(X, causal=True)
    for begin, end in ((0, 7), (7, 12)):
        assert layer(X[:, begin:end].copy(), causal=True, cache=cache).tobytes() == whole[:, begin:end].tobytes()
    reads = nn.Attention(nn.Linear(weights.maps[0], weights.biases[0]), None, None,
                         nn.Linear(weights.maps[3], weights.biases[3]), HEADS)
    expected = layer(X[:, 11:].copy(), X)
    assert reads(X[:, 11:].copy(), cache=cache).tobytes() == expected.tobytes()
    assert cache.lens == [12] * 3
    with pytest.raises(fovea.UnusedError, match="memory is given, and the layer has no key"):
        reads(X, X, cache=cache)
    with pytest.raises(fovea.ArgumentError, match="cache has 3 sequences, and there are rows of 1"):
        layer(X[0], cache=cache)


def test_encoder_decoder():
    random = np.random.default_rng(52)
    tables = normal(53, 40, DIM), normal(54, 30, DIM)
    source, target = random.integers(0, 40, (3, 7)), random.integers(0, 30, (3, 12))
    output = nn.Linear(normal(55, 30, DIM, size=0.3))
    encoder = nn.Encoder([Weights(700).block()], embedding=nn.Embedding(tables[0]))
    decoder = nn.Encoder([each.decoder_block() for each in STACK], embedding=nn.Embedding(tables[1]))
    model = nn.EncoderDecoder(encoder, decoder, output=output)
    y = model(target, source, causal=True)
    assert y.shape == (3, 12, 30)
    memory = encoder(source)
    assert y.tobytes() == output(decoder(target, memory=memory, causal=True)).tobytes()
    assert y.tobytes() == model(target, memory=memory, causal=True).tobytes()
    lens = [7, 2, 5]
    padded = model(target, source, source_keywords={"q_lens": lens, "kv_lens": lens}, cross={"kv_lens": lens}, causal=True)
    assert padded[1].tobytes() == model(target[1], source[1, :2], causal=True).tobytes()

    cross = fovea.Cache.paged(3, 32, 4, HEADS, DIM // HEADS, layers=LAYERS)
    own = fovea.Cache.contiguous(3, 12, HEADS, DIM // HEADS, layers=LAYERS)
    model.prepare(encoder(source, q_lens=lens, kv_lens=lens), cross, kv_lens=lens)
    assert cross.lens == lens
    for i in range(12):
        step = model(target[:, i : i + 1].copy(), cross={"cache": cross}, cache=own, causal=True)
        assert step.tobytes() == padded[:, i : i + 1].tobytes()
    with pytest.raises(fovea.ArgumentError, match="cache has 7 rows of batch element 0"):
        model.prepare(memory, cross)


def test_scores_of_all_layers():
    """A stack has the scores of its blocks, and a block those of its attention."""
    blocks = [each.decoder_block() for each in STACK]
    cross = np.empty((LAYERS, 3, HEADS, 12, 7), np.float32)
    r = nn.Encoder(blocks)(X, memory=MEMORY, causal=True, scores="weights",
                           cross={"scores": "weights", "scores_out": cross})
    assert r.scores.shape == (LAYERS, 3, HEADS, 12, 12)
    x = X
    for block, weights, own, other in zip(blocks, STACK, r.scores, cross):
        single = np.empty((3, HEADS, 12, 7), np.float32)
        y = block(x, MEMORY, causal=True, scores="weights", lse=True,
                  cross={"scores": "weights", "scores_out": single})
        alone = weights.attention()(x, causal=True, scores="weights", lse=True)
        assert y.scores.tobytes() == alone.scores.tobytes() == own.tobytes() and y.lse.tobytes() == alone.lse.tobytes()
        middle = nn.LayerNorm(DIM, *weights.norms[0])(x, residual=alone.o)
        assert weights.other.attention()(middle, MEMORY, scores="weights").scores.tobytes() == single.tobytes()
        assert single.tobytes() == other.tobytes()
        x = y.o
    assert r.o.tobytes() == x.tobytes()
    reference.close(cross.sum(-1), np.ones((LAYERS, 3, HEADS, 12)))
    with pytest.raises(fovea.ArgumentError, match="cross wants scores and has no scores_out"):
        blocks[0](X, MEMORY, cross={"scores": "raw"})
    with pytest.raises(fovea.ArgumentError, match="scores_out has the shape .3, 4, 12, 7.; it must be .2, 3, 4, 12, 7."):
        nn.Encoder(blocks)(X, memory=MEMORY, cross={"scores": "raw", "scores_out": single})
    with pytest.raises(fovea.ArgumentError, match="source_keywords wants scores and has no scores_out"):
        model = nn.EncoderDecoder(nn.Encoder([STACK[0].block()]), nn.Encoder(blocks))
        model(X, MEMORY, source_keywords={"scores": "raw"})


def test_refused():
    block, plain = STACK[0].decoder_block(), STACK[0].block()
    with pytest.raises(fovea.ArgumentError, match="memory is None; cross-attention needs it"):
        block(X)
    with pytest.raises(fovea.UnusedError, match="memory is given, and the layers have no cross-attention"):
        plain(X, MEMORY)
    with pytest.raises(fovea.UnusedError, match="cross is given"):
        nn.Encoder([plain])(X, cross={})
    with pytest.raises(TypeError, match="cross is a list; it must be a dict"):
        block(X, MEMORY, cross=[1])
    with pytest.raises(TypeError, match="no keyword 'casual'"):
        block(X, MEMORY, cross={"casual": True})
    with pytest.raises(fovea.ArgumentError, match="memory has 1 batch elements, and x has 3"):
        block(X, MEMORY[:1])
    with pytest.raises(fovea.ArgumentError, match="x has elements of float64; they must be float32"):
        block(X.astype(float), MEMORY)
    with pytest.raises(fovea.ArgumentError, match="x.strides"):
        block(normal(1, 3, 12, 2 * DIM)[..., ::2], MEMORY)
    with pytest.raises(fovea.UnusedError, match="cross_norm is given, and cross not"):
        nn.Block(STACK[0].attention(), nn.LayerNorm(DIM), nn.Linear(STACK[0].up), nn.Linear(STACK[0].down),
                 nn.LayerNorm(DIM), cross_norm=nn.LayerNorm(DIM))
    with pytest.raises(fovea.ArgumentError, match="decoder has no cross-attention"):
        nn.EncoderDecoder(nn.Encoder([plain]), nn.Encoder([plain]))
    with pytest.raises(TypeError, match="encoder is a Block; it must be a fovea.nn.Encoder"):
        nn.EncoderDecoder(plain, nn.Encoder([block]))
