"""Attention by the textbook formula, in float64 and with a matrix of what rows see: it shares nothing with the library."""

import numpy as np


def visible_pairs(rows, keys, causal=False, window=(None, None), chunks=None, offset=None):
    """Which row sees which key, (rows, keys)."""
    own = np.arange(rows)[:, None] + (keys - rows if offset is None else offset)
    key = np.arange(keys)[None, :]
    visible = np.ones((rows, keys), bool)
    if causal:
        visible &= key <= own
    left, right = window
    if left is not None:
        visible &= key >= own - left
    if right is not None:
        visible &= key <= own + right
    if chunks is not None:
        size, left, right = chunks
        first = own // size * size
        visible &= (key >= first - left) & (key < first + size + right)
    return visible


def scores_of(q, k, scale=None, softcap=None, bias=0.0):
    """(batch, heads, rows, keys), before anything is hidden."""
    q, k = (np.asarray(x, np.float64) for x in (q, k))
    k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = np.einsum("bhid,bhjd->bhij", q, k) * scale
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    return scores + bias


def attention(q, k, v, visible=True, sink=None, **options):
    """O, LSE and weights in float64; rows that see nothing are 0, and their LSE is -inf."""
    scores = np.where(visible, scores_of(q, k, **options), -np.inf)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        sink = np.asarray(sink, np.float64)[None, :, None, None]
        top = np.maximum(top, sink)
    top = np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    if sink is not None:
        total = np.where(total > 0, total + np.exp(sink - top), total)
    with np.errstate(divide="ignore"):
        lse = (top + np.log(total))[..., 0]
    weights = weights / np.where(total > 0, total, 1.0)
    v = np.repeat(np.asarray(v, np.float64), q.shape[1] // v.shape[1], axis=1)
    return np.einsum("bhij,bhjd->bhid", weights, v), lse, weights


def tensors(seed, batch=2, heads=4, kv_heads=2, rows=37, keys=150, dim=32, v_dim=None):
    """Q, K and V of random numbers, float32."""
    random = np.random.default_rng(seed)
    normal = lambda *shape: random.standard_normal(shape, dtype=np.float32)
    return (normal(batch, heads, rows, dim), normal(batch, kv_heads, keys, dim),
            normal(batch, kv_heads, keys, v_dim or dim))


def close(result, expected, tolerance=2e-6):
    """Compares with float64; the tolerance is for numbers of size 1."""
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=tolerance, atol=tolerance)
