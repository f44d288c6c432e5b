"""Variants of attention: against float64, and the same bits for threads, chunks and batches."""

import fovea
import numpy as np
import pytest
import reference
from fovea import nn
from test_encoder import normal


def swap(x):
    return np.swapaxes(x, -1, -2)


# ---- Linear attention ------------------------------------------------------------------------------------------------


def recurrence(rule, q, k, v, decay, beta, state):
    """Token by token, in float64; decay is the logarithm."""
    rows = []
    for t in range(q.shape[2]):
        if "gated" in rule:
            state = state * np.exp(decay[:, :, t])[..., None, None]
        learns = v[:, :, t]
        if "delta" in rule:
            learns = learns - np.einsum("bhkv,bhk->bhv", state, k[:, :, t])
        state = state + np.einsum("bhk,bhv->bhkv", k[:, :, t], learns * beta[:, :, t, None])
        rows.append(np.einsum("bhkv,bhk->bhv", state, q[:, :, t]) / np.sqrt(q.shape[-1]))
    return np.stack(rows, 2), state


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention(rule):
    q, k, v = normal(1, 2, 3, 20, 16, size=0.3), normal(2, 2, 3, 20, 16, size=0.2), normal(3, 2, 3, 20, 8)
    decay, beta = -np.abs(normal(4, 2, 3, 20)), np.abs(normal(5, 2, 3, 20, size=0.5))
    given = {"decay": decay, "beta": beta} if "gated" in rule else {"beta": beta}
    layer = nn.LinearAttention(rule, 3, 16, 8)
    state = np.empty((2, 3, 16, 8), np.float32)
    o = layer(q, k, v, present=state, **given)
    expected = recurrence(rule, *(x.astype(float) for x in (q, k, v, decay, beta)), np.zeros((2, 3, 16, 8)))
    reference.close(o, expected[0], 5e-6)
    reference.close(state, expected[1], 5e-6)
    assert layer(q, k, v, threads=2, **given).tobytes() == o.tobytes()
    past, parts = np.zeros_like(state), []
    for begin, end in ((0, 7), (7, 8), (8, 20)):
        some = {name: each[:, :, begin:end] for name, each in given.items()}
        parts.append(layer(*(x[:, :, begin:end] for x in (q, k, v)), past=past, present=past, **some))
    assert np.concatenate(parts, 2).tobytes() == o.tobytes() and past.tobytes() == state.tobytes()
    one = {name: each[1] for name, each in given.items()}
    assert layer(q[1], k[1], v[1], **one).tobytes() == o[1].tobytes()
    short = layer(q, k, v, token_lens=[20, 6], **given)
    assert short[1, :, :6].tobytes() == o[1, :, :6].tobytes() and not short[1, :, 6:].any()


def test_linear_attention_of_groups():
    q, k, v = normal(6, 1, 2, 9, 16), normal(7, 1, 2, 9, 16), normal(8, 1, 4, 9, 8)
    layer = nn.LinearAttention("linear", 4, 16, 8, q_heads=2, k_heads=2, unit=True, scale=1.0)
    unit = lambda x: np.repeat(x / np.sqrt((x.astype(float) ** 2).sum(-1, keepdims=True) + 1e-6), 2, 1)
    zeros, ones = np.zeros((1, 4, 9)), np.ones((1, 4, 9))
    expected = recurrence("linear", unit(q), unit(k), v.astype(float), zeros, ones, np.zeros((1, 4, 16, 8)))[0] * 4
    reference.close(layer(q, k, v), expected, 5e-6)
    packed = layer(q, k, v, cu_seqlens=[0, 4, 9])
    assert packed[:, :, :4].tobytes() == layer(*(x[:, :, :4] for x in (q, k, v))).tobytes()
    assert packed[:, :, 4:].tobytes() == layer(*(x[:, :, 4:] for x in (q, k, v))).tobytes()
    with pytest.raises(fovea.ArgumentError, match="k has the shape .1, 2, 9, 16.; it must be .1, 4, 9, 16."):
        nn.LinearAttention("linear", 4, 16, 8)(np.repeat(q, 2, 1), k, v)
    with pytest.raises(fovea.ArgumentError, match="decay"):
        nn.LinearAttention("gated", 4, 16, 8)(*(np.repeat(x, 2, 1) for x in (q, k)), v)
    with pytest.raises(fovea.UnusedError, match="decay"):
        layer(q, k, v, decay=np.zeros((1, 4, 9), np.float32))
    with pytest.raises(fovea.ArgumentError, match="rule is 'fast'"):
        nn.LinearAttention("fast", 4, 16, 8)
    with pytest.raises(fovea.ArgumentError, match="past has elements of float64"):
        layer(q, k, v, past=np.zeros((1, 4, 16, 8)))


