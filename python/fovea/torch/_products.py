"""Products for one_answer(), by linear layers of fovea.nn; pack() packs their weights once.

Each kernel takes the arguments of its operator, and returns NotImplemented for what it does not take."""

import weakref

import torch

from fovea import _fovea, nn

threads = torch.get_num_threads
TYPES = (torch.float32, torch.bfloat16, torch.float16)


def plain(tensor):
    """The tensor without what autograd has recorded, before kernels run."""
    return tensor.detach() if tensor.requires_grad else tensor


def rows_of(tensor):
    """The tensor, or a copy whose elements lie one after the other."""
    return plain(tensor).contiguous()


# ---- Weights -----------------------------------------------------------------------------------------------------


_packed = _fovea.PackedWeights()


def pack(model: torch.nn.Module) -> None:
    """Packs the weights of a model's nn.Linear, nn.MultiheadAttention and nn.Conv1d to nn.Conv3d once, for one_answer().
    Without it each product packs its second factor anew; results are the same.

    A weight that is changed in place, as optimisers do, is packed anew by each product until pack() is called again.
    What is written through weight.data is not noticed: call pack() after it. The packed weights take memory beside the
    model's own, and end with its layers. Not while another thread computes.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model is a {type(model).__name__}; it must be a torch.nn.Module")
    for module in model.modules():
        weight = _weight_of(module)
        # Weights of inference mode have no version, so changes of them would not be noticed.
        if weight is None or weight.dtype not in TYPES or not weight.is_cpu or weight.is_inference():
            continue
        weight = plain(weight)
        if weight.is_contiguous():
            _packed.keep(weight.reshape(len(weight), -1))
            weakref.finalize(module, _packed.drop, weight.data_ptr())


def _weight_of(module):
    if isinstance(module, torch.nn.MultiheadAttention):
        return module.in_proj_weight
    is_linear = isinstance(module, torch.nn.Linear)
    is_convolution = isinstance(module, (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)) and module.groups == 1
    return module.weight if is_linear or is_convolution else None


def _layer(columns):
    """The linear layer of a product's second factor, (in, out)."""
    kept = _packed.find(columns)
    return nn.Linear(plain(columns).t().contiguous()) if kept is None else kept


# ---- Products ----------------------------------------------------------------------------------------------------


# What PyTorch refuses is left to it, so that it refuses it by its own exceptions.


def _has_product(a, b, axes=2):
    """Whether two matrices, or batches of these, have a product."""
    return (a.dtype in TYPES and b.dtype is a.dtype and a.ndim == b.ndim == axes and a.shape[:-2] == b.shape[:-2]
            and a.shape[-1] == b.shape[-2] and a.numel() > 0 and b.numel() > 0)


def _has_sum(added, a, b):
    """Whether a tensor may be added to their product: it has its shape, or 1 along an axis."""
    shape = (*a.shape[:-1], b.shape[-1])
    return added.dtype is a.dtype and added.ndim <= len(shape) and all(
        size in (1, wanted) for size, wanted in zip(reversed(added.shape), reversed(shape)))


def _sum(added, product, beta, alpha):
    """beta * added + alpha * product, each step rounded once."""
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return product + (added if beta == 1 else added * beta)


def mm(a, b):
    y = _packed.multiply(a, b, None, threads())
    if y is not None:
        return y
    return _layer(b)(rows_of(a), threads=threads()) if _has_product(a, b) else NotImplemented


def addmm(added, a, b, *, beta=1, alpha=1):
    y = _packed.multiply(a, b, added, threads()) if beta == 1 and alpha == 1 else None
    if y is not None:
        return y
    if not _has_product(a, b) or not _has_sum(added, a, b):
        return NotImplemented
    # In other types the product is rounded first, as F.linear computes inputs that are not contiguous.
    if a.dtype is torch.float32 and beta == 1 and alpha == 1 and added.shape == b.shape[1:]:
        return _layer(b)(rows_of(a), bias=rows_of(added), threads=threads())
    return _sum(plain(added), mm(a, b), beta, alpha)


