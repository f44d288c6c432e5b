"""PyTorch's scaled dot product attention on the CPU, by PyTorch's own registry of implementations.

F.scaled_dot_product_attention calls aten::_scaled_dot_product_flash_attention_for_cpu if shapes allow it. The
implementation here replaces the kernel of that operator; autograd, torch.compile and the choice between operators stay
PyTorch's. Its backward pass takes O and LSE of Fovea.
"""

import math
import warnings

import torch
from torch.nn.attention import (
    activate_flash_attention_impl,
    current_flash_attention_impl,
    register_flash_attention_impl,
    restore_flash_attention_impl,
)

import fovea

from ._operator import refuse

NAME = "fovea"
OPERATOR = "_scaled_dot_product_flash_attention_for_cpu"
TYPES = (torch.float32, torch.bfloat16, torch.float16)
MODES = ("exact", "bf16")


def activate(*, mode: str = "exact") -> None:
    """Makes F.scaled_dot_product_attention of every model run on Fovea, for tensors on the CPU.

    mode: of bfloat16 tensors. "bf16" multiplies pairs of bfloat16 by AMX, after fovea.allow_amx(), or by AVX-512 BF16, as
    PyTorch's own kernel does: prefill is faster, results have other bits and larger errors (docs/modes.md), and the
    promise is the same. It is slower on CPUs that have neither, and for single rows. Tensors of other types are computed
    exactly.

    What Fovea takes: float32, bfloat16, float16; batch, heads and kv heads (enable_gqa) of any numbers; is_causal;
    attn_mask of bool or numbers, broadcast or not; any scale; any strides that PyTorch's own kernel takes. A result has
    the same bits for any batch, number of threads (torch.set_num_threads) and instruction set. Gradients are those of
    PyTorch's own backward pass over Fovea's output.

    PyTorch goes on to compute what Fovea does not take, by its own kernel: float64, and whatever the library refuses.
    PyTorch does not ask the implementation, here or elsewhere, about dropout, a mask that needs a gradient, v of
    another dim than k, tensors of three axes, and fast paths of nn.MultiheadAttention and nn.TransformerEncoderLayer
    (torch.backends.mha.set_fastpath_enabled(False) turns them off).

    Without a mode the same as torch.nn.attention.activate_flash_attention_impl("fovea") after `import fovea.torch`. For
    the process; not while another thread computes.
    """
    if mode not in MODES:
        refuse("mode", f"is {mode!r}; it must be one of {', '.join(map(repr, MODES))}")
    _mode[0] = mode
    try:
        activate_flash_attention_impl(NAME)
    finally:
        _mode[0] = "exact"


def deactivate() -> None:
    """Gives PyTorch's own kernel back, and so its bits. Does nothing if Fovea is not active."""
    if is_active():
        restore_flash_attention_impl()


def is_active() -> bool:
    """Whether F.scaled_dot_product_attention runs on Fovea."""
    return bool(current_flash_attention_impl() == NAME)


_mode = ["exact"]  # of the implementation that is registered next
_left = [0]


def calls_left():
    """How many calls of the kernel PyTorch's own has computed so far."""
    return _left[0]


class _Handle:
    """Keeps the kernel registered until remove()."""

    def __init__(self, library):
        self.library = library

    def remove(self):
        self.library = None


def _register():
    library = torch.library.Library("aten", "IMPL", "CPU")
    # The kernel that is replaced, for what Fovea does not take.
    replaced = torch.library.get_kernel(f"aten::{OPERATOR}", "CPU").call_boxed
    with warnings.catch_warnings():  # of a kernel that is overridden, which is what the caller has asked for
        warnings.filterwarnings("ignore", message=".*other operators may also be overridden", category=UserWarning)
        library.impl(OPERATOR, _kernel(replaced), "CPU", with_keyset=True)
    return _Handle(library)


def _kernel(replaced):
    attend, threads = fovea.attention, torch.get_num_threads
    empty, empty_like, float32 = torch.empty_strided, torch.empty_like, torch.float32
    modes = dict.fromkeys(TYPES) | {torch.bfloat16: None if _mode[0] == "exact" else _mode[0]}  # None takes no time

    def attention(keys, query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
        if dropout_p == 0.0 and query.dtype in modes:
            # Autograd has recorded the operator before its kernel runs.
            q = query.detach() if query.requires_grad else query
            k = key.detach() if key.requires_grad else key
            v = value.detach() if value.requires_grad else value
            out = empty_like(q)  # the layouts of PyTorch's own kernel, which torch.compile expects
            batch, heads, rows, _ = q.shape
            lse = empty((batch, heads, rows), (heads * rows, 1, heads), dtype=float32)
            try:
                # The own key of row i is key i: causal masks of PyTorch begin at the top left.
                attend(q, k, v, causal=is_causal, offset=0 if is_causal else None, mask=attn_mask, scale=scale,
                       mode=modes[query.dtype], out=out, lse=lse, threads=threads())
            except (fovea.ArgumentError, fovea.UnusedError, fovea.UnsupportedError):
                pass
            else:
                # The backward pass takes the LSE of a row that sees no key to be 0.
                return out, lse if attn_mask is None else lse.nan_to_num_(math.nan, math.inf, 0.0)
        _left[0] += 1
        return replaced(keys, query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)

    return attention


register_flash_attention_impl(NAME, register_fn=_register)
