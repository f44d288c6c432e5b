"""Tensors of other libraries: DLPack's capsules of both ages, and PyTorch's tensors."""

import fovea
import numpy as np
import pytest
import reference
from test_errors import Q, K, V, refused


class Foreign:
    """A tensor of a library that Fovea does not know."""

    def __init__(self, array, old=False):
        self.array, self.old = array, old

    def __dlpack__(self, **options):
        if self.old and options:
            raise TypeError("no such keyword")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("old", [False, True])
def test_dlpack(old):
    expected = fovea.attention(Q, K, V, causal=True)
    out = np.empty(Q.shape, np.float32)
    given = Foreign(out, old)
    assert fovea.attention(*(Foreign(x, old) for x in (Q, K, V)), causal=True, out=given) is given
    assert out.tobytes() == expected.tobytes()
    assert fovea.attention(Foreign(Q, old), K, V, causal=True).tobytes() == expected.tobytes()
    if not old:
        readonly = np.zeros(Q.shape, np.float32)
        readonly.flags.writeable = False
        refused(fovea.ArgumentError, "out is read-only", out=Foreign(readonly))


def test_torch():
    torch = pytest.importorskip("torch")
    q, k, v = (torch.from_numpy(x.copy()) for x in (Q, K, V))
    expected = fovea.attention(Q, K, V, causal=True)
    o, lse = fovea.attention(q, k, v, causal=True, lse=True)
    assert isinstance(o, torch.Tensor) and isinstance(lse, torch.Tensor)
    assert o.numpy().tobytes() == expected.tobytes()
    rows_first = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    assert torch.equal(fovea.attention(*rows_first, causal=True), o)
    narrow = [x.bfloat16() for x in (q, k, v)]
    half = fovea.attention(*narrow)
    assert half.dtype == torch.bfloat16
    assert torch.equal(half, fovea.attention(*(x.float() for x in narrow)).bfloat16())
    refused(fovea.ArgumentError, "q requires a gradient", "detach", q=q.clone().requires_grad_())
    refused(fovea.ArgumentError, "q cannot be read", "meta", q=q.to("meta"))
