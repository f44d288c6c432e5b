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
    with pytest.raises(fovea.ArgumentError, match="numbers has the shape"):
        fovea.State(np.zeros((2, 2), np.float32), (0, 10))
    with pytest.raises(fovea.ArgumentError, match="keys is .3, 3."):
        fovea.State(np.zeros((2, 34), np.float32), (3, 3))
    with pytest.raises(fovea.ArgumentError, match="normaliser"):
        fovea.attention(q, k, v, keys=(70, 150), state=True, normaliser="relu").merge(right)
