"""Rows of one head, and ways of others to compute them: float64, PyTorch in bf16, SageAttention's recipe."""

from dataclasses import dataclass

import numpy
import torch


@dataclass
class Head:
    """Some rows of a head. Row i, at `positions`[i], sees the keys 0 to last[i]."""

    q: numpy.ndarray  # (rows, dim)
    k: numpy.ndarray  # (keys, dim)
    v: numpy.ndarray
    last: numpy.ndarray
    scale: float


def hide(scores, head):
    return numpy.where(numpy.arange(len(head.k)) <= head.last[:, None], scores, -numpy.inf)


def weights(head):
    """In float64, without the division by their sum."""
    scores = hide(head.q.astype(numpy.float64) @ head.k.T.astype(numpy.float64) * head.scale, head)
    return numpy.exp(scores - scores.max(1, keepdims=True))


def exact(head):
    p = weights(head)
    return p @ head.v.astype(numpy.float64) / p.sum(1, keepdims=True)


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
