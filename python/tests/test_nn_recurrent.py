"""Additive attention, cells of recurrent networks, embeddings, positions, dropout: against float64."""

import fovea
import numpy as np
import pytest
import reference
from fovea import nn
from test_encoder import normal


def additive(q, k, v, w, visible=True, activation=np.tanh):
    scores = (activation(q[:, :, None] + k[:, None]) * w).sum(-1)
    scores = np.where(visible, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total > 0, total, 1)
    return weights @ v, weights


def test_additive():
    q, k, v, w = normal(1, 2, 5, 24), normal(2, 2, 9, 20), normal(3, 2, 9, 7), normal(4, 16)
    of_q, of_k, bias = normal(5, 16, 24, size=0.3), normal(6, 16, 20, size=0.3), normal(7, 16)
    layer = nn.Additive(w, nn.Linear(of_q, bias), nn.Linear(of_k))
    projected = q.astype(float) @ of_q.T + bias, k.astype(float) @ of_k.T
    o, weights = layer(q, k, v, weights=True)
    expected = additive(*projected, v, w)
    reference.close(o, expected[0], 5e-6)
    reference.close(weights, expected[1], 5e-6)
    assert layer(q, k, v).tobytes() == o.tobytes()
    assert layer(q, k, v, threads=2).tobytes() == o.tobytes()
    assert layer(q[1, 2:3], k[1], v[1]).tobytes() == o[1, 2:3].tobytes()
    assert layer(q, k[:, :4].copy(), v[:, :4].copy()).tobytes() == layer(q, k, v, kv_lens=[4, 4]).tobytes()
    mask = np.random.default_rng(8).random((2, 5, 9)) < 0.5
    mask[1, 3] = False
    reference.close(layer(q, k, v, mask=mask), additive(*projected, v, w, mask)[0], 5e-6)
    edges = [np.flatnonzero(row) for row in mask[0]]
    starts = np.cumsum([0] + [len(each) for each in edges])
    by_edges = layer(q, k, v, edges=(starts, np.concatenate(edges)))
    assert by_edges.tobytes() == layer(q, k, v, mask=mask[:1]).tobytes()
    leaky = nn.Additive(w, activation="leaky_relu", leaky_slope=0.2)
    a, b = normal(9, 2, 5, 16), normal(10, 2, 9, 16)
    expected = additive(a.astype(float), b.astype(float), v, w, True, lambda x: np.where(x > 0, x, 0.2 * x))
    reference.close(leaky(a, b, v), expected[0], 5e-6)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_cells():
    x, h, c = normal(11, 6, 10), normal(12, 6, 8), normal(13, 6, 8)
    for gates, cell in ((3, nn.GRUCell), (4, nn.LSTMCell)):
        ih, hh = normal(14, gates * 8, 10, size=0.3), normal(15, gates * 8, 8, size=0.3)
        biases = normal(16, gates * 8), normal(17, gates * 8)
        layer = cell(nn.Linear(ih, biases[0]), nn.Linear(hh, biases[1]))
        i, j = x.astype(float) @ ih.T + biases[0], h.astype(float) @ hh.T + biases[1]
        i, j = np.split(i, gates, -1), np.split(j, gates, -1)
        if gates == 3:
            r, z = sigmoid(i[0] + j[0]), sigmoid(i[1] + j[1])
            states, expected = (h,), ((1 - z) * np.tanh(i[2] + r * j[2]) + z * h,)
        else:
            new = sigmoid(i[1] + j[1]) * c + sigmoid(i[0] + j[0]) * np.tanh(i[2] + j[2])
            states, expected = (h, c), (sigmoid(i[3] + j[3]) * np.tanh(new), new)
        y = layer(x, *states)
        results = y if gates == 4 else (y,)
        for result, wanted in zip(results, expected):
            reference.close(result, wanted, 5e-6)
        alone = layer(x[2:3], *(each[2:3] for each in states), threads=2)
        assert (alone if gates == 3 else alone[0]).tobytes() == results[0][2:3].tobytes()
        known = cell(None, nn.Linear(hh, biases[1]))(nn.Linear(ih, biases[0])(x), *states)
        assert (known if gates == 3 else known[0]).tobytes() == results[0].tobytes()
        place = h.copy()
        layer(x, place, *states[1:], out=place)
        assert place.tobytes() == results[0].tobytes()


def test_embedding():
    tokens, types, places = normal(18, 50, 12), normal(19, 2, 12), normal(20, 30, 12)
    ids, kinds = np.random.default_rng(21).integers(0, 50, (3, 7)), np.ones((3, 7), np.int64)
    table = nn.Embedding(tokens, positions=places, token_types=types, scale=3.0)
    at = np.broadcast_to(np.arange(7), (3, 7)).copy()
    expected = (tokens[ids] * np.float32(3) + types[kinds]) + places[at]
    assert table(ids, kinds, at).tobytes() == expected.tobytes()
    assert table(ids[1], kinds[1], first_position=0).tobytes() == expected[1].tobytes()
    half = np.empty((3, 7, 12), np.float16)
    assert table(ids, kinds, at, out=half, threads=2) is half and half.tobytes() == expected.astype(np.float16).tobytes()
    assert nn.Embedding(tokens)(ids).tobytes() == tokens[ids].tobytes()
    with pytest.raises(fovea.ArgumentError, match="ids.* is 50"):
        nn.Embedding(tokens)(np.full(3, 50))
    with pytest.raises(fovea.ArgumentError, match="position_ids has another type of integers than ids"):
        table(ids, kinds, at.astype(np.int32))
    with pytest.raises(TypeError, match="ids is a list"):
        table([1, 2])


