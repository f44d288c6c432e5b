"""PyTorch's own tests of scaled_dot_product_attention on the CPU, run on Fovea.

The samples that PyTorch tests all its operators with come from torch.testing._internal, which its wheel has. Its file
test/test_transformers.py is in no package: the other tests here were written after reading it (the file of early 2025,
and its later test of masks), with its names, sizes and tolerances. Of its long products of parameters each value occurs
here, not each combination. What does not apply:

    TestSDPACudaOnly, TestSDPAXpuOnly, TestSDPAPrivateUse1Only and tests that are @onlyCUDA: other devices
    test_sdp_math_gradcheck, test_scaled_dot_product_attention: float64 or the math backend, which PyTorch computes
    test_script_*, *_subclass*: TorchScript of modules; PyTorch's own modules, whatever computes attention
    *_bias_is_none, *_src_mask_bool, *_with_hooks, test_mask_check_fastpath, test_disable_fastpath,
    test_kpm_mask_trailing_column_with_nested_tensor, test_transformerencoder (float64): the choice of a fast path and
        warnings of modules; the fast paths do not ask for attention (test_modules of test_torch.py)
    nested tensors: scaled_dot_product_attention computes them by the math backend on the CPU
"""

import itertools

import fovea
import pytest

torch = pytest.importorskip("torch")
import fovea.torch  # pylint: disable=wrong-import-position
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

sdpa = torch.nn.functional.scaled_dot_product_attention
# atol and rtol of PyTorch's tests.
TOLERANCES = {torch.float64: (1e-5, 5e-6), torch.float32: (1e-5, 5e-6), torch.float16: (1e-2, 1e-2),
              torch.bfloat16: (5e-2, 5e-2)}
GRADIENT_TOLERANCES = {**TOLERANCES, torch.float32: (1.25e-5, 5.25e-6), torch.float16: (1e-1, 1e-1)}
SAMPLE_TOLERANCES = {**TOLERANCES, torch.float32: (5e-5, 5e-6)}
# PyTorch compares gradients of samples, whose numbers are up to 9, in float64 alone.
SAMPLE_GRADIENT_TOLERANCES = {torch.float64: (1e-5, 5e-6), torch.float32: (1e-4, 1e-4), torch.float16: (1e-1, 1e-1),
                              torch.bfloat16: (5e-1, 1e-1)}
HALVES = torch.float16, torch.bfloat16


@pytest.fixture(autouse=True)
def active():
    torch.manual_seed(1)
    fovea.torch.activate()
    yield
    fovea.torch.deactivate()


def close(actual, expected, tolerances):
    atol, rtol = tolerances[actual.dtype]
    torch.testing.assert_close(actual, expected.to(actual.dtype), atol=atol, rtol=rtol)


# ---- Samples of the package -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def operator():
    pytest.importorskip("expecttest")  # which PyTorch's tests need
    database = pytest.importorskip("torch.testing._internal.common_methods_invocations")
    found = [each for each in database.op_db if each.name == "nn.functional.scaled_dot_product_attention"]
    assert len(found) == 1
    return found[0]


def copy_of(values, dtype):
    """Of tensors, leaves of their own."""
    change = lambda x: x.detach().to(dtype).requires_grad_(x.requires_grad)
    return torch.utils._pytree.tree_map_only(torch.Tensor, change, values)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("layout", ["contiguous", "noncontiguous"])
def test_samples(operator, dtype, layout):
    """Values and gradients of each sample, against float64."""
    count = 0
    for sample in operator.sample_inputs("cpu", dtype, requires_grad=True):
        if sample.kwargs["dropout_p"]:
            continue  # math backend, on random numbers
        if layout == "noncontiguous":
            sample = sample.noncontiguous()
        values = copy_of((sample.input, sample.args, sample.kwargs), dtype)
        wide = copy_of((sample.input, sample.args, sample.kwargs), torch.float64)
        o, expected = (operator(each[0], *each[1], **each[2]) for each in (values, wide))
        close(o, expected, SAMPLE_TOLERANCES)
        o.sum().backward()
        expected.sum().backward()
        for own, other in zip(torch.utils._pytree.tree_leaves(values), torch.utils._pytree.tree_leaves(wide)):
            if isinstance(own, torch.Tensor):
                close(own.grad, other.grad, SAMPLE_GRADIENT_TOLERANCES)
        count += 1
    assert count > 12