# ---- Performer -------------------------------------------------------------------------------------------------------


def test_performer():
    projection = nn.random_features(64, 16, seed=3)
    assert projection.tobytes() == nn.random_features(128, 16, seed=3, threads=2)[:64].tobytes()
    q, k, v = normal(9, 2, 2, 12, 16, size=0.5), normal(10, 2, 2, 12, 16, size=0.5), normal(11, 2, 2, 12, 8)

    def features(x):
        x = x.astype(float) * 16**-0.25
        return (np.exp(x @ projection.T.astype(float) - (x**2).sum(-1, keepdims=True) / 2) + 1e-4) / 8

    layer = nn.Performer(projection)
    reference.close(layer.features(q), features(q), 5e-6)
    a, b = features(q), features(k)
    pairs = a @ swap(b)
    reference.close(layer(q, k, v), pairs @ v / pairs.sum(-1, keepdims=True), 2e-5)
    assert layer(q, k, v, threads=2).tobytes() == layer(q, k, v).tobytes()
    causal = nn.Performer(projection, causal=True)
    o, lower = causal(q, k, v), pairs * np.tril(np.ones((12, 12)))
    reference.close(o, lower @ v / lower.sum(-1, keepdims=True), 2e-5)
    state, parts = np.zeros((2, 2, causal.state_numbers(8)), np.float32), []
    for begin, end in ((0, 5), (5, 6), (6, 12)):
        parts.append(causal(*(x[:, :, begin:end] for x in (q, k, v)), state=state))
    assert np.concatenate(parts, 2).tobytes() == o.tobytes()
    with pytest.raises(fovea.ArgumentError, match="state has the shape"):
        causal(q, k, v, state=np.zeros((2, 2, 5), np.float32))
    with pytest.raises(fovea.ArgumentError, match="q has the shape .2, 2, 12, 8.; it must be .2, 2, 12, 16."):
        layer(v, k, v)
    with pytest.raises(fovea.Error, match="stabiliser"):
        nn.Performer(projection, causal=True, stabiliser="max")(q, k, v)


# ---- Linformer, differential and latent attention --------------------------------------------------------------------


def test_linformer():
    q, k, v = reference.tensors(12, rows=9, keys=30, heads=4, kv_heads=2, dim=16)
    e, f = normal(13, 40, 6), normal(14, 40, 6)
    layer = nn.Linformer(e, f)
    shorter = lambda x, of: np.einsum("bhnd,nk->bhkd", x.astype(float), of[:30].astype(float))
    expected = reference.attention(q, shorter(k, e), shorter(v, f))[0]
    reference.close(layer(q, k, v), expected, 2e-5)
    o, lse = layer(q, k, v, kv_lens=[30, 11], lse=True, threads=2)
    assert o[1].tobytes() == layer(q[1], k[1, :, :11], v[1, :, :11]).tobytes() and lse.shape == (2, 4, 9)
    with pytest.raises(fovea.Error, match="causal"):
        layer(q, k, v, causal=True)
    with pytest.raises(fovea.ArgumentError, match="value_projection has the shape .40, 5.; it must be .40, 6."):
        nn.Linformer(e, f[:, :5].copy())
    with pytest.raises(fovea.ArgumentError, match="kv_len"):
        nn.Linformer(e[:20])(q, k, v)


