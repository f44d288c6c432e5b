"""Operators of PyTorch that models consist of, by layers of fovea.nn: the kernels that one_answer() puts in.

Each takes the arguments of its operator, and returns NotImplemented for what it does not take."""

import weakref

import torch

from fovea import nn

TYPES = (torch.float32, torch.bfloat16, torch.float16)

# ---- Products ----------------------------------------------------------------------------------------------------

_packed = {}  # by address: the weight, its version, the layer


def pack(model):
    """Packs the weights of all nn.Linear and nn.MultiheadAttention of a model once, for one_answer(). Without it each
    product packs its second factor anew; results are the same.

    A weight that is changed in place, as optimisers do, is packed anew by each product until pack() is called again.
    What is written through weight.data is not noticed: call pack() after it. The packed weights take memory beside the
    model's own, and end with its layers. Not while another thread computes.
    """
    for module in model.modules():
        weight = _weight_of(module)
        # Weights of inference mode have no version, so changes of them would not be noticed.
        if weight is None or weight.dtype not in TYPES or not weight.is_cpu or weight.is_inference():
            continue
        weight = _plain(weight)
        _packed[weight.data_ptr()] = weight, weight._version, nn.Linear(weight)
        weakref.finalize(module, _packed.pop, weight.data_ptr(), None)


def _weight_of(module):
    if isinstance(module, torch.nn.MultiheadAttention):
        return module.in_proj_weight
    return module.weight if isinstance(module, torch.nn.Linear) else None


def _plain(tensor):
    return tensor.detach() if tensor.requires_grad else tensor


def _rows(tensor):
    """The tensor, or a copy whose rows lie one after the other."""
    return _plain(tensor).contiguous()


def _layer(columns):
    """The linear layer of a product's second factor, (in, out)."""
    weight = _plain(columns).t()
    kept = _packed.get(weight.data_ptr())
    if kept and kept[0].shape == weight.shape and kept[0].stride() == weight.stride() and \
            kept[0].dtype == weight.dtype and kept[0]._version == kept[1]:
        return kept[2]
    return nn.Linear(weight.contiguous())


def _has_product(a, b):
    return a.dtype in TYPES and b.dtype == a.dtype and a.numel() > 0 and b.numel() > 0


def mm(a, b):
    return _layer(b)(_rows(a), threads=torch.get_num_threads()) if _has_product(a, b) else NotImplemented


def addmm(added, a, b, *, beta=1, alpha=1):
    if beta != 1 or alpha != 1 or not _has_product(a, b) or added.dtype not in TYPES:
        return NotImplemented
    if a.dtype != torch.float32:
        return mm(a, b) + added  # as F.linear computes inputs that are not contiguous: the product is rounded first
    added = _plain(added).expand(a.shape[0], b.shape[1])
    if added.stride(1) != 1:
        added = added.contiguous()
    return _layer(b)(_rows(a), residual=added, threads=torch.get_num_threads())


def bmm(a, b):
    if not _has_product(a, b):
        return NotImplemented
    out = torch.empty((a.shape[0], a.shape[1], b.shape[2]), dtype=a.dtype)
    for each, columns, to in zip(_rows(a), _plain(b), out):
        nn.Linear(columns.t().contiguous())(each, out=to, threads=torch.get_num_threads())
    return out


# ---- Sums --------------------------------------------------------------------------------------------------------


def _sum(x, dims, keepdim):
    """The sum over some axes, float32: a product with ones."""
    dims = sorted(dim % x.ndim for dim in dims)
    rest = [dim for dim in range(x.ndim) if dim not in dims]
    shape = [1 if dim in dims else x.shape[dim] for dim in range(x.ndim)]
    rows = _plain(x).permute(*rest, *dims).reshape(*(x.shape[dim] for dim in rest), -1).contiguous()
    ones = nn.Linear(torch.ones(1, rows.shape[-1]))
    sums = ones(rows, out=torch.empty(rows.shape[:-1] + (1,)), threads=torch.get_num_threads())
    return sums.reshape(shape if keepdim else [x.shape[dim] for dim in rest])


def sums(x, dim, keepdim=False, *, dtype=None):
    if not dim or x.dtype not in TYPES or dtype not in (None, x.dtype) or not x.numel():
        return NotImplemented
    return _sum(x, dim, keepdim).to(x.dtype)


def mean(x, dim, keepdim=False, *, dtype=None):
    if not dim or x.dtype not in TYPES or dtype not in (None, x.dtype) or not x.numel():
        return NotImplemented
    total = _sum(x, dim, keepdim)
    return (total / (x.numel() // total.numel())).to(x.dtype)


# ---- Norms and functions -----------------------------------------------------------------------------------------


def layer_norm(x, shape, weight, bias, eps):
    if x.dtype not in TYPES or len(shape) != 1 or not x.numel():
        return NotImplemented
    if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in (x, weight, bias)):
        return NotImplemented  # the backward pass needs means and deviations
    numbers = (None if each is None else _plain(each).float().contiguous() for each in (weight, bias))
    y = nn.LayerNorm(shape[0], *numbers, eps=eps)(_rows(x), threads=torch.get_num_threads())
    unused = x.new_zeros(x.shape[:-1] + (1,), dtype=torch.float32)
    return y, unused, unused.clone()


def _activate(x, name):
    if x.dtype not in TYPES or not x.ndim or not x.numel():
        return NotImplemented
    return nn.activate(_rows(x), name, threads=torch.get_num_threads())


def gelu(x, *, approximate="none"):
    return _activate(x, "gelu_tanh" if approximate == "tanh" else "gelu")


def silu(x):
    return _activate(x, "silu")


def softmax(x, dim, half_to_float):
    if x.dtype not in TYPES or half_to_float or not x.ndim or not x.numel():
        return NotImplemented
    return nn.softmax(_rows(x.movedim(dim, -1)), threads=torch.get_num_threads()).movedim(-1, dim)


KERNELS = {
    "mm": mm,
    "addmm": addmm,
    "bmm": bmm,
    "sum.dim_IntList": sums,
    "mean.dim": mean,
    "native_layer_norm": layer_norm,
    "gelu": gelu,
    "silu": silu,
    "_softmax": softmax,
}
