"""States: cut at spans they give the bits of one call; cut anywhere, or made of O and LSE, they are near float64."""

import fovea
import numpy as np
import pytest
import reference


def test_spans():
    q, k, v = reference.tensors(1, rows=5, keys=5000)
    expected, expected_lse = fovea.attention(q, k, v, causal=True, lse=True)
    parts = [fovea.attention(q, k, v, causal=True, keys=keys, state=True)
             for keys in ((0, 2048), (2048, 4096), (4096, 5000))]
    assert [part.keys for part in parts] == [(0, 2048), (2048, 4096), (4096, 5000)]
    for whole in (parts[0].merge(parts[1]).merge(parts[2]), parts[0].merge(parts[1].merge(parts[2]))):
        o, lse = whole.finish(lse=True)
        assert o.tobytes() == expected.tobytes() and lse.tobytes() == expected_lse.tobytes()
    sent = [fovea.State(np.frombuffer(part.numbers.tobytes(), np.float32).reshape(part.numbers.shape), part.keys)
            for part in parts]
    assert sent[0].merge(sent[1]).merge(sent[2]).finish().tobytes() == expected.tobytes()
    plan = fovea.Plan(q, k, v, causal=True, keys=(0, 2048), state=True)
    assert plan.run(q, k, v).numbers.tobytes() == parts[0].numbers.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
def test_parts_of_keys(dtype):
    """K and V of a part alone, in any layout, give the state that all of them give."""
    q, k, v = (x.astype(dtype) for x in reference.tensors(4, rows=7, keys=5000))
    out = np.empty(q.shape, dtype)
    expected = fovea.attention(q, k, v, causal=True, window=3000, out=out)
    parts = []
    for begin, end in ((0, 2048), (2048, 4096), (4096, 5000)):
        rows_first = [x[:, :, begin:end].swapaxes(1, 2).copy().swapaxes(1, 2) for x in (k, v)]
        rules = {"causal": True, "window": 3000, "offset": 4993, "first_key": begin, "state": True}
        parts.append(fovea.attention(q, *rows_first, **rules))
        whole = fovea.attention(q, k, v, causal=True, window=3000, keys=(begin, end), state=True)
        assert parts[-1].keys == (begin, end)
        assert parts[-1].numbers.tobytes() == whole.numbers.tobytes()
        assert fovea.Plan(q, *rows_first, **rules).run(q, *rows_first).numbers.tobytes() == whole.numbers.tobytes()
    assert parts[0].merge(parts[1]).merge(parts[2]).finish(out=np.empty_like(out)).tobytes() == expected.tobytes()
    some = fovea.attention(q, k[:, :, 2048:], v[:, :, 2048:], first_key=2048, keys=(4096, 5000), causal=True, window=3000,
                           state=True)
    assert some.numbers.tobytes() == parts[2].numbers.tobytes()
    seen = np.random.default_rng(5).random((7, 5000)) < 0.5
    masked = fovea.attention(q, k[:, :, 4096:], v[:, :, 4096:], first_key=4096, mask=seen[:, 4096:], mask_begin=4096)
    assert masked.tobytes() == fovea.attention(q, k, v, keys=(4096, None), mask=seen).tobytes()


def test_anywhere():
    q, k, v = reference.tensors(2)
    sink = np.array([0.5, -1, 2, 0], np.float32)
    left, right = (fovea.attention(q, k, v, keys=keys, state=True) for keys in ((0, 77), (77, 150)))
    reference.close(left.merge(right).finish(sink=sink), reference.attention(q, k, v, sink=sink)[0], 5e-6)
    made = []
    for keys in ((0, 77), (77, 150)):
        visible = np.broadcast_to((np.arange(150) >= keys[0]) & (np.arange(150) < keys[1]), (37, 150))
        o, lse, _ = reference.attention(q, k, v, visible)
        made.append(fovea.State.from_output(o.astype(np.float32), lse.astype(np.float32), keys))
    reference.close(made[0].merge(made[1]).finish(), reference.attention(q, k, v)[0], 5e-6)
    out = np.empty(q.shape, np.float16)
    assert left.merge(right).finish(out=out) is out
    assert fovea.attention(q[0, 0], k[0, 0], v[0, 0], state=True).finish().shape == (37, 32)


def test_refused():
    q, k, v = reference.tensors(3)
    left, right = (fovea.attention(q, k, v, keys=keys, state=True) for keys in ((0, 70), (71, 150)))
    with pytest.raises(fovea.ArgumentError, match="71"):
        left.merge(right)
    with pytest.raises(fovea.UnusedError, match="lse is wanted"):
        fovea.attention(q, k, v, state=True, lse=True)
    for options, text in (({"first_key": -1}, "first_key is -1; it must be from 0"),
                          ({"first_key": 10, "keys": (5, 20)}, "keys begins at 5, and k and v at first_key, which is 10"),
                          ({"first_key": 10, "keys": (10, 161)}, "161"),
                          ({"first_key": 10, "cu_seqlens_kv": [0, 150]}, "first_key is 10, and cu_seqlens_kv")):
        with pytest.raises(fovea.Error, match=text):
            fovea.attention(q[:1], k[:1], v[:1], **options)
    cache = fovea.Cache.contiguous(2, 10, 2, 32)
    with pytest.raises(fovea.UnusedError, match="first_key is 10, and a cache is given"):
        fovea.attention(q, cache=cache, first_key=10)
    with pytest.raises(fovea.ArgumentError, match="numbers has the shape"):
        fovea.State(np.zeros((2, 2), np.float32), (0, 10))
    with pytest.raises(fovea.ArgumentError, match="keys is .3, 3."):
        fovea.State(np.zeros((2, 34), np.float32), (3, 3))
    with pytest.raises(fovea.ArgumentError, match="normaliser"):
        fovea.attention(q, k, v, keys=(70, 150), state=True, normaliser="relu").merge(right)
