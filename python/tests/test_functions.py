"""Functions and sums behind fovea.torch, beside float64 and the definition of their order."""

import fovea
import numpy as np
import pytest
from fovea import _fovea


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def in_sixteen(numbers):
    """Sum i over the indices mod 16 = i, ascending, then folded (docs/numerics.md, L3)."""
    sums = np.zeros(16, np.float32)
    for i, number in enumerate(numbers):
        sums[i % 16] += number
    for width in (8, 4, 2, 1):
        sums[:width] += sums[width:2 * width]
    return sums[0]


@pytest.mark.parametrize("shape", [(3, 50, 1), (2, 7, 70), (1, 1, 1), (2, 300, 64)], ids=str)
def test_sums(shape):
    x = normal(1, *shape)
    sums = _fovea.sums(x)
    expected = [[in_sixteen(x[i, :, j]) for j in range(shape[2])] for i in range(shape[0])]
    assert sums.tobytes() == np.array(expected, np.float32).tobytes()
    assert sums.tobytes() == _fovea.sums(x, threads=3).tobytes()
    squares = _fovea.sums(x, squares=True)
    np.testing.assert_allclose(squares, (x.astype(np.float64)**2).sum(1), rtol=1e-6)


def test_functions():
    x = normal(2, 40, 1000) * 8
    for name, function in {"exp": np.exp, "tanh": np.tanh, "sin": np.sin, "cos": np.cos}.items():
        y = _fovea.apply(x, name)
        np.testing.assert_allclose(y, function(x.astype(np.float64)), rtol=6e-8)
        assert y.tobytes() == _fovea.apply(x, name, threads=3).tobytes()
        assert _fovea.apply(x[3, 5:6], name).tobytes() == y[3, 5:6].tobytes()
    np.testing.assert_allclose(_fovea.apply(x / 8, "power", base=10000.0), 1e4**(x / 8).astype(np.float64), rtol=6e-8)
    shifted = x - x.max(-1, keepdims=True).astype(np.float64)
    expected = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    np.testing.assert_allclose(_fovea.log_softmax(x), expected, rtol=6e-8)
    assert _fovea.apply(x, "exp", out=x) is x


def test_refused():
    x = normal(3, 4, 6)
    with pytest.raises(fovea.ArgumentError, match="function is 'erf'"):
        _fovea.apply(x, "erf")
    with pytest.raises(fovea.ArgumentError, match="base is -1"):
        _fovea.apply(x, "power", base=-1.0)
    with pytest.raises(fovea.UnusedError, match="base is 2"):
        _fovea.apply(x, "exp", base=2.0)
    with pytest.raises(fovea.ArgumentError, match="x has elements of float64"):
        _fovea.apply(x.astype(np.float64), "exp")
    with pytest.raises(fovea.ArgumentError, match="out has the shape .4, 5.; it must be .4, 6."):
        _fovea.apply(x, "exp", out=np.empty((4, 5), np.float32))
    with pytest.raises(fovea.ArgumentError, match="x.strides.2. is 2"):
        _fovea.sums(x[None, :, ::2])
    with pytest.raises(fovea.ArgumentError, match="it must have three axes"):
        _fovea.sums(x)
