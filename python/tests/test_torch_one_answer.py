"""fovea.torch.one_answer(): a model's output by sha256, whatever its batch, threads and instruction set."""

import hashlib
import os
import subprocess
import sys

import fovea
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import fovea.torch  # pylint: disable=wrong-import-position
from fovea import _fovea  # pylint: disable=wrong-import-position
from fovea.torch import _audit, _one_answer  # pylint: disable=wrong-import-position


def hash_of(tensor):
    return hashlib.sha256(tensor.detach().reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()


def encoder(dtype=torch.float32):
    """Two layers with weights that are the same on every machine."""
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu")
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval().requires_grad_(False)
    random = np.random.default_rng(1)
    for weight in model.parameters():
        numbers = random.standard_normal(tuple(weight.shape), dtype=np.float32)
        weight.copy_(torch.from_numpy(numbers / 8 + (weight.ndim == 1)))
    return model.to(dtype)


def sentences(dtype=torch.float32):
    return torch.from_numpy(np.random.default_rng(2).standard_normal((16, 40, 64), dtype=np.float32)).to(dtype)


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_batches_and_threads(dtype):
    model, x = encoder(dtype), sentences(dtype)
    own = model(x)
    hashes = set()
    with fovea.torch.one_answer():
        for threads_used in (1, 2, 3):
            torch.set_num_threads(threads_used)
            for batch in (1, 3, 16):
                hashes.add(hash_of(model(x[:batch])[0]))
        fovea.torch.pack(model)
        hashes.add(hash_of(model(x[:3])[0]))
        o = model(x)
    assert len(hashes) == 1
    assert not torch.equal(o, own)  # it is Fovea that ran
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 0.15, torch.float16: 2e-2}[dtype]
    expected = encoder().double()(x.double())
    torch.testing.assert_close(o.double(), expected, atol=tolerance, rtol=tolerance)


def test_padding():
    """A sentence keeps its bits if padding follows it that a mask hides, and so does a sum over its rows."""
    model, x = encoder(), sentences()
    padded = x[:3].clone()
    padded[0, 23:] = 0
    hidden = torch.zeros(3, 40, dtype=torch.bool)
    hidden[0, 23:] = True
    with fovea.torch.one_answer():
        alone = model(x[:1, :23])
        among = model(padded, src_key_padding_mask=hidden)
        assert hash_of(among[0, :23]) == hash_of(alone[0])
        assert hash_of((among * ~hidden[..., None]).sum(1)[0]) == hash_of(alone.sum(1)[0])


def test_instruction_sets():
    """The one that is chosen in this process, and others in processes of their own."""
    usable = {each.name for each in fovea.info().sets if each.usable}
    others = ({"scalar"} | ({"avx2", "avx512", "neon"} & usable)) - {fovea.info().isa}
    hashes = {program()}
    for isa in others:
        for capability in ("default", "avx2") if isa == "scalar" else ("default",):  # of PyTorch's own kernels
            environment = {**os.environ, "FOVEA_ISA": isa, "ATEN_CPU_CAPABILITY": capability}
            done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True,
                                  check=True)
            hashes.add(done.stdout.strip())
    different = [at for at, found in enumerate(zip(*(text.split() for text in hashes))) if len(set(found)) > 1]
    assert not different and len(hashes.pop()) > 1000


def test_audit():
    """An encoder keeps the promise; what does not is named."""
    found = fovea.torch.audit(encoder(), sentences())
    assert {"aten.addmm.default", "aten.gelu.default", "aten.native_layer_norm.default"} <= {x.name for x in found}
    assert all(each.one_answer for each in found), [each.name for each in found if not each.one_answer]
    functions = {
        lambda x: (x.exp() @ x.transpose(1, 2)).mean(-1): [],
        lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6): [],
        lambda x: torch.nn.functional.rms_norm(x, (64,)): [],
        lambda x: torch.nn.functional.embedding_bag(torch.tensor([[1, 3, 7]]), x[0]): [],
        lambda x: (x > 0).sum(-1) + (x > 0).cumsum(-1).amax(-1): [],
        lambda x: x.erf() + x.double().exp().float(): ["aten.erf.default", "aten.exp.default"],
        lambda x: x.abs().pow(1.7).add(x, alpha=0.3): ["aten.pow.Tensor_Scalar", "aten.add.Tensor"],
        lambda x: torch.cos(2.0**30 * x): ["aten.cos.default"],
        lambda x: torch.complex(x, x) * torch.complex(x, x): ["aten.complex.default", "aten.mul.Tensor"],
        lambda x: torch.nn.functional.conv1d(x, torch.ones(40, 1, 3), groups=40): ["aten.convolution.default"],
        lambda x: torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None, ..., :32]): [],
        # out= has kernels of its own, which are PyTorch's
        lambda x: torch.mm(x[0], x[0].T, out=x.new_empty(40, 40)): ["aten.mm.out"],
        lambda x: torch.mean(x.exp(), -1, out=x.new_empty(16, 40)).add_(1): ["aten.mean.out"],
        lambda x: torch.exp(x, out=x.new_empty(x.shape)): ["aten.exp.out"],
        lambda x: torch.nn.functional.scaled_dot_product_attention(*[x[None].double()] * 3):
            ["aten._scaled_dot_product_flash_attention_for_cpu.default"],
    }
    for function, named in functions.items():
        found = fovea.torch.audit(function, sentences())
        assert [each.name for each in found if not each.one_answer] == named