def test_differential():
    q1, k1, v = reference.tensors(15, rows=9, keys=9, dim=16, v_dim=24)
    q2, k2, _ = reference.tensors(16, rows=9, keys=9, dim=16)
    gamma, visible = 1 + normal(17, 24, size=0.1), reference.visible_pairs(9, 9, causal=True)
    vectors = [normal(18 + i, 16, size=0.3) for i in range(4)]
    rate = nn.differential_lambda(*vectors, 0.4)
    a, b, c, d = (x.astype(float) for x in vectors)
    assert abs(rate - (np.exp(a @ b) - np.exp(c @ d) + 0.4)) < 1e-5
    layer = nn.Differential(rate, 0.4, gamma=gamma)
    o = layer(q1, k1, q2, k2, v, causal=True)
    expected = reference.attention(q1, k1, v, visible)[0] - rate * reference.attention(q2, k2, v, visible)[0]
    expected = expected / np.sqrt((expected**2).mean(-1, keepdims=True) + 1e-5) * gamma * (1 - 0.4)
    reference.close(o, expected, 5e-5)
    assert layer(q1, k1, q2, k2, v, causal=True, threads=2).tobytes() == o.tobytes()
    assert layer(*(x[1] for x in (q1, k1, q2, k2, v)), causal=True).tobytes() == o[1].tobytes()
    padded = layer(q1, k1, q2, k2, v, causal=True, padding=[0, 3])
    assert padded[0].tobytes() == o[0].tobytes()
    alone = layer(q1[1], k1[1, :, 3:], q2[1], k2[1, :, 3:], v[1, :, 3:], causal=True, offset=-3)
    assert padded[1].tobytes() == alone.tobytes()
    with pytest.raises(fovea.ArgumentError, match="k is not as the plan"):
        layer(q1, k1, q2, k2.astype(np.float16), v)
    with pytest.raises(fovea.UnusedError, match="lse"):
        layer(q1, k1, q2, k2, v, lse=True)
    with pytest.raises(fovea.ArgumentError, match="v has 16 dims; gamma has 24"):
        layer(q1, k1, q2, k2, v[..., :16].copy())


RANK, NOPE, ROPE, V_DIM, HEADS, DIM = 24, 16, 8, 16, 4, 40


class LatentWeights:
    def __init__(self):
        self.q = normal(30, HEADS * (NOPE + ROPE), DIM, size=0.2)
        self.kv_a = normal(31, RANK + ROPE, DIM, size=0.2)
        self.kv_b = normal(32, HEADS * (NOPE + V_DIM), RANK, size=0.2)
        self.o = normal(33, DIM, HEADS * V_DIM, size=0.2)
        self.norm = 1 + normal(34, RANK, size=0.1)
        self.rotary = fovea.Rotary(ROPE, layout="interleaved")

    def layer(self, **options):
        return nn.LatentAttention(HEADS, RANK, NOPE, ROPE, V_DIM, q_b_proj=nn.Linear(self.q),
                                  kv_a_proj=nn.Linear(self.kv_a), kv_b_weight=self.kv_b, o_proj=nn.Linear(self.o),
                                  kv_a_layernorm=nn.RMSNorm(RANK, self.norm), rotary=self.rotary, **options)

    def rotated(self, x):
        angles = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-2 * np.arange(ROPE // 2) / ROPE)
        a, b = x[..., ::2], x[..., 1::2]
        pair = a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)
        return np.stack(pair, -1).reshape(x.shape)

    def expected(self, x, visible):
        heads = lambda y: y.reshape(*y.shape[:2], HEADS, -1).swapaxes(1, 2)
        x = x.astype(float)
        q, c = heads(x @ self.q.T), x @ self.kv_a.T
        c, k_rope = c[..., :RANK], self.rotated(c[:, None, :, RANK:])
        c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-5) * self.norm
        kv = heads(c @ self.kv_b.T)
        q = np.concatenate([q[..., :NOPE], self.rotated(q[..., NOPE:])], -1)
        k = np.concatenate([kv[..., :NOPE], np.repeat(k_rope, HEADS, 1)], -1)
        o = reference.attention(q, k, kv[..., NOPE:], visible)[0]
        return o.swapaxes(1, 2).reshape(*x.shape[:2], -1) @ self.o.T


