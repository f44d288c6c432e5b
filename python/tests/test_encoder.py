"""Attention layers, blocks and encoders: against float64, and the bits of their steps by single calls."""

import fovea
import numpy as np
import pytest
import reference
from fovea import nn

DIM, HEADS, HIDDEN = 32, 4, 64


def normal(seed, *shape, size=1.0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32) * np.float32(size)


class Weights:
    """Random weights of a block."""

    def __init__(self, seed):
        self.maps = [normal(seed + i, DIM, DIM, size=0.3) for i in range(4)]
        self.biases = [normal(seed + 10 + i, DIM) for i in range(4)]
        self.up, self.down = normal(seed + 20, HIDDEN, DIM, size=0.2), normal(seed + 21, DIM, HIDDEN, size=0.2)
        self.gate = normal(seed + 22, HIDDEN, DIM, size=0.2)
        self.norms = [(1 + normal(seed + 30 + i, DIM, size=0.1), normal(seed + 40 + i, DIM, size=0.1)) for i in range(2)]

    def attention(self, **options):
        return nn.Attention(*(nn.Linear(*each) for each in zip(self.maps, self.biases)), HEADS, **options)

    def block(self, gated=False, **options):
        gate = nn.Linear(self.gate) if gated else None
        return nn.Block(self.attention(), nn.LayerNorm(DIM, *self.norms[0]),
                        nn.Linear(self.up, activation="silu" if gated else "relu"), nn.Linear(self.down),
                        nn.LayerNorm(DIM, *self.norms[1]), gate=gate, **options)


def split(x):
    return x.reshape(*x.shape[:2], HEADS, -1).swapaxes(1, 2)


def layer_norm(x, gamma, beta):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def attention_of(weights, x, visible=True, memory=None):
    q, k, v = ((x if i == 0 or memory is None else memory) @ weights.maps[i].T.astype(float) + weights.biases[i]
               for i in range(3))
    o = reference.attention(split(q), split(k), split(v), visible)[0]
    return o.swapaxes(1, 2).reshape(x.shape) @ weights.maps[3].T.astype(float) + weights.biases[3]


def block_of(weights, x, visible=True, gated=False, norm_first=False):
    def feed(x):
        up = x @ weights.up.T.astype(float)
        up = up / (1 + np.exp(-up)) * (x @ weights.gate.T.astype(float)) if gated else np.maximum(up, 0)
        return up @ weights.down.T.astype(float)

    first, second = weights.norms
    if norm_first:
        x = x + attention_of(weights, layer_norm(x, *first), visible)
        return x + feed(layer_norm(x, *second))
    x = layer_norm(x + attention_of(weights, x, visible), *first)
    return layer_norm(x + feed(x), *second)


def test_attention():
    weights, x = Weights(1), normal(2, 3, 20, DIM)
    layer = weights.attention()
    reference.close(layer(x), attention_of(weights, x.astype(float)), 2e-5)
    causal = layer(x, causal=True)
    reference.close(causal, attention_of(weights, x.astype(float), reference.visible_pairs(20, 20, causal=True)), 2e-5)
    assert layer(x[1:2, :9], causal=True).tobytes() == causal[1:2, :9].tobytes()
    assert layer(x[1, :9], causal=True).tobytes() == causal[1, :9].tobytes()
    memory = normal(3, 3, 7, DIM)
    reference.close(layer(x, memory), attention_of(weights, x.astype(float), memory=memory.astype(float)), 2e-5)
    r = layer(x, residual=x, lse=True, scores="weights")
    assert r.o.tobytes() == (layer(x) + x).tobytes()
    assert r.lse.shape == (3, HEADS, 20) and r.scores.shape == (3, HEADS, 20, 20)
    reference.close(r.scores.sum(-1), np.ones((3, HEADS, 20)))
    packed = layer(x.reshape(60, DIM), cu_seqlens_q=[0, 20, 40, 60], cu_seqlens_kv=[0, 20, 40, 60], causal=True)
    assert packed.tobytes() == causal.tobytes()


