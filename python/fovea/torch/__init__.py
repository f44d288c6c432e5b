"""Fovea within PyTorch, on the CPU: `activate()` makes every call of `torch.nn.functional.scaled_dot_product_attention`
run on Fovea, in any model and without a change of it; `attention()` is an operator for what that function cannot say;
`one_answer()` gives whole models one answer; `ring_attention()` splits a sequence over processes. docs/python.md has
examples."""

from ._audit import Operator, audit
from ._one_answer import one_answer
from ._operator import attention
from ._products import pack
from ._ring import ring_attention, ring_positions
from ._sdpa import activate, deactivate, is_active

__all__ = ["Operator", "activate", "attention", "audit", "deactivate", "is_active", "one_answer", "pack",
           "ring_attention", "ring_positions"]
