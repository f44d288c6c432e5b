"""attention(): every rule and feature against float64, and equal bits wherever the library promises them."""

import fovea
import ml_dtypes
import numpy as np
import pytest
import reference


def same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes()


RULES = [
    {},
    {"causal": True},
    {"window": 20},
    {"causal": True, "window": (9, 0)},
    {"window": (None, 3)},
    {"chunks": (16, 8, 4)},
    {"causal": True, "offset": 40},
]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_rules(rules):
    q, k, v = reference.tensors(1)
    said = dict(rules)
    if isinstance(said.get("window"), int):
        said["window"] = (said["window"], said["window"])
    visible = reference.visible_pairs(q.shape[2], k.shape[2], **said)
    o, lse = fovea.attention(q, k, v, lse=True, **rules)
    expected, expected_lse, _ = reference.attention(q, k, v, visible)
    reference.close(o, expected)
    reference.close(lse, expected_lse)
    same_bits(o, fovea.attention(q, k, v, mask=visible))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)], ids=str)
def test_axes(shape):
    """Batch and heads may be left out."""
    q, k, v = (np.random.default_rng(2).standard_normal((*shape, n, 16), dtype=np.float32) for n in (5, 9, 9))
    o, lse = fovea.attention(q, k, v, lse=True)
    assert o.shape == q.shape and lse.shape == q.shape[:-1]
    full = (1,) * (4 - q.ndim)
    same_bits(o.reshape(full + o.shape), fovea.attention(*(x.reshape(full + x.shape) for x in (q, k, v))))


def test_strides():
    """Any order of the first axes, steps, repeats and turns, for inputs and for O."""
    q, k, v = reference.tensors(3, heads=2)
    expected = fovea.attention(q, k, v)
    rows_first = [np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2) for x in (q, k, v)]
    out = np.empty((2, 37, 2, 32), np.float32).swapaxes(1, 2)
    assert fovea.attention(*rows_first, out=out) is out
    same_bits(np.ascontiguousarray(out), expected)
    turned = k[:, :, ::-1].copy()[:, :, ::-1]
    same_bits(fovea.attention(q, turned, v), expected)
    one = k[:1]
    same_bits(fovea.attention(q, np.broadcast_to(one, k.shape), v),
              fovea.attention(q, np.repeat(one, 2, axis=0), v))


def test_types():
    """16-bit inputs have the bits of the same numbers as float32; O is rounded once."""
    q, k, v = reference.tensors(4)
    for dtype in (np.float16, ml_dtypes.bfloat16):
        narrow = [x.astype(dtype) for x in (q, k, v)]
        wide = [x.astype(np.float32) for x in narrow]
        o = fovea.attention(*narrow)
        assert o.dtype == dtype
        expected = fovea.attention(*wide)
        same_bits(o, expected.astype(dtype))
        out = np.empty(q.shape, np.float32)
        same_bits(fovea.attention(*narrow, out=out), expected)
        same_bits(fovea.attention(wide[0], narrow[1], wide[2]), expected)


def test_one_answer():
    """Threads, instruction sets, batch and calls row by row have the same bits."""
    q, k, v = reference.tensors(5, keys=300)
    expected = fovea.attention(q, k, v, causal=True, threads=1)
    for threads in (2, 3):
        same_bits(fovea.attention(q, k, v, causal=True, threads=threads), expected)
    usable = [each.name for each in fovea.info().sets if each.usable]
    assert "scalar" in usable
    for isa in usable:
        same_bits(fovea.attention(q, k, v, causal=True, isa=isa), expected)
    same_bits(fovea.attention(q[1:], k[1:], v[1:], causal=True), expected[1:])
    for row in (0, 17, 36):
        own = 300 - 37 + row
        same_bits(fovea.attention(q[:, :, row:row + 1], k, v, causal=True, offset=own), expected[:, :, row:row + 1])


def test_lengths():
    q, k, v = reference.tensors(6)
    visible = np.zeros((2, 1, 37, 150), bool)
    visible[0, :, :30, 5:140] = True
    visible[1, :, :, 20:] = True
    o = fovea.attention(q, k, v, q_lens=[30, 37], kv_lens=np.array([140, 0, 150])[::2], kv_begins=(5, 20), offset=0)
    reference.close(o, reference.attention(q, k, v, visible)[0])
    assert not o[0, :, 30:].any()
    same_bits(fovea.attention(q, k, v, keys=(10, 60)), fovea.attention(q, k[:, :, 10:60], v[:, :, 10:60]))