def test_attention_is_its_steps():
    weights, x = Weights(4), normal(5, 2, 20, DIM)
    rotary = fovea.Rotary(DIM // HEADS)
    q, k, v = (split(nn.Linear(weights.maps[i], weights.biases[i])(x)) for i in range(3))
    o = fovea.attention(rotary.apply(q, first_position=5), rotary.apply(k, first_position=5), v, window=3)
    expected = nn.Linear(weights.maps[3], weights.biases[3])(np.ascontiguousarray(o.swapaxes(1, 2)).reshape(x.shape))
    assert weights.attention(rotary=rotary)(x, first_position=5, window=3).tobytes() == expected.tobytes()
    random = np.random.default_rng(5)
    options = {"mask": random.random((20, 20)) < 0.7, "sink": normal(6, HEADS), "terms": fovea.alibi(normal(7, HEADS)),
               "head_scales": random.random(HEADS), "row_scales": random.random((2, 20)),
               "shaw_values": normal(8, 9, DIM // HEADS)}
    o, lse = fovea.attention(q, k, v, lse=True, **options)
    expected = nn.Linear(weights.maps[3], weights.biases[3])(np.ascontiguousarray(o.swapaxes(1, 2)).reshape(x.shape))
    r = weights.attention()(x, lse=True, **options)
    assert r.o.tobytes() == expected.tobytes() and r.lse.tobytes() == lse.tobytes()


@pytest.mark.parametrize("options", [{}, {"gated": True}, {"norm_first": True}], ids=str)
def test_encoder(options):
    stack, x = [Weights(10), Weights(100)], normal(6, 3, 20, DIM)
    encoder = nn.Encoder([each.block(**options) for each in stack])
    expected = x.astype(float)
    for weights in stack:
        expected = block_of(weights, expected, **options)
    y = encoder(x)
    reference.close(y, expected, 5e-5)
    for threads in (1, 2, 3):
        assert encoder(x, threads=threads).tobytes() == y.tobytes()
    assert encoder(x[1:2]).tobytes() == y[1:2].tobytes()
    short = encoder(x, q_lens=[20, 12, 5], kv_lens=[20, 12, 5])
    assert short[1, :12].tobytes() == encoder(x[1, :12]).tobytes()
    assert short[2, :5].tobytes() == encoder(x[2, :5]).tobytes()
    assert encoder(x, out=x) is x and x.tobytes() == y.tobytes()


def test_embedding():
    weights, random = Weights(7), np.random.default_rng(7)
    tokens, places, types = normal(8, 50, DIM), normal(9, 24, DIM), normal(10, 2, DIM)
    norm = nn.LayerNorm(DIM, *weights.norms[0])
    encoder = nn.Encoder([weights.block()], embedding=nn.Embedding(tokens, positions=places, token_types=types),
                         embedding_norm=norm, final_norm=nn.RMSNorm(DIM))
    ids, kinds = random.integers(0, 50, (2, 20)), random.integers(0, 2, (2, 20))
    x = norm((tokens[ids] + types[kinds]) + places[:20])
    expected = nn.RMSNorm(DIM)(nn.Encoder([weights.block()])(x))
    assert encoder(ids, kinds).tobytes() == expected.tobytes()
    assert encoder(ids.astype(np.int32), kinds.astype(np.int32)).tobytes() == expected.tobytes()
    assert encoder(ids[1, :9], kinds[1, :9]).tobytes() == encoder(ids[1:, :9].copy(), kinds[1:, :9].copy()).tobytes()
    with pytest.raises(fovea.ArgumentError, match="ids.* is 50"):
        encoder(np.full((2, 20), 50), kinds)


def test_refused():
    weights, x = Weights(11), normal(12, 2, 5, DIM)
    layer, block = weights.attention(), weights.block()
    with pytest.raises(TypeError, match="query is a ndarray; it must be a fovea.nn.Linear"):
        nn.Attention(*weights.maps, HEADS)
    with pytest.raises(fovea.ArgumentError, match="heads is 5"):
        nn.Attention(*(nn.Linear(each) for each in weights.maps), 5)
    with pytest.raises(fovea.ArgumentError, match="memory has 1 batch elements, and x has 2"):
        layer(x, x[:1])
    with pytest.raises(TypeError, match="layer.. has no keyword 'state'"):
        layer(x, state=None)
    with pytest.raises(fovea.ArgumentError, match="blocks is empty"):
        nn.Encoder([])
    with pytest.raises(TypeError, match="a list of fovea.nn.Block"):
        nn.Encoder([layer])
    with pytest.raises(fovea.UnusedError, match="lse"):
        nn.Encoder([block])(x, lse=True)
    with pytest.raises(fovea.ArgumentError, match="its last axis must have 32"):
        nn.Encoder([block])(x[..., :16].copy())
    with pytest.raises(fovea.ArgumentError, match="ids has elements of float32"):
        nn.Encoder([block], embedding=nn.Embedding(normal(1, 5, DIM)))(x)


def test_attention_as_pytorch_has_it():
    """(rows, batch, dim), one more key and value, averaged weights."""
    weights, x, memory = Weights(21), normal(22, 3, 20, DIM), normal(23, 3, 7, DIM)
    layer, first = weights.attention(), weights.attention(rows_first=True)
    turned = first(x.swapaxes(0, 1).copy(), memory.swapaxes(0, 1).copy(), scores="weights")
    r = layer(x, memory, scores="weights")
    assert turned.o.swapaxes(0, 1).tobytes() == r.o.tobytes() and turned.scores.tobytes() == r.scores.tobytes()
    mean = weights.attention(average_scores=True)(x, memory, scores="weights")
    assert mean.o.tobytes() == r.o.tobytes() and mean.scores.shape == (3, 20, 7)
    reference.close(mean.scores, r.scores.astype(float).mean(1))
    bias = normal(24, DIM), normal(25, DIM)
    more = weights.attention(bias_key=bias[0], bias_value=bias[1])(x, memory, scores="weights", column_sums=True)
    q, k, v = ((x if i == 0 else memory) @ weights.maps[i].T.astype(float) + weights.biases[i] for i in range(3))
    k, v = (np.concatenate([np.broadcast_to(b, (3, 1, DIM)), each], 1) for b, each in zip(bias, (k, v)))
    o, _, expected = reference.attention(split(q), split(k), split(v))
    reference.close(more.scores, expected, 2e-5)
    reference.close(more.column_sums, expected.sum(2), 2e-5)
    y = o.swapaxes(1, 2).reshape(x.shape) @ weights.maps[3].T.astype(float) + weights.biases[3]
    reference.close(more.o, y, 2e-5)
    with pytest.raises(fovea.ArgumentError, match="bias_key has the shape .31,.; it must be .32,."):
        weights.attention(bias_key=bias[0][:31], bias_value=bias[1])
    with pytest.raises(fovea.ArgumentError, match="bias_value is NULL"):
        weights.attention(bias_key=bias[0])(x)