def test_samples_of_random_numbers(operator):
    """Dropout stays PyTorch's, with its bits."""
    samples = [each for each in operator.sample_inputs("cpu", torch.float32) if each.kwargs["dropout_p"]]
    run = lambda: [operator(each.input, *each.args, **each.kwargs) for each in samples]
    taken = run()
    fovea.torch.deactivate()
    assert samples and all(torch.equal(own, other) for own, other in zip(taken, run()))


def test_samples_without_memory(operator):
    """Shapes, types and strides that torch.compile expects are those that there are; arguments are not changed."""
    from torch._subclasses import FakeTensorMode
    from torch._subclasses.schema_check_mode import SchemaCheckMode
    for sample in operator.sample_inputs("cpu", torch.float32):
        run = lambda: sdpa(sample.input, *sample.args, **sample.kwargs)
        with SchemaCheckMode():
            o = run()
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            fake = lambda x: mode.from_tensor(x)
            arguments = torch.utils._pytree.tree_map_only(torch.Tensor, fake, (sample.input, *sample.args))
            keywords = torch.utils._pytree.tree_map_only(torch.Tensor, fake, sample.kwargs)
            expected = sdpa(*arguments, **keywords)
        assert (o.shape, o.dtype, o.stride()) == (expected.shape, expected.dtype, expected.stride())


# ---- TestSDPA -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # of nested tensors
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("dropout", [0.0, 0.7])
@pytest.mark.parametrize("kind", ["dense", "nested"])
def test_fused_sdp_choice_cpu(kind, dropout, dtype):
    """PyTorch's choice of a backend stays its own."""
    q = torch.randn(2, 8, 128, 64, dtype=dtype)
    if kind == "nested":
        q = torch.nested.nested_tensor([torch.randn(8, 128, 64, dtype=dtype)] * 2)
    expected = SDPBackend.MATH if kind == "nested" or dropout else SDPBackend.FLASH_ATTENTION
    assert torch._fused_sdp_choice(q, q, q, dropout_p=dropout) == expected.value


def vs_math(qkv, wide, dtype, **options):
    """Flash attention of leaves of one type against the math backend over float32 (PyTorch's way), with gradients if
    the leaves require them."""
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        actual = sdpa(*qkv, **options)
    with sdpa_kernel([SDPBackend.MATH]):
        if dtype in HALVES and options.get("attn_mask") is not None and options["attn_mask"].dtype == dtype:
            options["attn_mask"] = options["attn_mask"].float()
        expected = sdpa(*wide, **options)
    assert actual.dtype == dtype and not actual.isnan().any()
    close(actual, expected, TOLERANCES)
    if actual.requires_grad:
        actual.sum().backward()
        expected.sum().backward()


# dtype, batch, rows, heads, dim
FUSED = [(torch.float64, 2, 267, 1, 8), (torch.float32, 2, 267, 3, 8), (torch.float32, 12, 267, 1, 16),
         (torch.float32, 2, 1030, 3, 16), (torch.bfloat16, 2, 267, 3, 16), (torch.bfloat16, 2, 1030, 1, 8),
         (torch.float16, 2, 267, 1, 16), (torch.float16, 2, 1030, 3, 8)]


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("sizes", FUSED, ids=str)
def test_scaled_dot_product_fused_attention_vs_math_cpu(sizes, causal, train):
    """Q, K and V are parts of one tensor."""
    dtype, batch, rows, heads, dim = sizes
    x = torch.randn(batch, rows, 3 * heads * dim, dtype=dtype)
    leaves = x.clone().requires_grad_(train), x.clone().requires_grad_(train)
    parts = lambda x: [each.view(batch, rows, heads, dim).transpose(1, 2) for each in x.split(heads * dim, 2)]
    vs_math(parts(leaves[0]), parts(leaves[1].float() if dtype in HALVES else leaves[1]), dtype, is_causal=causal)
    if train:
        close(leaves[0].grad, leaves[1].grad, GRADIENT_TOLERANCES)


def leaves_of(dtype, train, kv_heads=3, heads=3, rows=267, keys=514):
    """Q, K and V of (batch, rows, heads, dim), transposed; and the same as float32."""
    own = [torch.randn(2, length, count, 8, dtype=dtype) for length, count in ((rows, heads), (keys, kv_heads),
                                                                              (keys, kv_heads))]
    pairs = [[x.clone().requires_grad_(train) for x in own] for _ in range(2)]
    wide = [x.float() if dtype in HALVES else x for x in pairs[1]]
    return pairs, [x.transpose(1, 2) for x in pairs[0]], [x.transpose(1, 2) for x in wide]