PADDED = {
    "prompt": (150, {"causal": True}),
    "window": (150, {"causal": True, "window": (40, 0)}),
    "step": (1, {"causal": True}),
    "some rows": (30, {"causal": True}),
    "all keys": (30, {}),
    "alibi": (30, {"causal": True, "terms": fovea.alibi(np.array([0.5, 0.25, 0.125, 0.0625], np.float32))}),
}


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("case", PADDED)
def test_padding(case, dtype):
    """Padding in front: the bits of a sequence alone, and the numbers of kv_begins."""
    rows, rules = PADDED[case]
    q, k, v = (x.astype(dtype) for x in reference.tensors(15, batch=3, rows=rows))
    k = np.ascontiguousarray(k.swapaxes(1, 2)).swapaxes(1, 2)
    padding, ends = [0, 7, 131], [150, 142, 150]
    for lens in ({}, {"kv_lens": ends, "offset": 150 - rows}):
        o, lse = fovea.attention(q, k, v, padding=padding, lse=True, **lens, **rules)
        for b, before in enumerate(padding):
            first = max(0, before - (150 - rows)) if rules else 0  # the row of the first key
            part = slice(b, b + 1)
            keys = slice(before, ends[b] if lens else 150)
            offset = {"offset": 150 - rows + first - before} if rules else {}
            alone = fovea.attention(q[part, :, first:], k[part, :, keys], v[part, :, keys], lse=True, **offset, **rules)
            same_bits(np.ascontiguousarray(o[part, :, first:]), alone.o)
            same_bits(np.ascontiguousarray(lse[part, :, first:]), alone.lse)
            assert not o[b, :, :first].astype(np.float32).any()
        reference.close(o, fovea.attention(q, k, v, kv_begins=padding, **lens, **rules),
                        2e-6 if dtype == np.float32 else 2e-2)


def test_padding_errors():
    q, k, v = reference.tensors(16)
    for given, kind, text in [
            ({"padding": [1]}, fovea.ArgumentError, "padding has 1 numbers; it must have 2"),
            ({"padding": [0, -1]}, fovea.ArgumentError, r"padding\[1\] is -1; it must be from 0 to .* 150"),
            ({"padding": [0, 9], "kv_lens": [150, 8]}, fovea.ArgumentError, r"padding\[1\] is 9; .* which is 8"),
            ({"padding": [0, 9], "kv_begins": [0, 9]}, fovea.UnusedError, "kv_begins"),
            ({"padding": [0, 9], "mask": np.ones(150, bool)}, fovea.UnusedError, "mask.*kv_begins")]:
        with pytest.raises(kind, match=text) as caught:
            fovea.attention(q, k, v, causal=True, **given)
        assert caught.value.field == "padding"


def test_packed():
    q, k, v = reference.tensors(7, batch=1)
    q_at, kv_at = [0, 10, 10, 37], np.array([0, 50, 60, 150], np.int32)
    o, lse = fovea.attention(q, k, v, cu_seqlens_q=q_at, cu_seqlens_kv=kv_at, causal=True, lse=True)
    assert o.shape == q.shape and lse.shape == q.shape[:-1]
    for b in range(3):
        rows, keys = slice(q_at[b], q_at[b + 1]), slice(kv_at[b], kv_at[b + 1])
        alone, alone_lse = fovea.attention(q[:, :, rows], k[:, :, keys], v[:, :, keys], causal=True, lse=True)
        same_bits(np.ascontiguousarray(o[:, :, rows]), alone)
        same_bits(np.ascontiguousarray(lse[:, :, rows]), alone_lse)
    same_bits(fovea.attention(q[0], k[0], v[0], cu_seqlens_q=q_at, cu_seqlens_kv=kv_at, causal=True), o[0])


