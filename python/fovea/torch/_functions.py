"""Sums, norms and functions for one_answer(): by fovea.nn, or by functions of float64 that have one answer themselves.

Each kernel takes the arguments of its operator, and returns NotImplemented for what it does not take, also what PyTorch
refuses, or PYTORCHS if PyTorch's own result is the only one."""

import math

import numpy as np
import torch

from fovea import _fovea, nn

from ._products import TYPES, plain, rows_of, threads

PYTORCHS = object()

# ---- Sums --------------------------------------------------------------------------------------------------------


def _sum(x, dims, keepdim, squares=False):
    """The sum over some axes, none standing for all; float32, sixteen sums by index in each (docs/numerics.md, L3)."""
    dims = sorted(dim % x.ndim for dim in dims or range(x.ndim))
    rest = [dim for dim in range(x.ndim) if dim not in dims]
    count = math.prod(x.shape[dim] for dim in dims)
    numbers = plain(x).float()
    if dims[-1] - dims[0] == len(dims) - 1:  # neighbours
        numbers = numbers.reshape(math.prod(x.shape[:dims[0]]), count, -1)
    else:
        numbers = numbers.permute(*rest, *dims).reshape(-1, count, 1)
    sums = _fovea.sums(numbers.contiguous(), squares=squares, threads=threads())
    return sums.view([1 if dim in dims else x.shape[dim] for dim in range(x.ndim)] if keepdim
                     else [x.shape[dim] for dim in rest])


def _has_sum(x, dims, dtype):
    dims = dims or ()
    return (x.dtype in TYPES and dtype in (None, x.dtype) and x.ndim > 0 and x.numel() > 0
            and all(-x.ndim <= dim < x.ndim for dim in dims) and len({dim % x.ndim for dim in dims}) == len(dims))


def sums(x, dim=None, keepdim=False, *, dtype=None):
    if not x.is_floating_point() and not (dtype or torch.int64).is_floating_point:
        return PYTORCHS
    return _sum(x, dim, keepdim).to(x.dtype) if _has_sum(x, dim, dtype) else NotImplemented


def mean(x, dim=None, keepdim=False, *, dtype=None):
    if not _has_sum(x, dim, dtype):
        return NotImplemented
    total = _sum(x, dim, keepdim)
    return (total / (x.numel() // total.numel())).to(x.dtype)


def vector_norm(x, order=2, dim=None, keepdim=False, *, dtype=None):
    dim = [dim] if isinstance(dim, int) else dim
    if order != 2 or not _has_sum(x, dim, dtype):
        return NotImplemented
    total = _sum(x, dim, keepdim, squares=True)
    return square_root(total).to(x.dtype)


SUM, MEAN, MAX = range(3)  # of an embedding bag


def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=SUM, sparse=False, factors=None,
                  has_end=False, padding=-1):
    """Rows of a table, summed as sums() adds. Bags of one length are summed together."""
    if mode == MAX:
        return PYTORCHS
    bags = _bags(weight, indices, offsets, mode, factors, has_end, padding)
    if bags is None:
        return NotImplemented
    y = torch.zeros((len(bags), weight.shape[1]), dtype=weight.dtype)
    by_length = {}
    for number, places in enumerate(bags):
        by_length.setdefault(len(places), []).append(number)
    by_length.pop(0, None)
    for length, numbers in by_length.items():
        at = torch.tensor([bags[number] for number in numbers])
        rows = plain(weight)[indices[at]].float()
        if factors is not None:
            rows *= factors[at].float()[..., None]
        total = _sum(rows, [1], False)
        y[torch.tensor(numbers)] = (total / length if mode == MEAN else total).to(weight.dtype)
    none = torch.empty(0, dtype=torch.int64)  # what only a backward pass reads
    return y, none, torch.tensor([len(places) for places in bags]), none


def _bags(weight, indices, offsets, mode, factors, has_end, padding):
    """The places of `indices` that each bag has. None: PyTorch refuses them, or needs them for a backward pass."""
    if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in (weight, factors)):
        return None
    if weight.dtype not in TYPES or weight.ndim != 2 or not weight.numel() or not indices.ndim == offsets.ndim == 1:
        return None
    if not {indices.dtype, offsets.dtype} <= {torch.int32, torch.int64}:
        return None
    if factors is not None and (mode != SUM or factors.dtype is not weight.dtype or factors.shape != indices.shape):
        return None
    rows, limits = indices.tolist(), [*offsets.tolist(), *([] if has_end else [len(indices)])]
    if len(limits) < 2 or limits[0] != 0 or limits[-1] != len(rows) or limits != sorted(limits):
        return None
    if not all(0 <= row < len(weight) for row in rows):
        return None
    return [[place for place in range(*ends) if rows[place] != padding] for ends in zip(limits, limits[1:])]