def close_gradients(pairs):
    for own, other in zip(*pairs):
        close(own.grad, other.grad, GRADIENT_TOLERANCES)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("kind", ["bool", "numbers"])
@pytest.mark.parametrize("axes", [2, 4])
def test_scaled_dot_product_fused_attention_mask_vs_math_cpu(dtype, kind, axes):
    extents = [(2, 1), (3, 1), (267, 1), (514, 1)][4 - axes:]
    for i, shape in enumerate(itertools.product(*extents)):
        mask = torch.randint(0, 2, shape, dtype=torch.bool) if kind == "bool" else torch.randn(shape, dtype=dtype)
        train = i % 2 == 0
        pairs, own, wide = leaves_of(dtype, train)
        vs_math(own, wide, dtype, attn_mask=mask)
        if train:
            close_gradients(pairs)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("heads", [(65, 5), (16, 4), (27, 1), (5, 1)], ids=str)
def test_scaled_dot_product_fused_attention_gqa_vs_math_cpu(dtype, heads):
    _, own, wide = leaves_of(dtype, False, heads=heads[0], kv_heads=heads[1], rows=103, keys=100)
    for mask in (None, torch.randint(0, 2, (103, 100), dtype=torch.bool)):
        vs_math(own, wide, dtype, attn_mask=mask, enable_gqa=True)
    vs_math(own, wide, dtype, is_causal=True, enable_gqa=True)


def test_scaled_dot_product_fused_attention_with_inf():
    """pytorch issue 127055: rows that see keys only after many that are hidden."""
    full = torch.full((600, 600), -torch.inf)
    mask = full.triu(1) + full.tril(-10)
    q, k, v = torch.randn(3, 1, 2, 600, 8)
    with sdpa_kernel([SDPBackend.MATH]):
        expected = sdpa(q, k, v, attn_mask=mask)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        torch.testing.assert_close(sdpa(q, k, v, attn_mask=mask), expected)


def test_scaled_dot_product_attention_with_negative_scale():
    """pytorch issue 105190; by flash attention as well."""
    x = torch.randn(1, 3, 64, 64)
    expected = (x @ x.transpose(-1, -2) / -0.0001).softmax(-1) @ x
    for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        with sdpa_kernel([backend]):
            torch.testing.assert_close(sdpa(x, x, x, scale=-1.0 / 0.0001), expected)


# ---- TestSDPAFailureModes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION])
def test_invalid_inputs(backend):
    q, half = torch.randn(1, 4, 8, 16), torch.randn(1, 4, 8, 16, dtype=torch.float16)
    with sdpa_kernel([backend]):
        with pytest.raises(RuntimeError):
            sdpa(q, half, half)
        with pytest.raises(RuntimeError):
            sdpa(half[0, 0, 0, :4], half[0, 0], half[0, 0])


# ---- TestAttnBias ---------------------------------------------------------------------------------------------------

SHAPES = [(128, 128, 16), (128, 256, 32), (256, 128, 32), (23, 56, 15)]  # rows, keys, dim


def half_leaves(rows, keys, dim):
    return [torch.rand(2, 4, length, dim, dtype=torch.float16, requires_grad=True) for length in (rows, keys, keys)]


def compare_bias(function, bias, shape):
    own = half_leaves(*shape)
    other = [x.detach().clone().requires_grad_() for x in own]
    o, expected = function(*own, attn_mask=bias), sdpa(*other, attn_mask=bias._materialize("cpu"))
    torch.testing.assert_close(o, expected, atol=1e-3, rtol=1e-3)
    of = torch.randn_like(o)
    o.backward(of)
    expected.backward(of)
    for a, b in zip(own, other):
        torch.testing.assert_close(a.grad, b.grad, atol=5e-3, rtol=5e-3)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("corner", [causal_upper_left, causal_lower_right])
def test_causal_variants(corner, shape):
    if corner is causal_lower_right and shape[0] > shape[1]:
        pytest.skip("as PyTorch's: rows that see no key would be NaN")
    compare_bias(sdpa, corner(*shape[:2]), shape)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("corner", [causal_upper_left, causal_lower_right])