def test_masks():
    q, k, v = reference.tensors(8)
    random = np.random.default_rng(8)
    for shape in ((2, 4, 37, 150), (4, 37, 150), (37, 150), (2, 1, 1, 150), (37, 1)):
        seen = random.random(shape) < 0.7
        o = fovea.attention(q, k, v, mask=seen)
        reference.close(o, reference.attention(q, k, v, np.broadcast_to(seen, (2, 4, 37, 150)))[0])
        if shape[-1] == 150:
            same_bits(fovea.attention(q, k, v, mask_bits=np.packbits(seen, axis=-1, bitorder="little")), o)
        added = np.where(seen, np.float32(0), np.float32(-np.inf))
        same_bits(fovea.attention(q, k, v, mask=added), o)
        same_bits(fovea.attention(q, k, v, mask=added.astype(ml_dtypes.bfloat16)), o)
    bias = random.standard_normal((37, 150), dtype=np.float32)
    reference.close(fovea.attention(q, k, v, mask=bias), reference.attention(q, k, v, bias=bias)[0])
    late = random.random((37, 50)) < 0.5
    whole = np.concatenate([np.ones((37, 100), bool), late], axis=-1)
    same_bits(fovea.attention(q, k, v, mask=late, mask_begin=100), fovea.attention(q, k, v, mask=whole))


def test_scores():
    q, k, v = reference.tensors(9)
    reference.close(fovea.attention(q, k, v, scale=0.3), reference.attention(q, k, v, scale=0.3)[0])
    reference.close(fovea.attention(q, k, v, softcap=2.0), reference.attention(q, k, v, softcap=2.0)[0])
    heads, rows = np.array([0.1, 0.2, 0.3, 0.4]), np.linspace(0.5, 2, 74).reshape(2, 37)
    reference.close(fovea.attention(q, k, v, head_scales=heads, row_scales=rows),
                    reference.attention(q, k, v, scale=heads[:, None, None] * rows[:, None, :, None])[0])
    sink = np.array([-1, 0, 0.5, 2], np.float32)
    reference.close(fovea.attention(q, k, v, sink=sink), reference.attention(q, k, v, sink=sink)[0])
    reference.close(fovea.attention(q, k, v, sink=0.0), reference.attention(q, k, v, sink=[0] * 4)[0])


def test_terms():
    q, k, v = reference.tensors(10)
    distance = np.arange(150)[None, :] - (np.arange(37)[:, None] + 113)
    slopes = np.array([0.5, 0.25, 0.125, 0.0625], np.float32)
    reference.close(fovea.attention(q, k, v, terms=fovea.alibi(slopes), causal=True),
                    reference.attention(q, k, v, reference.visible_pairs(37, 150, causal=True),
                                        bias=slopes[:, None, None] * distance)[0])
    table = np.random.default_rng(10).standard_normal((4, 7), dtype=np.float32)
    by_table = table[:, np.clip(distance, -4, 2) + 4]
    reference.close(fovea.attention(q, k, v, terms=fovea.relative(table, 4, 2)),
                    reference.attention(q, k, v, bias=by_table)[0])
    both = [fovea.alibi(slopes, symmetric=True), fovea.relative(table, 4, 2)]
    reference.close(fovea.attention(q, k, v, terms=both),
                    reference.attention(q, k, v, bias=by_table - slopes[:, None, None] * np.abs(distance))[0])


def test_grid():
    """A window of Swin, as its paper computes the table's index."""
    height, width = 3, 4
    q, k, v = reference.tensors(11, heads=2, rows=12, keys=12)
    table = np.random.default_rng(11).standard_normal((5 * 7, 2), dtype=np.float32)
    y, x = np.divmod(np.arange(12), width)
    index = (y[:, None] - y + height - 1) * (2 * width - 1) + x[:, None] - x + width - 1
    reference.close(fovea.attention(q, k, v, terms=fovea.grid(table, height=height, width=width)),
                    reference.attention(q, k, v, bias=np.moveaxis(table[index], -1, 0))[0])


def test_shaw():
    q, k, v = reference.tensors(12)
    random = np.random.default_rng(12)
    keys, values = (random.standard_normal((9, 32), dtype=np.float32) for _ in range(2))
    at = np.clip(np.arange(150)[None, :] - (np.arange(37)[:, None] + 113), -4, 4) + 4
    bias = np.einsum("bhid,ijd->bhij", q.astype(np.float64), keys[at].astype(np.float64)) * 32**-0.5
    expected, _, weights = reference.attention(q, k, v, bias=bias)
    reference.close(fovea.attention(q, k, v, shaw_keys=keys), expected)
    expected = expected + np.einsum("bhij,ijd->bhid", weights, values[at].astype(np.float64))
    reference.close(fovea.attention(q, k, v, shaw_keys=keys, shaw_values=values), expected)