# What PyTorch refuses, by shapes, axes and words.
REFUSED = {
    "mm": lambda x: torch.mm(x(3, 4), x(5, 6)),
    "mm of three axes": lambda x: torch.mm(x(2, 3, 4), x(4, 6)),
    "mm of a vector": lambda x: torch.mm(x(4), x(4, 6)),
    "linear": lambda x: torch.nn.functional.linear(x(3, 4), x(6, 5)),
    "addmm, more rows": lambda x: torch.addmm(x(4, 4), x(1, 6), x(6, 4)),
    "addmm, more axes": lambda x: torch.addmm(x(2, 1, 4), x(1, 6), x(6, 4)),
    "addmm, beta": lambda x: torch.addmm(x(9, 9), x(3, 6), x(6, 4), beta=0),
    "bmm, less": lambda x: torch.bmm(x(5, 3, 4), x(2, 4, 6)),
    "bmm, more": lambda x: torch.bmm(x(2, 3, 4), x(5, 4, 6)),
    "bmm, one": lambda x: torch.bmm(x(5, 3, 4), x(1, 4, 6).expand(2, 4, 6)),
    "bmm of matrices": lambda x: torch.bmm(x(3, 4), x(4, 6)),
    "baddbmm": lambda x: torch.baddbmm(x(4, 3, 6), x(1, 3, 4), x(1, 4, 6)),
    "mv": lambda x: torch.mv(x(3, 4), x(5)),
    "mv of a matrix": lambda x: torch.mv(x(3, 4), x(4, 1)),
    "dot": lambda x: torch.dot(x(4), x(5)),
    "dot of matrices": lambda x: torch.dot(x(1, 4), x(1, 4)),
    "experts": lambda x: torch._grouped_mm(x(3, 16), x(2, 32, 8), offs=torch.tensor([1, 3], dtype=torch.int32)),
    "experts, ends": lambda x: torch._grouped_mm(x(3, 16), x(2, 16, 8), offs=torch.tensor([1.0, 3.0])),
    "bags of fractions": lambda x: torch.ops.aten._embedding_bag(x(4, 3), x(2), torch.tensor([0])),
    "bags": lambda x: torch.nn.functional.embedding_bag(torch.tensor([[1, 9]]), x(4, 3)),
    "bags, begins": lambda x: torch.nn.functional.embedding_bag(torch.tensor([1, 2]), x(4, 3), torch.tensor([1, 2])),
    "mean": lambda x: x(3, 4).mean(5),
    "mean, twice": lambda x: x(3, 4).mean((0, -2)),
    "sum": lambda x: x(3, 4).sum(-3),
    "norm": lambda x: torch.linalg.vector_norm(x(3, 4), dim=5),
    "layer norm": lambda x: torch.nn.functional.layer_norm(x(4, 6), (5,)),
    "layer norm's weight": lambda x: torch.nn.functional.layer_norm(x(4, 6), (6,), x(5)),
    "gelu": lambda x: torch.nn.functional.gelu(x(3), approximate="fast"),
    "convolution": lambda x: torch.nn.functional.conv1d(x(1, 3, 9), x(2, 4, 3)),
    "convolution, bias": lambda x: torch.nn.functional.conv1d(x(1, 3, 9), x(2, 3, 5), x(1)),
    "convolution, size": lambda x: torch.nn.functional.conv1d(x(1, 3, 2), x(2, 3, 5)),
    "convolution, padding": lambda x: torch.nn.functional.conv1d(x(1, 3, 9), x(2, 3, 5), padding=-1),
    "convolution, stride": lambda x: torch.nn.functional.conv1d(x(1, 3, 9), x(2, 3, 5), stride=0),
    "convolution, dilation": lambda x: torch.nn.functional.conv1d(x(1, 3, 9), x(2, 3, 5), dilation=0),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_pytorch_refuses(call):
    """It is refused within one_answer(), too, by the same exception."""
    with pytest.raises((RuntimeError, IndexError)) as expected:
        call(torch.ones)
    with fovea.torch.one_answer(), pytest.raises(expected.type) as caught:
        call(torch.ones)
    assert str(caught.value) == str(expected.value)


def test_end():
    """PyTorch's own bits come back, once all that began it have ended."""
    model, x = encoder(), sentences()
    own, fast = hash_of(model(x)), torch.backends.mha.get_fastpath_enabled()
    first = fovea.torch.one_answer()
    with fovea.torch.one_answer():
        taken = hash_of(model(x))
    assert hash_of(model(x)) == taken != own
    first.end()
    first.end()
    assert hash_of(model(x)) == own
    assert torch.backends.mha.get_fastpath_enabled() == fast and not fovea.torch.is_active()


def test_operators():
    """Each operator against float64, with layouts and arguments that modules do not use."""
    a, b, c = (torch.from_numpy(np.random.default_rng(seed).standard_normal((3, 20, 24), dtype=np.float32))
               for seed in range(3))
    functions = [
        lambda a, b, c: a[0] @ b[0].T,
        lambda a, b, c: a[0].T @ b[0],
        lambda a, b, c: torch.addmm(c[0, :, :20], a[0], b[0].T),
        lambda a, b, c: torch.addmm(c[0, :, 0], a[0], b[0].T),
        lambda a, b, c: torch.addmm(c[0, :, :1], a[0], b[0].T, beta=2.0),
        lambda a, b, c: a @ b.transpose(1, 2),
        lambda a, b, c: a.transpose(1, 2) @ b,
        lambda a, b, c: a.sum((0, 2)),
        lambda a, b, c: a.sum(1, keepdim=True),
        lambda a, b, c: a.mean((-1, 0), keepdim=True),
        lambda a, b, c: a.transpose(0, 1).mean(1),
        lambda a, b, c: torch.softmax(a, 1),
        lambda a, b, c: torch.nn.functional.gelu(a.transpose(1, 2), approximate="tanh"),
        lambda a, b, c: torch.nn.functional.silu(a[:, ::2]),
        lambda a, b, c: torch.nn.functional.layer_norm(a, (24,), b[0, 0], None, 1e-3),
        lambda a, b, c: torch.nn.functional.layer_norm(a, (20, 24)),
        lambda a, b, c: a[0] @ b[0, 0],
        lambda a, b, c: torch.nn.functional.linear(a[0, 0], b[0], c[0, :, 0]),
        lambda a, b, c: a[0, 0] @ b[0, 0],
        lambda a, b, c: torch.baddbmm(c[:, :, :20], a, b.transpose(1, 2), beta=0.5, alpha=2.0),
        lambda a, b, c: torch.baddbmm(c[:, :, :20], a, b.transpose(1, 2), beta=0),
        lambda a, b, c: a @ b[:1].expand(3, 20, 24).transpose(1, 2),
        lambda a, b, c: a.sum() + a.mean(),
        lambda a, b, c: a.sum(2),
        lambda a, b, c: torch.nn.functional.normalize(a, dim=-1) + torch.linalg.vector_norm(a, dim=(0, 1)),
        lambda a, b, c: torch.log_softmax(a, -1) + torch.log_softmax(4 * a, 0),
        lambda a, b, c: a.exp() + b.abs().log() + c.tanh() + (3 * a).sigmoid() + (9 * b).sin() + (99 * c).cos(),
        lambda a, b, c: a[:, ::2].mT.exp() + a[:, ::2].mT.clone().tanh_(),
        lambda a, b, c: 10000.0 ** -a,
        lambda a, b, c: a[0, 0, 0].exp(),
        lambda a, b, c: torch.nn.functional.conv1d(a, b[:, :, :3], c[:, 0, 0], padding=1),
        lambda a, b, c: torch.nn.functional.conv1d(a, b[:, :, :5], stride=2, dilation=3),
        lambda a, b, c: torch.nn.functional.conv2d(a.view(2, 3, 10, 24), b.reshape(-1)[:360].view(10, 3, 4, 3),
                                                   c[0, 0, :10], stride=(4, 3)),
    ]
    for function in functions:
        with fovea.torch.one_answer():
            y = function(a, b, c)
        torch.testing.assert_close(y.double(), function(a.double(), b.double(), c.double()), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bags(mode, dtype):
    """A bag has the bits of its rows' sum or mean, whatever other bags there are."""
    random = np.random.default_rng(4)
    table = torch.from_numpy(random.standard_normal((50, 24), dtype=np.float32)).to(dtype)
    rows, begins = torch.from_numpy(random.integers(0, 50, 400)), torch.tensor([0, 7, 7, 130, 140, 147])
    factors = torch.from_numpy(random.standard_normal(400, dtype=np.float32)).to(dtype)
    bags = torch.nn.functional.embedding_bag
    wide = table.double()
    tolerance = dict(atol=1e-5, rtol=1e-5 if dtype is torch.float32 else 2**-8)
    with fovea.torch.one_answer():
        y = bags(rows, table, begins, mode=mode)
        for number, (begin, end) in enumerate(zip(begins.tolist(), [*begins.tolist()[1:], 400])):
            assert torch.equal(y[number], bags(rows[begin:end], table, begins[:1], mode=mode)[0])
            if mode != "max" and begin < end:
                assert torch.equal(y[number], getattr(table[rows[begin:end]].float(), mode)(0).to(dtype))
        ends = torch.cat((begins, torch.tensor([400])))
        assert torch.equal(bags(rows, table, ends, mode=mode, include_last_offset=True), y)
        padded = bags(rows, table, begins, mode=mode, padding_idx=3)
        scaled = bags(rows, table, begins, mode=mode, per_sample_weights=factors) if mode == "sum" else None
    torch.testing.assert_close(y.double(), bags(rows, wide, begins, mode=mode), **tolerance)
    torch.testing.assert_close(padded.double(), bags(rows, wide, begins, mode=mode, padding_idx=3), **tolerance)
    if scaled is not None:
        expected = bags(rows, wide, begins, mode=mode, per_sample_weights=factors.double())
        torch.testing.assert_close(scaled.double(), expected, **tolerance)


def test_embedding_bags_with_gradients():
    rows = torch.tensor([[1, 2, 3]])
    with fovea.torch.one_answer():
        bag = torch.nn.EmbeddingBag(9, 4, mode="mean")
        bag(rows).sum().backward()
    assert torch.equal(bag.weight.grad[1:4], torch.full((3, 4), 1 / 3)) and not bag.weight.grad[4:].any()


def test_products_of_experts():
    """Rows of one expert after the other, one of them without rows, as each expert alone has them."""
    random = np.random.default_rng(5)
    a, b = (torch.from_numpy(random.standard_normal(shape, dtype=np.float32)).bfloat16()
            for shape in ((40, 32), (4, 32, 48)))
    ends = torch.tensor([7, 7, 30, 40], dtype=torch.int32)
    with fovea.torch.one_answer():
        together = torch._grouped_mm(a, b, offs=ends)
        alone = torch.cat([a[:7] @ b[0], a[7:30] @ b[2], a[30:] @ b[3]])
    assert torch.equal(together, alone)
    assert all(each.one_answer for each in fovea.torch.audit(lambda: torch._grouped_mm(a, b, offs=ends)))


def test_what_is_no_model():
    with pytest.raises(TypeError, match="model is a str; it must be a torch.nn.Module"):
        fovea.torch.pack("all-MiniLM-L6-v2")
    with pytest.raises(TypeError, match="model is a str; it must be a function or a torch.nn.Module"):
        fovea.torch.audit("all-MiniLM-L6-v2")


def test_packed_weights_that_change():
    layer = torch.nn.Linear(24, 16)
    x = torch.from_numpy(np.random.default_rng(3).standard_normal((5, 24), dtype=np.float32))
    with fovea.torch.one_answer(), torch.no_grad():
        fovea.torch.pack(layer)
        packed = layer(x)
        layer.weight.mul_(2.0)
        torch.testing.assert_close(layer(x), torch.nn.functional.linear(x, layer.weight, layer.bias))
        assert not torch.equal(layer(x), packed)
        torch.testing.assert_close((layer(x) - layer.bias).double(), x.double() @ layer.weight.double().T,
                                   atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_packed_weights_have_the_bits_of_others(dtype):
    """Also tensors that lie otherwise than a module's, and parts of a packed weight, which begin where it does."""
    layer = torch.nn.Linear(24, 16, dtype=dtype).requires_grad_(False)
    x = torch.from_numpy(np.random.default_rng(6).standard_normal((6, 40, 24), dtype=np.float32)).to(dtype)
    weight, bias = layer.weight, layer.bias
    functions = [
        lambda: layer(x),
        lambda: layer(x[:1, :1]),
        lambda: layer(x[0, 0]),
        lambda: layer(x[:, ::2]),
        lambda: layer(x.transpose(0, 1)),
        lambda: torch.nn.functional.linear(x, weight),
        lambda: torch.nn.functional.linear(x, weight[:5]),
        lambda: torch.nn.functional.linear(x, weight[:5], bias[:5]),
        lambda: torch.nn.functional.linear(x[..., :12], weight[:, :12], bias),
        lambda: torch.nn.functional.linear(x, weight, bias[:1].expand(16)),
        lambda: torch.addmm(bias, x[0], weight.T, alpha=0.5),
        lambda: torch.addmm(bias[:1], x[0], weight.T),
        lambda: torch.mm(x[0, :16].T, weight),
        lambda: torch.mm(x[0, :, :16], weight),
    ]
    with fovea.torch.one_answer():
        expected = [function() for function in functions]
        fovea.torch.pack(layer)
        for number, function in enumerate(functions):
            assert torch.equal(function(), expected[number]), number


def test_gradients():
    """Of a layer that is packed and trained: PyTorch's, of its own operators."""
    layer = torch.nn.Linear(24, 16)
    x = torch.from_numpy(np.random.default_rng(7).standard_normal((5, 24), dtype=np.float32)).requires_grad_()
    with fovea.torch.one_answer():
        fovea.torch.pack(layer)
        layer(x).sum().backward()
    torch.testing.assert_close(x.grad, layer.weight.detach().sum(0).expand(5, 24))
    torch.testing.assert_close(layer.weight.grad, x.detach().sum(0).expand(16, 24))


def test_layouts_have_one_answer():
    """Norms and activations of tensors that lie otherwise, and of weights of other types."""
    x = torch.from_numpy(np.random.default_rng(8).standard_normal((6, 40, 24), dtype=np.float32))
    norm = torch.nn.LayerNorm(24).requires_grad_(False)
    norm.weight.copy_(x[0, 0])
    norm.bias.copy_(x[0, 1])
    functions = [norm, torch.nn.functional.gelu, torch.nn.functional.silu, torch.nn.LayerNorm(24, bias=False)]
    with fovea.torch.one_answer(), torch.no_grad():
        for function in functions:
            y = function(x)
            assert torch.equal(function(x[:, ::2]), y[:, ::2])
            assert torch.equal(function(x.transpose(0, 1)), y.transpose(0, 1))
            assert torch.equal(function(x[1, 1]), y[1, 1])
        assert torch.equal(norm(x.bfloat16()), norm(x.bfloat16().transpose(0, 1)).transpose(0, 1))
        halves = torch.nn.functional.layer_norm(x, (24,), norm.weight.bfloat16(), norm.bias.bfloat16())
        wide = torch.nn.functional.layer_norm(x, (24,), norm.weight.bfloat16().float(), norm.bias.bfloat16().float())
        assert torch.equal(halves, wide)


def test_functions():
    """Within 0.5000001 units in the last place of float64's, also where results are subnormal, infinite or NaN."""
    x = torch.from_numpy(np.random.default_rng(4).standard_normal(20000, dtype=np.float32))
    special = torch.tensor([0.0, -0.0, np.inf, -np.inf, np.nan, 88.8, -103.5, 1e-42])
    x = torch.cat([x, 30 * x, 1e-3 * x, 1e-30 * x, special])
    for function in (torch.exp, torch.log, torch.tanh, torch.sigmoid, torch.sin, torch.cos, lambda x: 1e4**x):
        numbers = x[x.abs() < 1e3] if function in (torch.sin, torch.cos) else x
        with fovea.torch.one_answer():
            y = function(numbers)
        expected = function(numbers.double())
        unit = torch.nextafter(y.abs(), torch.tensor(np.inf)).double() - y.abs().double()
        near = (y.double() - expected).abs() <= 0.5000001 * unit
        assert (near | (y.double() == expected) | (y == expected.float()) | (y.isnan() & expected.isnan())).all()
        assert (y.isnan() | (torch.signbit(y) == torch.signbit(expected.float()))).all()


def test_square_roots():
    """Rounded once, which MKL's are not on each CPU."""
    x = np.random.default_rng(6).random((400, 50), dtype=np.float32) * 4
    given = torch.from_numpy(x)
    with fovea.torch.one_answer():
        roots = [given.sqrt(), given.clone().sqrt_(), given[:, ::2].sqrt(), given[0, 0].sqrt(), (-given[0]).sqrt()]
        length = torch.linalg.vector_norm(given, dim=1)
        squares = _fovea.sums(given[:, :, None].contiguous(), squares=True)[:, 0]
    with np.errstate(invalid="ignore"):
        for root, numbers in zip(roots, (x, x, x[:, ::2], x[0, 0], -x[0])):
            np.testing.assert_array_equal(root.numpy(), np.sqrt(numbers))
    np.testing.assert_array_equal(length.numpy(), np.sqrt(np.asarray(squares)))
    for function, promised in ((given.sqrt, True), (given.double().sqrt, False), (lambda: given**0.5, False)):
        assert [each.one_answer for each in fovea.torch.audit(function)] == [promised]


def test_convolutions_and_packed_weights():
    """Images have the bits that they have in a batch, from packed weights, too."""
    layer = torch.nn.Conv2d(3, 32, 4, stride=4).requires_grad_(False)
    x = torch.from_numpy(np.random.default_rng(5).standard_normal((3, 3, 16, 16), dtype=np.float32))
    with fovea.torch.one_answer():
        y = layer(x)
        fovea.torch.pack(layer)
        assert torch.equal(layer(x), y) and torch.equal(layer(x[1:2]), y[1:2])


def exact_operators(dtype):
    """What audit() says of PyTorch's own operators, at lengths with and without rests of vectors."""
    results = []
    for count in (1, 7, 16, 33, 67, 5000):
        x = torch.from_numpy(np.random.default_rng(count).standard_normal(count, dtype=np.float32)).to(dtype)
        y, z = x.roll(1), x.abs() + 1
        results += [x + y, x - y, x * y, x / z, 2.0 / z, x.reciprocal(), z.rsqrt(), z.sqrt(), x.cumsum(0)]
        results += [x.clamp(-1, 1), x.remainder(z), x // z, x.round(), torch.nn.functional.leaky_relu(x), 3 - x]
        results += [x.to(torch.bfloat16), x.float().to(torch.float16), *(z**power for power in (-2, -1, 2, 3))]
        results += [x.float().abs()**-0.5, x.amax(), x.max(0)[1]]
        results += [*x.round().sort(), *x.round().topk((count + 2) // 3)]  # with equal numbers
    return results


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_exact_operators_are_known(dtype):
    found = fovea.torch.audit(lambda: exact_operators(dtype))
    assert all(each.one_answer for each in found), [each.name for each in found if not each.one_answer]


def test_functions_of_mkl():
    """Their kernels are chosen before threads call them. The names are all IMPLEMENT_VML_MKL of PyTorch 2.13's
    ATen/cpu/vml.h; other functions there are vectors of PyTorch's own."""
    of_mkl = set("acos asin atan cos erf erfc erfinv exp log log10 sin sqrt tan tanh trunc log2".split())
    left = _audit._EXACT - set(_one_answer.KERNELS)
    assert of_mkl & left == set(_one_answer.OF_MKL)


def program():
    """Hashes of all that must be equal on every instruction set."""
    with fovea.torch.one_answer():
        parts = [encoder()(sentences()[:3]), encoder(torch.bfloat16)(sentences(torch.bfloat16)[:3])]
        x = sentences()[0]
        parts += [function(x) for function in (torch.exp, torch.tanh, torch.sigmoid, torch.sin, torch.cos)]
        q, k = x[None, None], x.roll(1)[None, None, :31]
        parts += [torch.nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True)]
        parts += [torch.nn.functional.scaled_dot_product_attention(q, k, k[..., :20])]
        parts += [torch.log_softmax(x, -1), x.norm(dim=0), x.mean(), 1e4**x, x.abs().log()]
        parts += [part for dtype in (torch.float32, torch.bfloat16) for part in exact_operators(dtype)]
    return " ".join(hash_of(part) for part in parts)


if __name__ == "__main__":
    print(program())
