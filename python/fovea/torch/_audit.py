"""audit(): which operators of a model keep the promise of one_answer()."""

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import _sdpa
from ._one_answer import KERNELS, left_to_pytorch, one_answer

# Operators that copy, compare or choose, count in whole numbers, add one after the other, or round each result once as
# IEEE 754 has it, so that every CPU has the same bits.
_EXACT = set("""abs add add_ all amax amin any arange argmax argmin bitwise_and bitwise_not bitwise_or bitwise_xor cat
    ceil clamp clamp_ clamp_max clamp_min clone constant_pad_nd copy copy_ cumsum detach div div_ embedding empty empty_like
    empty_strided eq equal expand fill fill_ flip floor floor_divide full full_like gather ge gt index index_put index_put_
    index_select isfinite isin isinf isnan le leaky_relu lift_fresh logical_and logical_not logical_or logical_xor lt
    masked_fill masked_fill_ max maximum min minimum mul mul_ ne neg new_empty new_full new_ones new_zeros nonzero ones
    ones_like pow reciprocal relu relu_ remainder repeat roll round rsub scalar_tensor scatter sign slice_scatter sort
    stack sub sub_ topk tril tril_ triu triu_ trunc where zero_ zeros zeros_like _local_scalar_dense _to_copy
    _unsafe_view""".split())
# Operators that PyTorch computes by operators which KERNELS has, and by exact ones.
_OF_KERNELS = {"_safe_softmax"}
_EXACT_POWERS = (-2, -1, 0, 1, 2, 3)  # PyTorch multiplies and divides


def _power(base, exponent):
    if not isinstance(exponent, (int, float)):
        return False
    return exponent in _EXACT_POWERS or (exponent == -0.5 and base.dtype is torch.float32)


def _alpha(_, __, alpha=1, **keywords):
    """PyTorch may fuse other products into a sum."""
    return keywords.get("alpha", alpha) in (1, -1)


_ONLY_IF = {
    **dict.fromkeys(("add", "add_", "sub", "sub_", "rsub"), _alpha),
    "pow": _power,
    "index_put": lambda _, __, ___, accumulate=False: not accumulate,
    "index_put_": lambda _, __, ___, accumulate=False: not accumulate,
    "scatter": lambda *_, reduce=None: reduce is None,
}


class Operator(NamedTuple):
    """An operator that ran: its name, how often, and whether it has one answer."""

    name: str
    calls: int
    one_answer: bool


def _is_view(function):
    returns = function._schema.returns
    return bool(returns) and all(each.alias_info is not None and not each.alias_info.is_write for each in returns)


def _has_complex(arguments):
    return any(isinstance(each, torch.Tensor) and each.is_complex() for each in arguments)


def _is_exact(function, arguments, keywords):
    name = function.overloadpacket.__name__
    return function.namespace == "fovea" or _is_view(function) or (name in _EXACT and not _has_complex(arguments) and
                                  (name not in _ONLY_IF or _ONLY_IF[name](*arguments, **keywords)))


class Recorder(TorchDispatchMode):

    def __init__(self):
        super().__init__()
        self.calls, self.lost = collections.Counter(), set()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        name = function.__name__.removesuffix(".default")  # another overload, as out=, has a kernel of its own
        ours = name in KERNELS or name in _OF_KERNELS or name == _sdpa.OPERATOR
        before = left_to_pytorch.total() + _sdpa.calls_left()
        result = function(*arguments, **keywords)
        left = left_to_pytorch.total() + _sdpa.calls_left() > before
        self.calls[function] += 1
        if left if ours else not _is_exact(function, arguments, keywords):
            self.lost.add(function)
        return result


def audit(model: Callable[..., object], *inputs: Any, **keywords: Any) -> list[Operator]:
    """Runs model(*inputs, **keywords) within one_answer(), without gradients, and returns an Operator for each operator
    that ran, in the order of their first calls. What has one_answer False may have other bits for another batch, number
    of threads or instruction set.
    """
    if not callable(model):
        raise TypeError(f"model is a {type(model).__name__}; it must be a function or a torch.nn.Module")
    with one_answer(), torch.no_grad(), Recorder() as recorder:
        model(*inputs, **keywords)
    return [Operator(str(function), calls, function not in recorder.lost) for function, calls in recorder.calls.items()]
