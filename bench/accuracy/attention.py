"""Ways of others to compute rows of a head (reference.Head): PyTorch in bf16, SageAttention's recipe."""

import numpy
import torch

from reference import hide


def torch_bf16(head):
    """PyTorch's scaled_dot_product_attention in bf16, with a mask where rows see less than all keys."""
    q, k, v = (torch.from_numpy(numpy.ascontiguousarray(x)).bfloat16()[None, None] for x in (head.q, head.k, head.v))
    seen = torch.arange(len(head.k)) <= torch.from_numpy(head.last)[:, None]
    mask = None if bool(seen.all()) else seen[None, None]
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, scale=head.scale)[0, 0].float().numpy()


def codes(x, axis):
    """int8 codes and their scales: one for each row (axis 1) or column (axis 0)."""
    scale = numpy.abs(x).max(axis, keepdims=True) / numpy.float32(127)
    return numpy.rint(x / numpy.where(scale == 0, 1, scale)), scale


def f16(x):
    return x.astype(numpy.float16).astype(numpy.float32)


def sage(head, values):
    """SageAttention (2410.02367), one scale a token, K less its mean over all keys of this very text. `values` f16: P
    and V in f16, sums in f32 (kinder than its kernel, which sums in f16). int8: P in steps of 1/127 of the row's
    largest weight, V with a scale for each channel."""
    k, k_scale = codes(head.k - head.k.mean(0), 1)
    q, q_scale = codes(head.q * numpy.float32(head.scale), 1)
    scores = hide((q @ k.T) * q_scale * k_scale.T, head)
    p = numpy.exp(scores - scores.max(1, keepdims=True)).astype(numpy.float32)
    total = p.sum(1, keepdims=True)
    if values == "f16":
        return f16(p) @ f16(head.v) / total
    v, v_scale = codes(head.v, 0)
    return numpy.rint(p * 127) @ v * v_scale / 127 / total
