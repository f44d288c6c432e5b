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


def hash_of(tensor):
    return hashlib.sha256(tensor.detach().contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()


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
    usable = {each.name for each in fovea.info().sets if each.usable}
    chosen = {fovea.info().isa, "scalar"} | ({"avx2", "avx512", "neon"} & usable)
    hashes = set()
    for isa in chosen:
        for capability in ("default", "avx2") if isa == "scalar" else ("default",):  # of PyTorch's own kernels
            environment = {**os.environ, "FOVEA_ISA": isa, "ATEN_CPU_CAPABILITY": capability}
            done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True,
                                  check=True)
            hashes.add(done.stdout)
    assert len(hashes) == 1 and len(hashes.pop()) == 65


def test_audit():
    """An encoder keeps the promise; what does not is named."""
    found = fovea.torch.audit(encoder(), sentences())
    assert {"aten.addmm.default", "aten.gelu.default", "aten.native_layer_norm.default"} <= {x.name for x in found}
    assert all(each.one_answer for each in found), [each.name for each in found if not each.one_answer]
    found = fovea.torch.audit(lambda x: (x.exp() @ x.transpose(1, 2)).mean(-1), sentences())
    assert [each.name for each in found if not each.one_answer] == ["aten.exp.default"]
    found = fovea.torch.audit(lambda x: x @ x.transpose(1, 2), sentences().double())
    assert [each.name for each in found if not each.one_answer] == ["aten.bmm.default"]


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
    ]
    for function in functions:
        with fovea.torch.one_answer():
            y = function(a, b, c)
        torch.testing.assert_close(y.double(), function(a.double(), b.double(), c.double()), atol=1e-5, rtol=1e-5)


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


if __name__ == "__main__":
    with fovea.torch.one_answer():
        print(hash_of(encoder()(sentences()[:3])))
