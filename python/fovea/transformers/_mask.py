"""Masks for attn_implementation="fovea": rules where other implementations get a matrix of rows and keys.

Models of transformers describe their masks by functions of a row and a key, and by a list of the keys that are no
padding. The functions are read here: they are made by a few functions of transformers.masking_utils.
"""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree
from transformers import masking_utils
from transformers.utils.import_utils import is_tracing


class Visibility(torch.Tensor):
    """Which keys each row sees, by rules: a mask of (batch, 1, rows, keys) that has no memory.

    `rules` are keywords of fovea.torch.attention(). A model that computes with its mask gets the numbers that
    attn_implementation="eager" has, 0 where a row sees a key, with a warning.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl  # pylint: disable=protected-access

    @staticmethod
    def __new__(cls, rules: dict[str, Any], asked: dict[str, Any]) -> "Visibility":
        shape = asked["batch_size"], 1, asked["q_length"], asked["kv_length"]
        return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=asked.get("dtype", torch.float32))

    def __init__(self, rules: dict[str, Any], asked: dict[str, Any]) -> None:
        self.rules = rules
        self._asked = asked

    def __repr__(self) -> str:  # type: ignore[override] # of torch.Tensor, which has a keyword more
        return f"Visibility({tuple(self.shape)}, {self.rules})"

    def numbers(self) -> torch.Tensor:
        """The same as a tensor of (batch, 1, rows, keys) numbers that are added to scores."""
        return masking_utils.eager_mask(**self._asked)

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        warnings.warn(f"the model computes {function} of its mask, so rules become numbers for each row and key",
                      stacklevel=2)
        arguments, keywords = _pytree.tree_map_only(cls, cls.numbers, (arguments, keywords or {}))
        return function(*arguments, **keywords)


def mask(q_offset: int | torch.Tensor = 0, kv_offset: int = 0,
         mask_function: Callable[..., Any] = masking_utils.causal_mask_function,
         attention_mask: torch.Tensor | None = None, device: torch.device | str = "cpu", **asked: Any) -> torch.Tensor:
    """What transformers calls for a mask, with the arguments of transformers.masking_utils.sdpa_mask(): a Visibility if
    rules say the same as mask_function, else numbers. Numbers within torch.compile, too, which knows no rules."""
    asked = {**asked, "kv_offset": kv_offset, "mask_function": mask_function, "attention_mask": attention_mask,
             "device": device, "allow_is_bidirectional_skip": False}
    rules = _rules_of(mask_function)
    if rules is None or torch.device(device).type != "cpu" or is_tracing(attention_mask):
        return masking_utils.eager_mask(q_offset=q_offset, **asked)
    q_offset = int(q_offset)  # a tensor in static caches, which changes as they are filled
    causal, left, right = rules
    said = _rules_of_padding(attention_mask, asked["kv_length"], kv_offset)
    if causal or left is not None:
        said.update(causal=causal, window=(left, right), offset=q_offset - kv_offset)
    return Visibility(said, {**asked, "q_offset": q_offset})


# ---- Rules -------------------------------------------------------------------------------------------------------

# The code of the functions that the library's own makers return.
_JOINED = masking_utils.and_masks(masking_utils.causal_mask_function).__code__
_WINDOW = masking_utils.sliding_window_overlay(1).__code__
_WINDOW_OF_BOTH_SIDES = masking_utils.sliding_window_bidirectional_overlay(1).__code__


def _rules_of(function):
    """(causal, keys to the left, keys to the right) that say the same as a mask function; None if no rules do."""
    if function is masking_utils.causal_mask_function:
        return True, None, None
    if function is masking_utils.bidirectional_mask_function:
        return False, None, None
    code = getattr(function, "__code__", None)
    if code not in (_JOINED, _WINDOW, _WINDOW_OF_BOTH_SIDES):
        return None
    (made_of,) = (cell.cell_contents for cell in function.__closure__)
    if code is _WINDOW:
        return False, made_of - 1, None
    if code is _WINDOW_OF_BOTH_SIDES:
        return False, made_of, made_of
    parts = [_rules_of(part) for part in made_of]
    if None in parts:
        return None
    causal, left, right = zip(*parts)
    least = lambda limits: min((limit for limit in limits if limit is not None), default=None)
    return any(causal), least(left), least(right)


def _rules_of_padding(attention_mask, keys, begin):
    """Rules for the keys that a mask of (batch, all keys) hides, of `keys` keys from `begin` on."""
    if attention_mask is None:
        return {}
    real = attention_mask[:, begin:begin + keys]
    if real.shape[1] < keys:  # a static cache: it is not full yet
        real = torch.nn.functional.pad(real, (0, keys - real.shape[1]))
    if real.all():
        return {}
    begins = real.int().argmax(1)
    ends = (real * torch.arange(1, keys + 1)).amax(1)
    if not torch.equal(ends - begins, real.sum(1)):
        return {"mask": real[:, None, None, :]}  # padding within a sequence
    said = {}
    if begins.any():
        said["padding"] = begins
    if (ends < keys).any():
        said["kv_lens"] = ends
    return said