@pytest.mark.parametrize("normaliser", ["relu", "relu_squared", "sigmoid"])
def test_normalisers(normaliser):
    q, k, v = reference.tensors(13, kv_heads=4)
    scores = reference.scores_of(q, k)
    weights = {"relu": np.maximum(scores, 0), "relu_squared": np.maximum(scores, 0) ** 2,
               "sigmoid": 1 / (1 + np.exp(-scores))}[normaliser]
    for divisor, by in ((2.0, 2.0), ("keys", 150), ("sum", weights.sum(-1, keepdims=True))):
        expected = np.einsum("bhij,bhjd->bhid", weights / by, v.astype(np.float64))
        reference.close(fovea.attention(q, k, v, normaliser=normaliser, divisor=divisor), expected, 1e-5)


def test_leaky_relu():
    q, k, v = reference.tensors(14, kv_heads=4)
    raw = reference.scores_of(q, k, scale=1.0)
    expected = reference.attention(q, k, v, bias=np.where(raw > 0, raw, 0.2 * raw) - raw, scale=1.0)[0]
    reference.close(fovea.attention(q, k, v, leaky_relu=0.2, scale=1.0), expected, 2e-5)


def test_outputs():
    q, k, v = reference.tensors(15)
    visible = reference.visible_pairs(37, 150, causal=True)
    o, lse, weights = reference.attention(q, k, v, visible)
    r = fovea.attention(q, k, v, causal=True, lse=True, scores="weights", max_logits=True, top=5, entropy=True,
                        column_sums=True)
    reference.close(r.o, o)
    reference.close(r.lse, lse)
    reference.close(r.scores, weights)
    scores = np.where(visible, reference.scores_of(q, k), -np.inf)
    reference.close(r.max_logits, scores.max((2, 3)))
    order = np.argsort(-scores, axis=-1, kind="stable")[..., :5]
    np.testing.assert_array_equal(r.top_keys, order)
    reference.close(r.top_scores, np.take_along_axis(scores, order, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        reference.close(r.entropy, np.nansum(-weights * np.log(weights), axis=-1), 1e-5)
    reference.close(r.column_sums, weights.sum(2), 1e-5)
    assert len(list(r)) == 8 and list(r)[1] is r.lse
    part = fovea.attention(q, k, v, causal=True, scores="weights", score_heads=(1, 3), score_rows=(30, None),
                           score_keys=(100, 150)).scores
    same_bits(part, np.ascontiguousarray(r.scores[:, 1:3, 30:, 100:]))
    into = np.zeros((2, 4, 37, 200), np.float32)[..., :150]
    assert fovea.attention(q, k, v, causal=True, scores="weights", scores_out=into).scores is into
    same_bits(np.ascontiguousarray(into), r.scores)
    raw = fovea.attention(q, k, v, scores="raw").scores
    reference.close(raw, reference.scores_of(q, k), 1e-5)
    assert fovea.attention(q, k, v, max_logits=True).lse is None


@pytest.mark.parametrize("mode, tolerance", [("bf16", 2e-2), ("int8", 5e-2), (("int8", "exact"), 5e-2)], ids=str)
def test_modes(mode, tolerance):
    q, k, v = reference.tensors(16)
    o = fovea.attention(q, k, v, mode=mode)
    expected = reference.attention(q, k, v)[0]
    assert np.abs(o - expected).max() < tolerance
    assert o.tobytes() != fovea.attention(q, k, v).tobytes()
    same_bits(fovea.attention(q, k, v, mode=mode, isa="scalar"), o)


def test_hidden_keys_hold_anything():
    q, k, v = reference.tensors(17)
    expected = fovea.attention(q, k, v, kv_lens=[100, 100], offset=63, causal=True)
    k[:, :, 100:], v[:, :, 100:] = np.nan, np.inf
    same_bits(fovea.attention(q, k, v, kv_lens=[100, 100], offset=63, causal=True), expected)


def test_empty():
    q, k, v = reference.tensors(18)
    assert fovea.attention(q[:, :, :0], k, v).shape == (2, 4, 0, 32)
    o, lse = fovea.attention(q, k[:, :, :0], v[:, :, :0], lse=True)
    assert not o.any() and np.isneginf(lse).all()
