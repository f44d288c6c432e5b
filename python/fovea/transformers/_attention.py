"""Attention for attn_implementation="fovea"."""

import math
from typing import Any

import torch

import fovea
import fovea.torch

from ._mask import Visibility


def attention(module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
              attention_mask: torch.Tensor | None, dropout: float = 0.0, scaling: float | None = None,
              is_causal: bool | None = None, sliding_window: int | None = None, softcap: float | None = None,
              s_aux: torch.Tensor | None = None, position_bias: torch.Tensor | None = None,
              output_attentions: bool = False, **_: Any) -> tuple[torch.Tensor, None]:
    """What attention layers of transformers call, by fovea.torch.attention().

        query:      (batch, heads, rows, qk_dim)
        key, value: (batch, kv_heads, keys, qk_dim or v_dim), not repeated for the heads that share them

    attention_mask: a Visibility, numbers or bools of (batch, 1 or heads, rows, keys), or None: then causal if the layer
    is, with its sliding window. softcap, s_aux (sinks) and position_bias (T5) as layers give them.

    Returns O, (batch, rows, heads, v_dim) and contiguous, and None: there are no weights. Raises fovea.UnsupportedError
    for dropout, wanted weights, other devices, and gradients that the operator does not have; fovea.Error for what the
    operator refuses.
    """
    if dropout:
        _refuse("dropout", f"is {dropout}; Fovea has none: set the model's attention dropout to 0, or call eval()")
    if output_attentions:
        _refuse("output_attentions", "is True, and Fovea returns no weights: use attn_implementation='eager'")
    if query.device.type not in ("cpu", "meta"):
        _refuse("query", f"is on {query.device}; Fovea computes on the CPU")
    rules = _rules(module, query, attention_mask, is_causal, sliding_window)
    if position_bias is not None:
        if position_bias.requires_grad and torch.is_grad_enabled():
            _refuse("position_bias", "requires a gradient, and Fovea has none of it: compute within torch.no_grad()")
        rules["mask"] = _sum(position_bias, rules.get("mask"))
        if "padding" in rules:  # biases count it
            rules["kv_begins"] = rules.pop("padding")
    o = fovea.torch.attention(query, key, value, scale=scaling, softcap=softcap,
                              sink=None if s_aux is None else s_aux.float(), **rules)
    return o.transpose(1, 2).contiguous(), None


def _refuse(name, text, kind=fovea.UnsupportedError):
    error = kind(f"{name} {text}")
    error.field = name
    raise error


def _rules(module, query, attention_mask, is_causal, sliding_window):
    """Keywords of fovea.torch.attention() for what rows see."""
    if isinstance(attention_mask, Visibility):
        return dict(attention_mask.rules)
    if attention_mask is not None:
        if attention_mask.ndim != 4:
            _refuse("attention_mask", f"has the shape {tuple(attention_mask.shape)}; it must have (batch, heads, rows, "
                    "keys)", fovea.ArgumentError)
        return {"mask": attention_mask}
    # A layer that got no mask, as attn_implementation="sdpa" has it: the own key of row i is key i.
    causal = query.shape[2] > 1 and (getattr(module, "is_causal", True) if is_causal is None else is_causal)
    rules = {"causal": True, "offset": 0} if causal else {}
    if sliding_window is not None:
        rules["window"] = (sliding_window - 1, None if causal else sliding_window - 1)
    return rules


def _sum(bias, mask):
    """A bias and a mask of bools or numbers as one tensor that is added to scores. A copy of T5's bias, whose last axis in
    memory is that of heads."""
    if mask is not None:
        bias = bias.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else bias + mask
    return bias if bias.stride(-1) == 1 else bias.contiguous()