@pytest.mark.parametrize("absorbed", [False, True])
def test_latent(absorbed):
    weights, x = LatentWeights(), normal(35, 2, 11, DIM)
    layer = weights.layer(absorbed=absorbed)
    y = layer(x, causal=True)
    reference.close(y, weights.expected(x, reference.visible_pairs(11, 11, causal=True)), 5e-5)
    assert layer(x, causal=True, threads=2).tobytes() == y.tobytes()
    assert layer(x[1, :6], causal=True).tobytes() == y[1, :6].tobytes()
    assert layer(x, x, causal=True).tobytes() == (y + x).tobytes()
    cache = fovea.Cache.paged(2, 8, 4, 1, RANK + ROPE, v_dim=RANK, values=False)
    for begin, end in ((0, 6), (6, 7), (7, 11)):
        step = layer(x[:, begin:end].copy(), causal=True, cache=cache)
        assert step.tobytes() == y[:, begin:end].tobytes()
    assert cache.lens == [11, 11] and cache.nbytes == 4 * 8 * 4 * (RANK + ROPE)
    with pytest.raises(fovea.UnusedError, match="scores"):
        layer(x, scores="weights")
    with pytest.raises(fovea.ArgumentError, match="x has the shape .2, 11, 39."):
        layer(x[..., :39].copy())
    with pytest.raises(fovea.ArgumentError, match="values is False"):
        fovea.Cache.contiguous(2, 8, 1, 8, v_dim=9, values=False)


# ---- Some keys of each row -------------------------------------------------------------------------------------------


def test_longformer():
    length, window, heads, dim = 40, 5, 2, 16
    states = np.zeros((2, length), np.int8)
    states[0, [0, 17]], states[1, 0], states[1, 30:] = 1, 1, -1
    x = normal(40, 2, length, 32)
    weights = [normal(41 + i, heads * dim, 32, size=0.3) for i in range(6)]
    out = nn.Linear(normal(50, 32, heads * dim, size=0.3))
    layers = [nn.Linear(each) for each in weights]
    y = nn.Longformer(2, heads, length, dim, window, states=states)(
        x, *layers[:3], global_query=layers[3], global_key=layers[4], global_value=layers[5], output=out)
    split = lambda x: x.reshape(2, length, heads, dim).swapaxes(1, 2)
    q, k, v, gq, gk, gv = (split(x.astype(float) @ each.T) for each in weights)
    real, is_global = states >= 0, (states == 1)[:, None, :, None]
    near = reference.visible_pairs(length, length, window=(window, window), offset=0)
    visible = (near | (states == 1)[:, None]) & real[:, None] & real[:, :, None]
    local = reference.attention(q, k, v, visible[:, None])[0]
    whole = reference.attention(gq, gk, gv, (real[:, None] & real[:, :, None])[:, None])[0]
    o = np.where(is_global, whole, local).swapaxes(1, 2).reshape(2, length, -1)
    reference.close(nn.Linear(np.eye(32, dtype=np.float32))(y), o @ normal(50, 32, 32, size=0.3).T.astype(float), 5e-5)
    again = nn.Longformer(2, heads, length, dim, window, states=states)(
        x, *layers[:3], global_query=layers[3], global_key=layers[4], global_value=layers[5], output=out, threads=2)
    assert again.tobytes() == y.tobytes()
    with pytest.raises(fovea.ArgumentError, match="states has elements of int64; they must be int8"):
        nn.Longformer(2, heads, length, dim, window, states=states.astype(int))
    with pytest.raises(fovea.ArgumentError, match="x has the shape .2, 39, 32.; it must have 80 rows"):
        nn.Longformer(2, heads, length, dim, window)(x[:, :39].copy(), *layers[:3])
    with pytest.raises(fovea.ArgumentError, match="window is -1"):
        nn.Longformer(2, heads, length, dim, -1)