# ---- Norms and softmax -------------------------------------------------------------------------------------------


_empty = torch.empty(0), torch.empty(0)  # means and deviations, which only a backward pass reads


def layer_norm(x, shape, weight, bias, eps):
    if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in (x, weight, bias)):
        return NotImplemented  # the backward pass needs means and deviations
    y = _fovea.normalise_rows(x, shape[0], weight, bias, eps, threads()) if len(shape) == 1 else None
    if y is not None:
        return y, *_empty
    if x.dtype not in TYPES or len(shape) != 1 or not x.numel() or x.shape[-1:] != tuple(shape):
        return NotImplemented
    if any(each is not None and each.shape != tuple(shape) for each in (weight, bias)):
        return NotImplemented
    numbers = (None if each is None else plain(each).float().contiguous() for each in (weight, bias))
    y = nn.LayerNorm(shape[0], *numbers, eps=eps)(rows_of(x), threads=threads())
    return y, *_empty


def _of_last_axis(function, x, dim):
    if dim in (-1, x.ndim - 1):
        return function(x)
    return function(x.movedim(dim, -1)).movedim(-1, dim)


def softmax(x, dim, half_to_float):
    if x.dtype not in TYPES or half_to_float or not x.ndim or not x.numel():
        return NotImplemented
    return _of_last_axis(lambda x: nn.softmax(rows_of(x), threads=threads()), x, dim)


def log_softmax(x, dim, half_to_float):
    if x.dtype not in TYPES or half_to_float or not x.ndim or not x.numel():
        return NotImplemented
    return _of_last_axis(lambda x: _fovea.log_softmax(rows_of(x).float(), threads=threads()), x,
                         dim).to(x.dtype)


# ---- Functions of numbers ----------------------------------------------------------------------------------------


def _activate(x, name):
    y = _fovea.activate_rows(x, name, threads())
    if y is not None:
        return y
    if x.dtype not in TYPES or not x.ndim or not x.numel():
        return NotImplemented
    return nn.activate(rows_of(x), name, threads=threads())


def gelu(x, *, approximate="none"):
    names = {"none": "gelu", "tanh": "gelu_tanh"}
    return _activate(x, names[approximate]) if approximate in names else NotImplemented


def silu(x):
    return _activate(x, "silu")


def _apply(x, name, **keywords):
    if x.dtype not in TYPES or not x.numel():
        return NotImplemented
    return _fovea.apply(rows_of(x).float(), name, threads=threads(), **keywords).to(x.dtype)


def _function(name):
    return lambda x: _apply(x, name)


def _turn(name):
    """A sine or a cosine. Angles above 2^20, where a float says little of the turn, are left to PyTorch."""
    return lambda x: _apply(x, name) if x.numel() and x.dtype in TYPES and x.abs().amax() <= 2**20 else NotImplemented


def power(base, exponent):
    if not isinstance(base, (int, float)) or not 0 < base < math.inf:
        return NotImplemented
    return _apply(exponent, "power", base=float(base))


def square_root(x):
    """By NumPy, which rounds once: MKL, whose square root PyTorch calls, does not on CPUs of AMD."""
    if x.dtype not in TYPES:
        return NotImplemented
    numbers = plain(x).float()
    y = torch.empty_like(numbers)
    with np.errstate(invalid="ignore"):
        np.sqrt(numbers.numpy(), out=y.numpy())
    return y.to(x.dtype)


def rsqrt(x):
    """In 16 bits PyTorch rounds square roots too, or does not, by where in a tensor they are."""
    if x.dtype not in TYPES:
        return NotImplemented
    return PYTORCHS if x.dtype is torch.float32 else plain(x).float().rsqrt_().to(x.dtype)


def in_place(function):

    def run(x, **keywords):
        result = function(x, **keywords)
        return x.copy_(result) if isinstance(result, torch.Tensor) else result

    return run


_OF_NUMBERS = {
    "gelu": gelu,
    "silu": silu,
    "sqrt": square_root,
    "rsqrt": rsqrt,
    **{name: _function(name) for name in ("exp", "log", "sigmoid", "tanh")},
    **{name: _turn(name) for name in ("cos", "sin")},
}

KERNELS = {
    "sum": sums,
    "sum.dim_IntList": sums,
    "mean": mean,
    "mean.dim": mean,
    "linalg_vector_norm": vector_norm,
    "_embedding_bag": embedding_bag,
    "_embedding_bag_forward_only": embedding_bag,
    "native_layer_norm": layer_norm,
    "_softmax": softmax,
    "_log_softmax": log_softmax,
    "pow.Scalar": power,
    **_OF_NUMBERS,
    **{f"{name}_": in_place(function) for name, function in _OF_NUMBERS.items()},
}