def bmm(a, b):
    if not _has_product(a, b, axes=3):
        return NotImplemented
    if b.stride(0) == 0:
        return mm(rows_of(a).flatten(0, 1), b[0]).unflatten(0, a.shape[:2])
    out = torch.empty((a.shape[0], a.shape[1], b.shape[2]), dtype=a.dtype)
    for each, columns, to in zip(rows_of(a), b, out):
        _layer(columns)(each, out=to, threads=threads())
    return out


def baddbmm(added, a, b, *, beta=1, alpha=1):
    if not _has_product(a, b, axes=3) or not _has_sum(added, a, b):
        return NotImplemented
    return _sum(plain(added), bmm(a, b), beta, alpha)


def grouped_mm(a, b, ends=None, bias=None, out_dtype=None):
    """Some rows of `a` times a matrix of `b`, then the next rows times the next: the experts of a mixture."""
    if ends is None or ends.dtype is not torch.int32 or ends.ndim != 1 or bias is not None:
        return NotImplemented
    if out_dtype not in (None, a.dtype) or a.ndim != 2 or b.ndim != 3 or len(b) == 0:
        return NotImplemented
    limits = [0, *ends.tolist()]
    if len(limits) != len(b) + 1 or limits[-1] != len(a) or limits != sorted(limits) or not _has_product(a, b[0]):
        return NotImplemented
    out = torch.empty((len(a), b.shape[2]), dtype=a.dtype)
    for begin, end, columns in zip(limits, limits[1:], b):
        if begin < end:
            out[begin:end] = mm(a[begin:end], columns)
    return out


def mv(a, vector):
    """By a layer of a's rows, so that a linear layer of one vector has the bits that it has of several."""
    if a.ndim != 2 or vector.ndim != 1 or not _has_product(vector[None], a.t()):
        return NotImplemented
    return mm(vector[None], a.t())[0]


def dot(a, b):
    if a.ndim != 1 or b.ndim != 1 or not _has_product(a[None], b[:, None]):
        return NotImplemented
    return mv(a[None], b)[0]


def _has_convolution(x, weight, bias, stride, padding, dilation):
    axes = weight.ndim - 2
    if x.dtype not in TYPES or weight.dtype is not x.dtype or not x.numel() or not weight.numel():
        return False
    if axes < 1 or not x.ndim - 2 == len(stride) == len(padding) == len(dilation) == axes:
        return False
    if x.shape[1] != weight.shape[1] or (bias is not None and
                                         (bias.dtype is not x.dtype or bias.shape != weight.shape[:1])):
        return False
    sizes = zip(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    return all(step > 0 and around >= 0 and apart > 0 and (size - 1) * apart < length + 2 * around
               for length, size, step, around, apart in sizes)


def convolution(x, weight, bias, stride, padding, dilation, transposed, _, groups):
    """A product of the weights and of what lies below them at each place."""
    if transposed or groups != 1 or not _has_convolution(x, weight, bias, stride, padding, dilation):
        return NotImplemented
    axes = weight.ndim - 2
    below = torch.nn.functional.pad(plain(x), [each for size in reversed(padding) for each in (size, size)])
    for axis, (size, step, apart) in enumerate(zip(weight.shape[2:], stride, dilation), start=2):
        below = below.unfold(axis, (size - 1) * apart + 1, step)[..., ::apart]
    # (batch, in, places of each axis, sizes of the weights)
    places = below.shape[2:2 + axes]
    rows = below.permute(0, *range(2, 2 + axes), 1, *range(2 + axes, 2 + 2 * axes)).reshape(-1, weight[0].numel())
    columns = weight.reshape(len(weight), -1).t()
    y = mm(rows, columns) if bias is None else addmm(bias, rows, columns)
    return y.view(len(x), *places, len(weight)).movedim(-1, 1).contiguous()


KERNELS = {
    "mm": mm,
    "addmm": addmm,
    "bmm": bmm,
    "baddbmm": baddbmm,
    "_grouped_mm": grouped_mm,
    "mv": mv,
    "dot": dot,
    "convolution": convolution,
}