def test_bigbird():
    pattern = nn.bigbird(640, block_size=64, chosen=2, seed=5, heads=2)
    blocks = np.array([[[pattern.sees(64 * i, 64 * j, head) for j in range(10)] for i in range(10)] for head in (0, 1)])
    assert blocks[:, [0, 9]].all() and blocks[:, :, [0, 9]].all()
    assert all(blocks[:, i, i + by].all() for i in range(1, 9) for by in (-1, 0, 1))
    assert (blocks[:, 2:8].sum(-1) == 3 + 2 + 2).all()
    q, k, v = reference.tensors(51, batch=1, heads=2, kv_heads=2, rows=640, keys=640, dim=8)
    visible = np.repeat(np.repeat(blocks, 64, 1), 64, 2)[None]
    o = fovea.attention(q, k, v, pattern=pattern)
    assert o.tobytes() == fovea.attention(q, k, v, mask=visible).tobytes()
    with pytest.raises(fovea.ArgumentError, match="block_size is 0"):
        nn.bigbird(64, block_size=0)


def lsh_buckets(x, rotations):
    """(batch, heads, rounds, length), of (dim, rounds, columns)."""
    products = np.einsum("bhnd,drc->bhrnc", x.astype(float), rotations.astype(float))
    return np.concatenate([products, -products], -1).argmax(-1)


