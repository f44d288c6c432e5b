"""The operator torch.ops.fovea.attention: what scaled_dot_product_attention cannot say, for eager mode, autograd and
torch.compile."""

import itertools
import math
import weakref
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import torch

import fovea

# Tensors come first, since autograd does not look at tensors among keywords. Patterns are numbers of _patterns.
SCHEMA = ("(Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor? sink, Tensor? alibi, Tensor? q_lens, "
          "Tensor? kv_lens, Tensor? kv_begins, Tensor? padding, Tensor? page_table, bool causal, int? window_left, "
          "int? window_right, int? offset, float? scale, float? softcap, str mode, int? pattern, int[]? patterns) -> "
          "(Tensor, Tensor)")
OPERATOR = "fovea::attention"
torch.library.define(OPERATOR, SCHEMA)


Integers: TypeAlias = torch.Tensor | Sequence[int]
Window: TypeAlias = int | tuple[int | None, int | None]
Outputs: TypeAlias = Any  # O, or O and LSE: torch.Tensor


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, causal: bool = False,
              window: Window | None = None, offset: int | None = None, q_lens: Integers | None = None,
              kv_lens: Integers | None = None, kv_begins: Integers | None = None, padding: Integers | None = None,
              page_table: torch.Tensor | None = None, mask: torch.Tensor | None = None,
              pattern: fovea.Pattern | Sequence[fovea.Pattern] | None = None, sink: torch.Tensor | None = None,
              alibi: torch.Tensor | None = None, scale: float | None = None, softcap: float | None = None,
              mode: str = "exact", lse: bool = False) -> Outputs:
    """Attention with more rules than scaled_dot_product_attention has, as an operator of PyTorch.

        query: (batch, heads, rows, qk_dim)
        key:   (batch, kv_heads, keys, qk_dim); query head h reads kv head h // (heads // kv_heads)
        value: (batch, kv_heads, keys, v_dim)

    With page_table, int32 or int64 (batch, pages of a sequence), key and value are pages of a cache, (pages, kv_heads,
    page_rows, dim), and kv_lens says how many keys each sequence has there.

    causal, window, offset, q_lens, kv_lens, kv_begins, padding, page_table, mask, pattern, scale, softcap and mode are
    the keywords of fovea.attention(), with its defaults: the last row's own key is the last key, where PyTorch's causal
    masks begin at the top left. offset is one number; lengths are lists, or tensors of int64 or int32. sink: float32
    (heads,), the scores of one more key whose value is zero. alibi: float32 (heads,) or (batch, heads), slopes.

    Returns O of query's type, contiguous; with lse=True O and LSE, float32 (batch, heads, rows), which has no gradient.
    The same bits as fovea.attention(), alone and within torch.compile; as many threads as torch.get_num_threads().

    Gradients of query, key, value and sink are those of PyTorch's own backward pass over O and LSE, which needs a mask
    of (batch, heads or 1, rows, keys) numbers if there are more rules than a mask. mask, alibi, softcap, pattern,
    page_table, modes other than 'exact' and v_dim other than qk_dim have no gradient: fovea.UnsupportedError. Raises
    fovea.Error as fovea.attention() does. Thread-safe.
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__}; it must be a torch.Tensor")
    left, right = _sides(window)
    lens = (each if each is None or isinstance(each, torch.Tensor) else torch.tensor(each)
            for each in (q_lens, kv_lens, kv_begins, padding))
    patterns = [_number_of(each) for each in pattern] if isinstance(pattern, (tuple, list)) else None
    number = _number_of(pattern) if pattern is not None and patterns is None else None
    o, sums = torch.ops.fovea.attention(query, key, value, mask, sink, alibi, *lens, page_table, causal, left, right,
                                        offset, scale, softcap, mode, number, patterns)
    return (o, sums) if lse else o


def refuse(name: str, text: str, kind: type[fovea.Error] = fovea.ArgumentError) -> NoReturn:
    """Raises a fovea.Error of an argument."""
    error = kind(f"{name} {text}")
    error.field = name
    raise error


def _sides(window):
    if not isinstance(window, (tuple, list)):
        return window, window
    if len(window) != 2:
        refuse("window", f"has {len(window)} parts; it must have 2, keys to the left and to the right")
    return window


_patterns = weakref.WeakValueDictionary()  # by number: an operator takes no objects
_numbers = weakref.WeakKeyDictionary()
_next_number = itertools.count()


@torch.compiler.assume_constant_result  # of one pattern: compiled code is made for the patterns that it was given
def _number_of(pattern):
    if not isinstance(pattern, fovea.Pattern):
        raise TypeError(f"pattern is a {type(pattern).__name__}; it must be a fovea.Pattern, or a list with one for "
                        "each batch element")
    number = _numbers.setdefault(pattern, next(_next_number))
    _patterns[number] = pattern
    return number


def _plain(tensor):
    """The tensor without what autograd has recorded."""
    return tensor.detach() if tensor is not None and tensor.requires_grad else tensor


@torch.library.impl(OPERATOR, "CPU")
def _attention(query, key, value, mask, sink, alibi, q_lens, kv_lens, kv_begins, padding, page_table, causal,
               window_left, window_right, offset, scale, softcap, mode, pattern, patterns):
    window = None if window_left is None and window_right is None else (window_left, window_right)
    if pattern is not None:
        pattern = _patterns[pattern]
    elif patterns is not None:
        pattern = [_patterns[number] for number in patterns]
    query = _plain(query)
    out = torch.empty(query.shape[:-1] + value.shape[-1:], dtype=query.dtype)
    result = fovea.attention(query, _plain(key), _plain(value), mask=_plain(mask), sink=_plain(sink),
                             terms=None if alibi is None else fovea.alibi(_plain(alibi)), q_lens=q_lens,
                             kv_lens=kv_lens, kv_begins=kv_begins, padding=padding, page_table=page_table,
                             causal=causal, window=window, offset=offset, pattern=pattern, scale=scale,
                             softcap=softcap, mode=mode, out=out, lse=True, threads=torch.get_num_threads())
    return out, result.lse


@torch.library.register_fake(OPERATOR)
def _shapes(query, key, value, *others):
    names = ("key", "value", "mask", "sink", "alibi", "q_lens", "kv_lens", "kv_begins", "padding", "page_table")
    for name, tensor in zip(names, (key, value, *others)):
        if tensor is not None and tensor.device != query.device and (query.is_cpu or name in ("key", "value")):
            refuse(name, f"is on {tensor.device}, and query on {query.device}; they must be on one device, the CPU")
    return query.new_empty(query.shape[:-1] + value.shape[-1:]), query.new_empty(query.shape[:-1], dtype=torch.float32)


# ---- Gradients ---------------------------------------------------------------------------------------------------


def _refuse_gradient(name, text):
    refuse(name, f"{text}; gradients of torch.ops.fovea.attention are those of PyTorch's own backward pass, which does "
           "not have it: detach() what needs none, or compute within torch.no_grad()", fovea.UnsupportedError)


def _save(ctx, inputs, output):
    query, key, value, mask, sink, alibi, *lens, table = inputs[:11]
    causal, left, right, offset, scale, softcap, mode, *patterns = inputs[11:]
    if any(ctx.needs_input_grad):
        if table is not None:
            _refuse_gradient("page_table", "is given")
        if patterns != [None, None]:
            _refuse_gradient("pattern", "is given")
        for name, tensor in (("mask", mask), ("alibi", alibi)):
            if tensor is not None and tensor.requires_grad:
                _refuse_gradient(name, "requires a gradient")
        if softcap:
            _refuse_gradient("softcap", f"is {softcap}")
        if mode != "exact":
            _refuse_gradient("mode", f"is '{mode}'")
        if query.ndim != 4:
            _refuse_gradient("query", f"has the shape {tuple(query.shape)}, and not (batch, heads, rows, dim)")
        if query.shape[-1] != value.shape[-1]:
            _refuse_gradient("value", f"has a v_dim of {value.shape[-1]}, and query a qk_dim of {query.shape[-1]}")
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(query, key, value, mask, sink, alibi, *lens, *output)
    ctx.rules = causal, left, right, offset, scale


def _added_to_scores(query, key, mask, alibi, q_lens, kv_lens, kv_begins, padding, causal, left, right, offset):
    """All rules and terms as one tensor that broadcasts to (batch, heads, rows, keys); None if there is none."""
    rows = torch.arange(query.shape[2]).view(1, 1, -1, 1)
    keys = torch.arange(key.shape[2]).view(1, 1, 1, -1)
    begins = kv_begins if padding is None else padding
    q_ends, kv_ends, begins = (None if x is None else x.view(-1, 1, 1, 1) for x in (q_lens, kv_lens, begins))
    if offset is None:
        offset = ((key.shape[2] if kv_ends is None else kv_ends) - (query.shape[2] if q_ends is None else q_ends))
    distance = keys - rows - offset  # from the row's own key
    hidden = [distance > 0 if causal else None,
              None if left is None else distance < -left,
              None if right is None else distance > right,
              None if q_ends is None else rows >= q_ends,
              None if kv_ends is None else keys >= kv_ends,
              None if begins is None else keys < begins,
              ~mask if mask is not None and mask.dtype == torch.bool else None]
    added = [mask.float() if mask is not None and mask.dtype != torch.bool else None,
             None if alibi is None else alibi.view(-1, query.shape[1], 1, 1) * distance]
    hidden, added = ([x for x in xs if x is not None] for xs in (hidden, added))
    if not hidden and not added:
        return None
    total = torch.zeros((1, 1, query.shape[2], key.shape[2]))
    for each in added:
        total = total + each
    for each in hidden:
        total = total.masked_fill(each, -math.inf)
    return total


def _backward(ctx, of_o, _):
    query, key, value, mask, sink, alibi, *lens, o, lse = ctx.saved_tensors
    *rules, scale = ctx.rules
    added = _added_to_scores(query, key, mask, alibi, *lens, *rules)
    if added is not None:
        lse = lse.nan_to_num(math.nan, math.inf, 0.0)  # of rows that see no key, as PyTorch has them
    of_inputs = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        of_o, query, key, value, o, lse, 0.0, False, attn_mask=added, scale=scale)
    of_sink = None
    if ctx.needs_input_grad[4]:
        weights = (sink.view(-1, 1) - lse).exp()  # of the sink, (batch, heads, rows)
        of_sink = -(weights * (of_o.float() * o.float()).sum(-1)).sum((0, 2))
    return *of_inputs, None, of_sink, *[None] * 15


torch.library.register_autograd(OPERATOR, _backward, setup_context=_save)