def waves(positions, dim, base=10000.0):
    angles = np.asarray(positions)[:, None] * base ** (-2 * np.arange(dim // 2) / dim)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(angles), dim)


def test_sinusoids():
    reference.close(nn.sinusoids(9, 16), waves(np.arange(9), 16))
    far = [5, 10**9, 3]
    y = nn.sinusoids(3, 16, positions=far, base=500.0)
    reference.close(y, waves(far, 16, 500.0), 1e-6)
    halves = nn.sinusoids(3, 16, positions=far, base=500.0, layout="halves")
    assert halves.tobytes() == np.concatenate([y[:, ::2], y[:, 1::2]], 1).tobytes()
    last = nn.sinusoids(2, 8, first_position=1, exponent="to_base", base=100.0)
    reference.close(last[:, 6], np.sin([1 / 100, 2 / 100]))
    x = normal(22, 2, 5, 16)
    summed = nn.add_sinusoids(x, scale=4.0, first_position=3)
    expected = x.reshape(10, 16) * np.float32(4) + nn.sinusoids(10, 16, first_position=3)
    assert summed.tobytes() == expected.tobytes()
    with pytest.raises(fovea.ArgumentError, match="positions has 2 numbers"):
        nn.sinusoids(3, 16, positions=[1, 2])
    with pytest.raises(fovea.ArgumentError, match="rows is -1"):
        nn.sinusoids(-1, 16)
    with pytest.raises(fovea.ArgumentError, match="layout is 'apart'"):
        nn.sinusoids(3, 16, layout="apart")


def test_dropout():
    x = normal(23, 40, 50)
    y = nn.dropout(x, 0.25, seed=7, stream=3)
    kept = y != 0
    assert 0.7 < kept.mean() < 0.8
    np.testing.assert_allclose(y[kept], x[kept] / 0.75, rtol=1e-6)
    assert nn.dropout(x[10:], 0.25, seed=7, stream=3, first_row=10, threads=2).tobytes() == y[10:].tobytes()
    assert nn.dropout(x, 0.25, seed=8, stream=3).tobytes() != y.tobytes()
    assert nn.dropout(x, 0.0).tobytes() == x.tobytes()
    with pytest.raises(fovea.ArgumentError, match="p is 1.5"):
        nn.dropout(x, 1.5)


def test_t5_buckets():
    """As Raffel et al.'s code has them."""
    relative = np.arange(-200, 200)
    distance = np.abs(relative)
    near = distance < 8
    with np.errstate(divide="ignore"):
        far = 8 + (np.log(distance / 8) / np.log(128 / 8) * 8).astype(np.float32)
    bucket = np.where(near, distance, np.minimum(np.where(near, 0, far), 15).astype(int)) + 16 * (relative > 0)
    buckets = nn.t5_buckets(-200, 400)
    assert buckets.dtype == np.int64 and (buckets == bucket).all()
    with pytest.raises(fovea.ArgumentError, match="buckets is 3"):
        nn.t5_buckets(0, 4, buckets=3)


def test_refused():
    q, k, v, w = normal(1, 2, 5, 16), normal(2, 2, 9, 16), normal(3, 2, 9, 7), normal(4, 16)
    layer = nn.Additive(w)
    with pytest.raises(fovea.ArgumentError, match="k has the shape .2, 9, 15.; it must be .2, 9, 16."):
        layer(q, k[..., :15].copy(), v)
    with pytest.raises(fovea.ArgumentError, match="q.strides.2. is 2 elements"):
        layer(normal(1, 2, 5, 32)[..., ::2], k, v)
    with pytest.raises(fovea.ArgumentError, match="q has the shape .16,."):
        layer(w, k, v)
    with pytest.raises(fovea.ArgumentError, match="mask has elements of uint8; they must be bool"):
        layer(q, k, v, mask=np.ones((5, 9), np.uint8))
    with pytest.raises(fovea.ArgumentError, match="mask has the shape .5, 8."):
        layer(q, k, v, mask=np.ones((5, 8), bool))
    with pytest.raises(fovea.ArgumentError, match="edges has 2 numbers"):
        layer(q, k, v, edges=([0, 1], [0]))
    with pytest.raises(fovea.ArgumentError, match="edges has 1 keys, and its last start is 7"):
        layer(q, k, v, edges=([0, 1, 2, 3, 4, 7], [0]))
    with pytest.raises(fovea.ArgumentError, match="leaky_slope"):
        nn.Additive(w, activation="leaky_relu", leaky_slope=1.5)(q, k, v)
    cell = nn.GRUCell(nn.Linear(normal(1, 24, 10)), nn.Linear(normal(2, 24, 8)))
    with pytest.raises(fovea.ArgumentError, match="h has the shape .3, 7."):
        cell(normal(1, 3, 10), normal(1, 3, 7))
    with pytest.raises(fovea.ArgumentError, match="out has the shape .3, 9."):
        cell(normal(1, 3, 10), normal(1, 3, 8), out=np.empty((3, 9), np.float32))