def test_causal_variants_compile(corner):
    torch._dynamo.reset()
    compare_bias(torch.compile(sdpa, backend="aot_eager", fullgraph=True), corner(23, 56), (23, 56, 15))


def test_is_causal():
    for shape in SHAPES:
        q, k, v = half_leaves(*shape)
        o = sdpa(q, k, v, attn_mask=causal_upper_left(*shape[:2]))
        torch.testing.assert_close(o, sdpa(q, k, v, is_causal=True), atol=1e-3, rtol=1e-3)
    with pytest.raises(ValueError, match="causal=True"):
        sdpa(q, k, v, attn_mask=causal_upper_left(23, 56), is_causal=True)
    mask = torch.randint(0, 2, (23, 56), dtype=torch.bool)  # flash attention on the CPU takes both
    o = sdpa(q, k, v, attn_mask=mask, is_causal=True)
    torch.testing.assert_close(o, sdpa(q, k, v, attn_mask=mask.tril()), atol=1e-3, rtol=1e-3)


# ---- TestTransformers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask_axes", [None, 2, 3])
@pytest.mark.parametrize("padding", [True, False])
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32], ids=str)
def test_multiheadattention_fastpath_attn_mask(mask_axes, padding, dtype):
    """The fast path, which is PyTorch's, and the other, which is Fovea's. Each row sees a key: of others the fast path
    makes NaN, without Fovea as well."""

    def random(*shape):
        if dtype != torch.bool:
            return torch.randn(shape)
        hidden = torch.randint(0, 2, shape, dtype=torch.bool)
        hidden[..., 0] = False
        return hidden

    attention, x = torch.nn.MultiheadAttention(8, 4, batch_first=True), torch.randn(2, 4, 8)
    mask = None if mask_axes is None else random(*((4, 4) if mask_axes == 2 else (8, 4, 4)))
    options = {"attn_mask": mask, "key_padding_mask": random(2, 4) if padding else None, "need_weights": False}
    with torch.no_grad():
        own = attention.train()(x, x, x, **options)[0]
        torch.testing.assert_close(own, attention.eval()(x, x, x, **options)[0])


def test_encoder_is_causal():
    layer = torch.nn.TransformerEncoderLayer(3, 1, 6, batch_first=True).eval()
    x, mask = torch.randn(1, 5, 3), torch.nn.Transformer.generate_square_subsequent_mask(5)
    torch.testing.assert_close(layer(x, src_mask=mask, is_causal=True), layer(x, src_mask=mask))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("dim", [12, 256])
def test_transformerencoder_fastpath(nested, dim):
    layer = torch.nn.TransformerEncoderLayer(dim, 4, dim, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=nested).eval()
    for lengths, rows in (((1, 1, 0), 2), ((98, 90), 100), ((120, 128), 128)):
        x = torch.rand(len(lengths), rows, dim)
        hidden = torch.arange(rows) >= torch.tensor(lengths)[:, None]
        if not lengths[-1]:
            hidden[-1] = True
        with torch.no_grad():
            fast = encoder(x, src_key_padding_mask=hidden)
        slow = encoder(x, src_key_padding_mask=hidden)  # gradients are on
        fast = torch.nn.functional.pad(fast, (0, 0, 0, rows - fast.shape[1]))
        torch.testing.assert_close(*(each.masked_fill(hidden[..., None], 0.0) for each in (fast, slow)))


def test_train_with_pad():
    """Some steps of training, with padding: losses as without Fovea."""

    def losses():
        torch.manual_seed(2)
        layer = torch.nn.TransformerEncoderLayer(2, 2, 4, batch_first=True, activation="gelu", dropout=0)
        encoder = torch.nn.TransformerEncoder(layer, 2).train()
        optimiser = torch.optim.SGD(encoder.parameters(), lr=0.1, momentum=0.9)
        hidden, found = torch.tensor([[True, True, False, False]]), []
        for _ in range(10):
            optimiser.zero_grad()
            x = torch.cat([torch.zeros(1, 2, 2), torch.randn(1, 2, 2)], 1)
            loss = torch.nn.functional.mse_loss(encoder(x, src_key_padding_mask=hidden)[:, 2:], x[:, 2:])
            loss.backward()
            optimiser.step()
            found.append(loss.item())
        return torch.tensor(found)

    taken = losses()
    fovea.torch.deactivate()
    torch.testing.assert_close(taken, losses(), atol=1e-4, rtol=1e-4)
