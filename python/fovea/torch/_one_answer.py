"""one_answer(): whole models with the same bits for any batch, threads and instruction set; audit() says which
operators of a model keep that promise."""

import collections
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import _sdpa
from ._layers import KERNELS

_left_to_pytorch = collections.Counter()  # calls of operators that a kernel did not take


class one_answer:  # pylint: disable=invalid-name
    """Makes PyTorch's operators on the CPU that models consist of run on Fovea: products (mm, addmm, bmm), layer norms,
    GELU, SiLU, softmax, sums and means over axes, and scaled_dot_product_attention. Then rows of a result have the same
    bits alone and in a batch, for any torch.set_num_threads() and on every instruction set, if audit() names no other
    operator.

        with fovea.torch.one_answer():
            y = model(x)

        fovea.torch.one_answer()  # or from here on, until end() of what it returns

    For inference in eager mode: layer norms that need gradients, and what torch.compile generates, stay PyTorch's. For
    the process; not while another thread computes. float32, bfloat16 and float16. pack() packs weights once.
    """

    _began = 0

    def __init__(self):
        self._running = True
        one_answer._began += 1
        if one_answer._began == 1:
            _begin()

    def end(self):
        """Gives PyTorch's own operators back, if nothing else has begun one_answer(). Does nothing the second time."""
        if not self._running:
            return
        self._running = False
        one_answer._began -= 1
        if one_answer._began == 0:
            _end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


_state = {}


def _begin():
    library = torch.library.Library("aten", "IMPL", "CPU")
    with warnings.catch_warnings():  # of kernels that are overridden, which is what the caller has asked for
        warnings.filterwarnings("ignore", message=".*other operators may also be overridden", category=UserWarning)
        for name, function in KERNELS.items():
            replaced = torch.library.get_kernel(f"aten::{name}", "CPU").call_boxed
            library.impl(name, _kernel(name, function, replaced), "CPU", with_keyset=True)
    _state.update(library=library, attention=_sdpa.is_active(), fast=torch.backends.mha.get_fastpath_enabled())
    torch.backends.mha.set_fastpath_enabled(False)  # its kernels are fused with PyTorch's attention
    if not _state["attention"]:
        _sdpa.activate()


def _end():
    torch.backends.mha.set_fastpath_enabled(_state["fast"])
    if not _state["attention"]:
        _sdpa.deactivate()
    _state.clear()  # ends the library


def _kernel(name, function, replaced):

    def run(keys, *arguments, **keywords):
        result = function(*arguments, **keywords)
        if result is NotImplemented:
            _left_to_pytorch[name] += 1
            return replaced(keys, *arguments, **keywords)
        return result

    return run


# ---- Audit -------------------------------------------------------------------------------------------------------

# Operators that copy, or round each result once as IEEE 754 has it, so that every CPU has the same bits.
_EXACT = set("""abs add add_ arange bitwise_and bitwise_not bitwise_or bitwise_xor cat clamp clone constant_pad_nd copy_
    div div_ embedding empty empty_like eq expand fill_ full full_like ge gt index index_select le logical_and
    logical_not logical_or lt masked_fill masked_fill_ max maximum min minimum mul mul_ ne neg new_ones new_zeros ones
    ones_like relu relu_ repeat rsub scalar_tensor sqrt stack sub sub_ tril triu where zeros zeros_like _to_copy
    _unsafe_view""".split())

Operator = collections.namedtuple("Operator", "name calls one_answer")
Operator.__doc__ = "An operator that ran: its name, how often, and whether it has one answer."


class _Recorder(TorchDispatchMode):

    def __init__(self):
        super().__init__()
        self.calls = collections.Counter()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        self.calls[function] += 1
        return function(*arguments, **(keywords or {}))


def _is_view(function):
    returns = function._schema.returns
    return bool(returns) and all(each.alias_info is not None and not each.alias_info.is_write for each in returns)


def audit(model, *inputs, **keywords):
    """Runs model(*inputs, **keywords) within one_answer(), without gradients, and returns an Operator for each operator
    that ran, in the order of their first calls. What has one_answer False may have other bits for another batch, number
    of threads or instruction set.
    """
    before = _left_to_pytorch.copy()
    with one_answer(), torch.no_grad(), _Recorder() as recorder:
        model(*inputs, **keywords)
    found = []
    for function, calls in recorder.calls.items():
        name = function.__name__ if function.__name__ in KERNELS else function.overloadpacket.__name__
        keeps = _is_view(function) or name in _EXACT or name == _sdpa.OPERATOR or function.namespace == "fovea" or \
            (name in KERNELS and _left_to_pytorch[name] == before[name])
        found.append(Operator(str(function), calls, keeps))
    return found
