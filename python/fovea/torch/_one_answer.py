"""one_answer(): whole models with the same bits for any batch, threads and instruction set."""

import collections
import warnings

import torch

from . import _functions, _products, _sdpa

KERNELS = {**_products.KERNELS, **_functions.KERNELS}
left_to_pytorch = collections.Counter()  # calls of operators that a kernel did not take, by name
# Operators that audit() accepts of PyTorch's own, and that MKL computes (ATen/cpu/vml.h).
OF_MKL = ("trunc",)


class one_answer:  # pylint: disable=invalid-name
    """Makes PyTorch's operators on the CPU that models consist of run on Fovea: products and convolutions, layer norms,
    GELU, SiLU, exp, log, tanh, sigmoid, sine and cosine, square roots, softmax and its logarithm, sums, means and norms
    over axes, embedding bags, products of experts, and scaled_dot_product_attention. Then rows of a result have the same
    bits alone and in a batch, for any torch.set_num_threads() and on every instruction set, if audit() names no other
    operator.

        with fovea.torch.one_answer():
            y = model(x)

        fovea.torch.one_answer()  # or from here on, until end() of what it returns

    For inference in eager mode: layer norms that need gradients, and what torch.compile generates, stay PyTorch's. For
    the process; not while another thread computes. float32, bfloat16 and float16. pack() packs weights once. Numbers that
    a model computes when it is made (frequencies of rotary embeddings) have one answer if it is made within.
    """

    _began = 0

    def __init__(self) -> None:
        self._running = True
        one_answer._began += 1
        if one_answer._began == 1:
            _begin()

    def end(self) -> None:
        """Gives PyTorch's own operators back, if nothing else has begun one_answer(). Does nothing the second time."""
        if not self._running:
            return
        self._running = False
        one_answer._began -= 1
        if one_answer._began == 0:
            _end()

    def __enter__(self) -> "one_answer":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


_state = {}


def _begin():
    _choose_kernels_of_mkl()
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


def _choose_kernels_of_mkl():
    """MKL 2024.2 chooses a function's kernel in its first call. If two threads make that call, one of them may take a
    kernel of some 11 bits (github.com/pytorch/pytorch/issues/188792). One number is computed by one thread."""
    for dtype in (torch.float32, torch.float64):
        for name in OF_MKL:
            getattr(torch, name)(torch.ones(1, dtype=dtype))


def _end():
    torch.backends.mha.set_fastpath_enabled(_state["fast"])
    if not _state["attention"]:
        _sdpa.deactivate()
    _state.clear()  # ends the library


def _kernel(name, function, replaced):

    def run(keys, *arguments, **keywords):
        result = function(*arguments, **keywords)
        if result is NotImplemented:
            left_to_pytorch[name] += 1
        elif result is not _functions.PYTORCHS:
            return result
        return replaced(keys, *arguments, **keywords)

    return run
