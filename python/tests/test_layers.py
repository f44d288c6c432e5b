"""fovea.nn: layers against float64, and equal bits for rows alone, threads and fused steps."""

import fovea
import ml_dtypes
import numpy as np
import pytest
import reference
from fovea import nn


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def erf(x):
    """Abramowitz & Stegun 7.1.26 is too coarse; the series converges for the numbers here."""
    total, term = np.zeros_like(x), x.copy()
    for n in range(200):
        total += term / (2 * n + 1)
        term *= -x * x / (n + 1)
    return 2 / np.sqrt(np.pi) * total


ACTIVATIONS = {
    None: lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + erf(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS, ids=str)
def test_linear(activation):
    x, weight, bias = normal(1, 3, 7, 48), normal(2, 40, 48) / 7, normal(3, 40)
    gate, residual = normal(4, 3, 7, 40), normal(5, 3, 7, 40)
    layer = nn.Linear(weight, bias, activation=activation)
    assert (layer.in_features, layer.out_features) == (48, 40) and layer.nbytes == 4 * 48 * 48
    y = layer(x)
    expected = ACTIVATIONS[activation](x.astype(np.float64) @ weight.T.astype(np.float64) + bias)
    reference.close(y, expected, 5e-6)
    assert layer(x[1, 2:3]).tobytes() == y[1, 2:3].tobytes()
    assert layer(x[1, 2]).tobytes() == y[1, 2].tobytes()
    assert layer(x[:, ::2].copy(), threads=2).tobytes() == np.ascontiguousarray(y[:, ::2]).tobytes()
    apart = np.zeros((21, 99), np.float32)[:, :48]  # rows that are farther apart than they are long
    apart[:] = x.reshape(21, 48)
    into = np.zeros((21, 77), np.float32)[:, :40]
    assert layer(apart, out=into) is into and np.ascontiguousarray(into).tobytes() == y.tobytes()
    other = normal(6, 40)
    assert layer(x, bias=other).tobytes() == nn.Linear(weight, other, activation=activation)(x).tobytes()
    fused = layer(x, gate=gate, residual=residual)
    assert fused.tobytes() == (y * gate + residual).tobytes()
    if activation:
        assert nn.activate(nn.Linear(weight, bias)(x), activation).tobytes() == y.tobytes()
    into = residual.copy()
    assert layer(x, gate=gate, residual=into, out=into) is into
    assert into.tobytes() == fused.tobytes()


def test_linear_types():
    x, weight = normal(6, 9, 64), normal(7, 33, 64)
    narrow, wide = (weight.astype(dtype) for dtype in (ml_dtypes.bfloat16, np.float32))
    wide = narrow.astype(np.float32)
    assert nn.Linear(narrow)(x).tobytes() == nn.Linear(wide)(x).tobytes()
    half = x.astype(np.float16)
    y = nn.Linear(wide)(half)
    assert y.dtype == np.float16
    assert y.tobytes() == nn.Linear(wide)(half.astype(np.float32)).astype(np.float16).tobytes()
    rounded = nn.Linear(narrow, mode="bf16")(x)
    expected = x.astype(ml_dtypes.bfloat16).astype(np.float64) @ wide.T.astype(np.float64)
    reference.close(rounded, expected, 1e-4)


def test_quantised_weights():
    x, weight = normal(8, 5, 64), normal(9, 33, 64)
    layer = nn.Linear(weight, quantise=True)
    scale = np.abs(weight).max(1, keepdims=True) / np.float32(127)
    reference.close(layer(x), x.astype(np.float64) @ (np.rint(weight / scale) * scale).T, 5e-5)
    assert layer.nbytes < nn.Linear(weight).nbytes / 2
    assert np.abs(nn.Linear(weight, quantise=True, mode="int8")(x) - layer(x)).max() < 0.5


def test_ggml_codes():
    """Blocks of q8_0: a scale in float16, then 32 codes."""
    random = np.random.default_rng(10)
    scale, code = random.random((6, 2)).astype(np.float16), random.integers(-128, 128, (6, 2, 32)).astype(np.int8)
    blocks = np.concatenate([scale[..., None].view(np.uint8).reshape(6, 2, 2), code.view(np.uint8)], axis=-1)
    layer = nn.Linear.of_codes("q8_0", 64, 6, np.ascontiguousarray(blocks))
    weight = (code.astype(np.float32) * scale.astype(np.float32)[..., None]).reshape(6, 64)
    x = normal(10, 4, 64)
    assert layer(x).tobytes() == nn.Linear(weight)(x).tobytes()
    with pytest.raises(fovea.ArgumentError, match="data has 400 bytes"):
        nn.Linear.of_codes("q8_0", 64, 6, np.zeros(400, np.uint8))


def test_e4m3_codes():
    """fp8 with scales of blocks of 128 x 128, of outputs, of the whole matrix."""
    code = np.random.default_rng(30).integers(0, 120, (150, 256)).astype(np.uint8)  # up to 448, no NaN
    numbers = code.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    x = normal(31, 5, 256)
    for group, group_outs, dtype in ((128, 128, np.float32), (256, 1, ml_dtypes.bfloat16), (256, 150, np.float16)):
        shape = (-(-150 // group_outs), 256 // group)
        scales = (0.5 + np.random.default_rng(32).random(shape)).astype(dtype)
        spread = np.repeat(np.repeat(scales.astype(np.float32), group_outs, 0)[:150], group, 1)
        layer = nn.Linear.of_codes("e4m3", 256, 150, code.view(ml_dtypes.float8_e4m3fn), group=group,
                                   group_outs=group_outs, scales=scales)
        expected = x.astype(np.float64) @ (numbers * spread).T.astype(np.float64)
        reference.close(layer(x) / 448, expected / 448, 5e-6)
        assert layer(x[2:3]).tobytes() == layer(x, threads=2)[2:3].tobytes()
    with pytest.raises(fovea.ArgumentError, match="scales has 8 bytes, elements of float32; it must have 16"):
        nn.Linear.of_codes("e4m3", 256, 150, code, group=128, group_outs=128, scales=np.ones(2, np.float32))
    with pytest.raises(fovea.ArgumentError, match="codes.group_outs is 0"):
        nn.Linear.of_codes("e4m3", 256, 150, code, group=128, scales=np.ones(2, np.float32))


def test_gptq_codes():
    """Four bits with zero points; dims in any order of groups (desc_act)."""
    random = np.random.default_rng(33)
    code, zero = random.integers(0, 16, (64, 24)), random.integers(0, 16, (4, 24))
    scale = (random.random((4, 24)) / 16).astype(np.float16)
    groups = random.permutation(np.repeat(np.arange(4, dtype=np.int32), 16))
    shifts = 4 * np.arange(8, dtype=np.uint32)
    qweight = (code.reshape(8, 8, 24).astype(np.uint32) << shifts[:, None]).sum(1, dtype=np.uint32).view(np.int32)
    qzeros = (zero.reshape(4, 3, 8).astype(np.uint32) << shifts).sum(2, dtype=np.uint32).view(np.int32)
    x = normal(34, 5, 64)
    for g_idx in (None, groups):
        of = np.arange(64) // 16 if g_idx is None else g_idx
        weight = ((code - zero[of]) * scale.astype(np.float32)[of]).T.astype(np.float32)
        layer = nn.Linear.of_codes("gptq", 64, 24, qweight, group=16, scales=scale, zeros=qzeros, g_idx=g_idx)
        assert layer(x).tobytes() == nn.Linear(np.ascontiguousarray(weight))(x).tobytes()
    with pytest.raises(fovea.ArgumentError, match="g_idx has elements of int64; they must be int32"):
        nn.Linear.of_codes("gptq", 64, 24, qweight, group=16, scales=scale, zeros=qzeros, g_idx=groups.astype(int))
    with pytest.raises(fovea.UnusedError, match="g_idx"):
        nn.Linear.of_codes("q8_0", 64, 6, np.zeros(6 * 68, np.uint8), g_idx=groups)


def test_norms():
    x, gamma, beta, residual = normal(11, 4, 6, 50), normal(12, 50), normal(13, 50), normal(14, 4, 6, 50)

    def layer_norm(x):
        x = x.astype(np.float64)
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)

    reference.close(nn.LayerNorm(50)(x), layer_norm(x))
    norm = nn.LayerNorm(50, gamma, beta)
    reference.close(norm(x), layer_norm(x) * gamma + beta)
    total = np.empty_like(x)
    fused = norm(x, residual=residual, sum=total)
    assert total.tobytes() == (x + residual).tobytes()
    assert fused.tobytes() == norm(total).tobytes()
    rms = x.astype(np.float64) / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6)
    reference.close(nn.RMSNorm(50, gamma, eps=1e-6)(x), rms * gamma)


def test_softmax():
    x = normal(15, 3, 20)
    weights = np.exp(x.astype(np.float64))
    reference.close(nn.softmax(x), weights / weights.sum(-1, keepdims=True))


@pytest.mark.parametrize("dtype", [">f4", "float64", "complex64", "uint64", "longdouble", "S4"])
def test_other_types_are_refused(dtype):
    """Outputs have the type of x, so it is looked at before there is one."""
    x = normal(16, 5, 8).astype(dtype)
    layers = [nn.Linear(normal(17, 4, 8)), nn.LayerNorm(8), nn.RMSNorm(8), nn.softmax, nn.add_sinusoids,
              lambda x: nn.activate(x, "gelu"), lambda x: nn.dropout(x, 0.5, seed=1),
              lambda x: fovea.hadamard(x, 8), fovea.Rotary(8).apply]
    for layer in layers:
        with pytest.raises(fovea.ArgumentError, match="x has elements of .*; they must be float32, float16 or bfl"):
            layer(x)


def test_refused():
    weight = normal(16, 5, 8)
    layer = nn.Linear(weight)
    with pytest.raises(fovea.ArgumentError, match="x has the shape .3, 7.; it must have 3 rows of 8"):
        layer(np.zeros((3, 7), np.float32))
    with pytest.raises(fovea.ArgumentError, match="weight has the shape .8,."):
        nn.Linear(weight[0])
    with pytest.raises(fovea.ArgumentError, match="bias has the shape .4,.; it must be .5,."):
        nn.Linear(weight, np.zeros(4, np.float32))
    with pytest.raises(fovea.ArgumentError, match="activation is 'swish'; it must be one of 'relu'"):
        nn.Linear(weight, activation="swish")
    with pytest.raises(fovea.ArgumentError, match="bias has the shape .4,.; it must be .5,."):
        layer(np.zeros((3, 8), np.float32), bias=np.zeros(4, np.float32))
    with pytest.raises(fovea.ArgumentError, match="gate has the shape"):
        layer(np.zeros((3, 8), np.float32), gate=np.zeros((3, 8), np.float32))
    with pytest.raises(fovea.ArgumentError, match="x.strides.0."):
        layer(np.zeros((3, 4, 8), np.float32)[:, :2])
    with pytest.raises(fovea.ArgumentError, match="eps is -1"):
        nn.LayerNorm(8, eps=-1.0)(np.zeros((3, 8), np.float32))
    with pytest.raises(fovea.UnusedError, match="sum"):
        nn.LayerNorm(8)(np.zeros((3, 8), np.float32), sum=np.zeros((3, 8), np.float32))
