"""Fovea within PyTorch, on the CPU: `activate()` makes every call of `torch.nn.functional.scaled_dot_product_attention`
run on Fovea, in any model and without a change of it. docs/python.md has an example."""

from ._sdpa import activate, deactivate, is_active

__all__ = ["activate", "deactivate", "is_active"]