def test_lsh():
    length, dim, size = 32, 16, 8
    x, v = normal(60, 2, 2, length, dim), normal(61, 2, 2, length, 8)
    layer = nn.LSH(dim, rounds=2, bucket_size=size, buckets=4, causal=True, ring="within_round")
    rotations = normal(62, dim, 2, layer.columns)
    y, buckets = layer(x, v, rotations, bucket_numbers=True)
    expected = lsh_buckets(x, rotations)
    assert (buckets == expected).all()
    keys = x.astype(float) / np.sqrt((x.astype(float) ** 2).mean(-1, keepdims=True) * dim)
    scores = np.einsum("bhid,bhjd->bhij", x.astype(float), keys) * dim**-0.5
    counts = np.zeros(scores.shape, int)
    for r in range(2):
        order = np.argsort(expected[:, :, r] * length + np.arange(length), axis=-1)
        chunk = np.empty_like(order)
        np.put_along_axis(chunk, order, np.broadcast_to(np.arange(length) // size, order.shape), -1)
        behind = (chunk[..., :, None] - chunk[..., None, :]) % (length // size)
        counts += behind <= 1
    counts *= np.tril(np.ones((length, length), int))
    own = np.eye(length, dtype=bool)
    others = np.where(own, 0, counts)
    alone = others.sum(-1, keepdims=True) == 0
    weights = np.where(alone, own, others * np.exp(scores))
    weights = weights / weights.sum(-1, keepdims=True)
    reference.close(y, weights @ v.astype(float), 2e-5)
    assert layer(x, v, rotations, threads=2).tobytes() == y.tobytes()
    assert layer(x[1], v[1], rotations).tobytes() == y[1].tobytes()
    with pytest.raises(fovea.ArgumentError, match="rotations has the shape .16, 2, 3.; it must be .16, 2, 2."):
        layer(x, v, normal(1, 16, 2, 3))
    with pytest.raises(fovea.ArgumentError, match="buckets is 3"):
        nn.LSH(dim, rounds=2, bucket_size=size, buckets=3)(x, v, normal(1, 16, 2, 1))


def test_select_keys():
    q, k, weights = normal(70, 2, 3, 10, 16), normal(71, 2, 40, 16), normal(72, 2, 10, 3)
    keys = nn.select_keys(q, k, weights, 5)
    products = np.maximum(np.einsum("bhid,bjd->bhij", q.astype(float), k.astype(float)), 0)
    index = np.einsum("bhij,bih->bij", products, weights.astype(float))
    index = np.where(reference.visible_pairs(10, 40, causal=True), index, -np.inf)
    assert (keys == np.argsort(-index, axis=-1, kind="stable")[..., :5]).all()
    assert (nn.select_keys(q, k, weights, 5, threads=2) == keys).all()
    first = nn.select_keys(q, k, weights, 5, offset=0)
    assert (first[:, 0] == [0, -1, -1, -1, -1]).all()
    with pytest.raises(fovea.ArgumentError, match="weights has the shape .2, 10, 2.; it must be .2, 10, 3."):
        nn.select_keys(q, k, weights[..., :2].copy(), 5)
    with pytest.raises(fovea.ArgumentError, match="top_k is 0"):
        nn.select_keys(q, k, weights, 0)


# ---- Graphs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["transformer", "gat", "gatv2"])
def test_graph(kind):
    random = np.random.default_rng(80)
    nodes, heads, dim = 9, 2, 12
    counts = random.integers(0, 5, nodes)
    starts, sources = np.cumsum([0, *counts]), random.integers(0, nodes, counts.sum())
    q, k, v = (normal(81 + i, nodes, heads, dim) for i in range(3))
    features, of_edges = normal(84, len(sources), 6), normal(85, heads * dim, 6, size=0.3)
    a = {name: normal(86 + i, heads, dim) for i, name in enumerate(("a_to", "a_from", "a_edge", "a"))}
    used = {"transformer": (), "gat": ("a_to", "a_from", "a_edge"), "gatv2": ("a",)}[kind]
    layer = nn.GraphAttention(kind, heads, dim, edge=nn.Linear(of_edges), bias=normal(90, heads * dim),
                              **{name: a[name] for name in used})
    values = (v,) if kind == "transformer" else ()
    given = {"edge_starts": starts, "edge_sources": sources, "features": features}
    y, weights, lse = layer(q, k, *values, weights=True, lse=True, **given)
    e = (features.astype(float) @ of_edges.T).reshape(-1, heads, dim)
    leaky = lambda x: np.where(x > 0, x, 0.2 * x)
    expected = np.zeros((nodes, heads, dim)) + normal(90, heads * dim).reshape(heads, dim)
    for i in range(nodes):
        some = slice(starts[i], starts[i + 1])
        j, to = sources[some], q[i].astype(float)
        if not len(j):
            continue
        if kind == "transformer":
            scores, of_keys = ((k[j] + e[some]) * to).sum(-1) / np.sqrt(dim), v[j] + e[some]
        elif kind == "gat":
            scores, of_keys = leaky((a["a_to"] * to).sum(-1) + (a["a_from"] * k[j]).sum(-1)
                                    + (a["a_edge"] * e[some]).sum(-1)), k[j]
        else:
            scores, of_keys = (a["a"] * leaky(to + k[j] + e[some])).sum(-1), k[j]
        each = np.exp(scores - scores.max(0))
        each /= each.sum(0)
        expected[i] += (each[..., None] * of_keys).sum(0)
        reference.close(weights[some], each, 2e-5)
        reference.close(lse[i], scores.max(0) + np.log(np.exp(scores - scores.max(0)).sum(0)), 2e-5)
    reference.close(y, expected, 2e-5)
    assert layer(q, k, *values, threads=2, **given).tobytes() == y.tobytes()
    with pytest.raises(fovea.ArgumentError, match="edge_starts has 9 numbers"):
        layer(q, k, *values, **(given | {"edge_starts": starts[:-1]}))
    with pytest.raises(fovea.ArgumentError, match="edge_starts goes from 1"):
        layer(q, k, *values, **(given | {"edge_starts": np.r_[1, starts[1:]]}))
    with pytest.raises(fovea.ArgumentError, match="edge_sources"):
        layer(q, k, *values, **(given | {"edge_sources": np.full(len(sources), nodes)}))
    with pytest.raises(fovea.ArgumentError, match="k has the shape .9, 2, 11.; it must be .9, 2, 12."):
        layer(q, k[..., :11].copy(), *values, **given)


def test_mean_of_heads():
    q, k = normal(91, 3, 2, 8), normal(92, 3, 2, 8)
    edges = {"edge_starts": [0, 2, 3, 3], "edge_sources": [0, 1, 2]}
    whole = nn.GraphAttention("gatv2", 2, 8, a=normal(93, 2, 8))(q, k, **edges)
    mean = nn.GraphAttention("gatv2", 2, 8, a=normal(93, 2, 8), average_heads=True)(q, k, **edges)
    assert mean.shape == (3, 8)
    reference.close(mean, whole.astype(float).mean(1))
