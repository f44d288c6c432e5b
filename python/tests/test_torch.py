"""fovea.torch.activate(): PyTorch's scaled dot product attention on Fovea, and PyTorch's own when it ends."""

import fovea
import numpy as np
import pytest
import reference

torch = pytest.importorskip("torch")
import fovea.torch  # pylint: disable=wrong-import-position

sdpa = torch.nn.functional.scaled_dot_product_attention
EPSILON = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@pytest.fixture(autouse=True)
def active():
    threads = torch.get_num_threads()
    fovea.torch.activate()
    yield
    fovea.torch.deactivate()
    torch.set_num_threads(threads)


def tensors(seed, dtype=torch.float32, **sizes):
    return [torch.from_numpy(x).to(dtype) for x in reference.tensors(seed, **sizes)]


def float64(*tensors_of_torch):
    return [x.detach().double().numpy() for x in tensors_of_torch]


def same_bits(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    a, b = (x.detach().contiguous().view(torch.uint8).numpy().tobytes() for x in (a, b))
    assert a == b


def random_mask(*shape):
    seen = torch.from_numpy(np.random.default_rng(1).random(shape) < 0.7)
    seen[..., 0] = True
    return seen


MASKS = [None, (37, 150), (1, 150), (2, 1, 1, 150), (2, 4, 37, 150), (1, 1, 37, 1)]


@pytest.mark.parametrize("dtype", EPSILON, ids=str)
@pytest.mark.parametrize("shape", MASKS, ids=str)
def test_masks(dtype, shape):
    """Masks of bool and of numbers, against float64; and Fovea's bits, so it is Fovea that has run."""
    q, k, v = tensors(1, dtype)
    seen = None if shape is None else random_mask(*shape)
    o = sdpa(q, k, v, attn_mask=seen, enable_gqa=True)
    visible = True if seen is None else np.broadcast_to(seen.numpy(), (2, 4, 37, 150))
    reference.close(float64(o)[0], reference.attention(*float64(q, k, v), visible)[0], EPSILON[dtype])
    same_bits(o, fovea.attention(q, k, v, mask=seen))
    if seen is not None:
        bias = torch.from_numpy(np.random.default_rng(2).standard_normal(shape)).to(dtype)
        o = sdpa(q, k, v, attn_mask=bias, enable_gqa=True)
        expected = reference.attention(*float64(q, k, v), bias=float64(bias)[0])[0]
        reference.close(float64(o)[0], expected, EPSILON[dtype])
        same_bits(o, fovea.attention(q, k, v, mask=bias))


@pytest.mark.parametrize("sizes", [(37, 37), (37, 150), (150, 37), (1, 5)], ids=str)
def test_causal(sizes):
    """PyTorch aligns rows and keys at the top left."""
    rows, keys = sizes
    q, k, v = tensors(2, rows=rows, keys=keys, kv_heads=4)
    o = sdpa(q, k, v, is_causal=True, scale=0.3)
    visible = reference.visible_pairs(rows, keys, causal=True, offset=0)
    reference.close(float64(o)[0], reference.attention(*float64(q, k, v), visible, scale=0.3)[0])
    same_bits(o, fovea.attention(q, k, v, causal=True, offset=0, scale=0.3))


def test_strides():
    """Layouts of projections, steps and repeats give the same bits; results lie as PyTorch's own do."""
    q, k, v = tensors(3, kv_heads=4)
    expected = sdpa(q, k, v)
    rows_first = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    same_bits(sdpa(*rows_first), expected)
    same_bits(sdpa(q, k[:, :, :1].expand_as(k), v), sdpa(q, k[:, :, :1].repeat(1, 1, 150, 1), v))
    strides = lambda: [[o.stride() for o in torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(x, k, v)]
                       for x in (q, rows_first[0])]
    own = strides()
    fovea.torch.deactivate()
    assert strides() == own


def test_one_answer():
    """The same bits alone and in a batch, by one thread and by more; test_torch_one_answer.py has instruction sets."""
    q, k, v = tensors(4, batch=3, kv_heads=4, keys=300)
    torch.set_num_threads(1)
    expected = sdpa(q, k, v)
    for threads in (2, 3, 200):
        torch.set_num_threads(threads)
        same_bits(sdpa(q, k, v), expected)
    same_bits(sdpa(q[1:2], k[1:2], v[1:2]), expected[1:2])
    for row in (0, 36):
        same_bits(sdpa(q[:, :, row:row + 1], k, v), expected[:, :, row:row + 1])


def gradients(q, k, v, of, **options):
    """Of the sum of O times a tensor of numbers."""
    leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    (sdpa(*leaves, **options) * of.to(q.dtype)).sum().backward()
    return [x.grad for x in leaves]


def formula_gradients(q, k, v, of, visible):
    """The same by autograd over the textbook formula, in float64."""
    leaves = [x.detach().double().requires_grad_() for x in (q, k, v)]
    q, k, v = leaves
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = (q @ k.transpose(-1, -2) / q.shape[-1]**0.5).masked_fill(~visible, -torch.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
    (weights @ v * of).sum().backward()
    return [x.grad for x in leaves]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", ["plain", "causal", "mask"])
def test_gradients(dtype, case):
    q, k, v = tensors(5, dtype, rows=60, keys=60, kv_heads=4)
    of = torch.from_numpy(np.random.default_rng(5).standard_normal(tuple(q.shape)))
    visible, options = torch.ones(60, 60, dtype=torch.bool), {}
    if case == "causal":
        visible, options = visible.tril(), {"is_causal": True}
    if case == "mask":
        visible = random_mask(60, 60)
        options = {"attn_mask": visible}
    tolerance = 1e-5 if dtype == torch.float32 else 6e-2
    for own, expected in zip(gradients(q, k, v, of, **options), formula_gradients(q, k, v, of, visible)):
        assert own.dtype == dtype
        reference.close(float64(own)[0], expected.numpy(), tolerance)


def test_gradients_of_rows_that_see_nothing():
    """Such a row's output is zeros, and it passes no gradient on."""
    q, k, v = tensors(6, rows=8, keys=8, kv_heads=4)
    visible = torch.ones(8, 8, dtype=torch.bool)
    visible[3] = False
    of = torch.ones(q.shape, dtype=torch.float64)
    assert not sdpa(q, k, v, attn_mask=visible)[:, :, 3].any()
    own = gradients(q, k, v, of, attn_mask=visible)
    assert not own[0][:, :, 3].any()
    expected = formula_gradients(q[:, :, [0, 1, 2, 4, 5, 6, 7]], k, v, of[:, :, 1:], visible[[0, 1, 2, 4, 5, 6, 7]])
    reference.close(float64(own[1])[0], expected[1].numpy(), 1e-5)
    reference.close(float64(own[2])[0], expected[2].numpy(), 1e-5)


@pytest.mark.filterwarnings("ignore")
def test_compile():
    """A compiled function has Fovea's bits and gradients, and PyTorch's own after deactivate()."""
    q, k, v = tensors(7, rows=40, keys=40, kv_heads=4)
    function = lambda q, k, v: sdpa(q, k, v, is_causal=True) * 2
    compiled = torch.compile(function)
    with torch.no_grad():
        same_bits(compiled(q, k, v), 2 * fovea.attention(q, k, v, causal=True))
    grads = []
    for each in (function, compiled):
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        each(*leaves).sum().backward()
        grads.append([x.grad for x in leaves])
    for own, other in zip(*grads):
        torch.testing.assert_close(own, other)
    fovea.torch.deactivate()
    with torch.no_grad():
        same_bits(compiled(q, k, v), function(q, k, v))


def test_mode():
    """Of tensors of bfloat16, until activate() is called again, by whatever way."""
    wide, narrow = tensors(10, kv_heads=4), tensors(10, torch.bfloat16, kv_heads=4)
    exact, rounded = (fovea.attention(*narrow, mode=mode) for mode in ("exact", "bf16"))
    assert not torch.equal(exact, rounded)
    fovea.torch.activate(mode="bf16")
    same_bits(sdpa(*narrow), rounded)
    same_bits(sdpa(*wide), fovea.attention(*wide))
    with fovea.torch.one_answer():
        same_bits(sdpa(*narrow), rounded)
    with pytest.raises(fovea.ArgumentError, match="mode is 'int8'; it must be one of 'exact', 'bf16'") as caught:
        fovea.torch.activate(mode="int8")
    assert caught.value.field == "mode"
    torch.nn.attention.activate_flash_attention_impl("fovea")
    same_bits(sdpa(*narrow), exact)


def test_deactivate():
    q, k, v = tensors(8, kv_heads=4, keys=700)
    fovea.torch.deactivate()
    fovea.torch.deactivate()  # does nothing
    assert not fovea.torch.is_active()
    own = sdpa(q, k, v)
    fovea.torch.activate()
    fovea.torch.activate()
    assert fovea.torch.is_active()
    same_bits(sdpa(q, k, v), fovea.attention(q, k, v))
    assert not torch.equal(sdpa(q, k, v), own)  # else the line below says nothing
    fovea.torch.deactivate()
    same_bits(sdpa(q, k, v), own)


def test_what_is_not_taken():
    """PyTorch computes it as it does without Fovea."""
    q, k, v = tensors(9, kv_heads=4)
    wide = [x.double() for x in (q, k, v)]
    calls = [
        lambda: sdpa(*wide, attn_mask=random_mask(37, 150)),
        lambda: sdpa(q, k, v[..., :16]),
        lambda: sdpa(q[0], k[0], v[0]),
        lambda: sdpa(q[..., ::2], k[..., ::2], v[..., ::2]),
        lambda: (torch.manual_seed(1), sdpa(q, k, v, dropout_p=0.5))[1],
    ]
    taken = [call() for call in calls]
    fovea.torch.deactivate()
    for call, o in zip(calls, taken):
        same_bits(o, call())


def test_fast_paths():
    """They are kernels of PyTorch, with its bits, which do not ask for attention."""
    torch.manual_seed(0)
    layer, x = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval(), torch.randn(2, 700, 64)
    assert torch.backends.mha.get_fastpath_enabled()
    with torch.no_grad():
        taken = layer(x), layer.self_attn(x, x, x, need_weights=False)[0]
        fovea.torch.deactivate()
        for own, o in zip((layer(x), layer.self_attn(x, x, x, need_weights=False)[0]), taken):
            same_bits(own, o)


def test_modules():
    """nn.MultiheadAttention and encoder layers reach Fovea without their fast paths."""
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(64, 4, batch_first=True).eval()
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    x = torch.randn(2, 700, 64)
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        calls = [lambda: attention(x, x, x, need_weights=False)[0], lambda: layer(x)]
        with torch.no_grad():
            taken = [call() for call in calls]
            fovea.torch.deactivate()
            for call, o in zip(calls, taken):
                own = call()
                assert not torch.equal(o, own)
                torch.testing.assert_close(o, own)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
