"""Attention by the textbook formula in float64, with the rules as intervals of keys and masks as NumPy broadcasts them,
and how far f32 may be off; numbers rounded to the types that files do not have."""

import numpy as np

UNIT = 2.0**-24


def interval(row, kv_len, offset, causal=False, window=(-1, -1), chunk=None):
    """The keys [first, end) that a row sees, when there are kv_len of them."""
    own, first, end = row + offset, 0, kv_len
    if causal:
        end = min(end, own + 1)
    if window[0] >= 0:
        first = max(first, own - window[0])
    if window[1] >= 0:
        end = min(end, own + window[1] + 1)
    if chunk is not None:
        size, left, right = chunk
        start = own // size * size
        if left >= 0:
            first = max(first, start - left)
        if right >= 0:
            end = min(end, start + size + right)
    return first, max(first, end)


def spread(mask, shape):
    """A mask over (batch, heads, rows, keys), by NumPy's rules; keys that it does not reach are not visible. Returns
    which keys are visible and what is added to their scores."""
    missing = shape[-1] - mask.shape[-1] if mask.ndim > 0 and mask.shape[-1] > 1 else 0
    if missing:
        unseen = False if mask.dtype == bool else -np.inf
        mask = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, missing)], constant_values=unseen)
    mask = np.broadcast_to(mask, shape)
    if mask.dtype == bool:
        return mask, np.zeros(shape)
    return mask > -np.inf, np.where(mask > -np.inf, mask, 0).astype(np.float64)


class Answer:
    """O and LSE, and what each may be off by."""

    def __init__(self, batch, heads, rows, dim):
        self.o = np.zeros((batch, heads, rows, dim))
        self.o_bound = np.zeros((batch, heads, rows, dim))
        self.lse = np.full((batch, heads, rows), -np.inf)
        self.lse_bound = np.zeros((batch, heads, rows))


def attend(q, k, v, offset=None, q_lens=None, kv_lens=None, kv_begins=None, scale=None, mask=None, softcap=None,
           sinks=None, **rules):
    """q, k and v with four axes; offset None, a number, or one per batch element; sinks one per head."""
    batch, heads, rows, dim = q.shape
    group = heads // k.shape[1]
    scale = 1 / np.sqrt(dim) if scale is None else scale
    shape = (batch, heads, rows, k.shape[2])
    seen, added = spread(np.True_ if mask is None else mask, shape)
    answer = Answer(batch, heads, rows, v.shape[3])
    for b in range(batch):
        q_len = rows if q_lens is None else q_lens[b]
        kv_len = k.shape[2] if kv_lens is None else kv_lens[b]
        shift = kv_len - q_len if offset is None else offset if np.isscalar(offset) else offset[b]
        for h in range(heads):
            sink = None if sinks is None else float(sinks[h])
            for row in range(q_len):
                first, end = interval(row, kv_len, shift, **rules)
                if kv_begins is not None:
                    first = min(max(first, kv_begins[b]), end)
                keys = first + np.flatnonzero(seen[b, h, row, first:end])
                if len(keys) > 0 or sink is not None:
                    attend_row(answer, (b, h, row), q[b, h, row], k[b, h // group, keys], v[b, h // group, keys],
                               added[b, h, row, keys], scale, softcap, sink)
    return answer


def attend_row(answer, at, q, k, v, added, scale, softcap, sink):
    q, k, v = q.astype(np.float64), k.astype(np.float64), v.astype(np.float64)
    scores = scale * (k @ q)
    sizes = np.abs(scale) * (np.abs(k) @ np.abs(q)) + np.abs(added)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    scores = scores + added
    if sink is not None: # one more key, whose value is zero
        scores, sizes = np.append(scores, sink), np.append(sizes, abs(sink))
        v = np.vstack([v, np.zeros((1, v.shape[1]))])
    if scores.max() == -np.inf: # a sink that is none
        return
    size = 2 + sizes.max()
    largest = scores.max()
    weights = np.exp(scores - largest)
    total = weights.sum()
    answer.o[at] = weights @ v / total
    answer.o_bound[at] = 16 * UNIT * size * (weights @ np.abs(v)) / total
    answer.lse[at] = largest + np.log(total)
    answer.lse_bound[at] = 16 * UNIT * size + 4 * UNIT * abs(answer.lse[at])


def weights(q, k, offset=None, q_lens=None, kv_lens=None, scale=None, mask=None, softcap=None, sinks=None, **rules):
    """The weights of the values, (batch, heads, rows, keys), from the whole score matrix at once; rows that see nothing
    are zero."""
    batch, heads, rows, dim = q.shape
    shape = (batch, heads, rows, k.shape[2])
    seen, added = spread(np.True_ if mask is None else mask, shape)
    keys = np.arange(k.shape[2])
    allowed = np.zeros((batch, 1, rows, k.shape[2]), bool)
    for b in range(batch):
        q_len = rows if q_lens is None else q_lens[b]
        kv_len = k.shape[2] if kv_lens is None else kv_lens[b]
        shift = kv_len - q_len if offset is None else offset if np.isscalar(offset) else offset[b]
        for row in range(q_len):
            first, end = interval(row, kv_len, shift, **rules)
            allowed[b, 0, row] = (keys >= first) & (keys < end)
    scores = q.astype(np.float64) @ k.astype(np.float64).repeat(heads // k.shape[1], axis=1).swapaxes(2, 3)
    scores *= 1 / np.sqrt(dim) if scale is None else scale
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    scores = np.where(seen & allowed, scores + added, -np.inf)
    sink = np.full((1, heads, 1, 1), -np.inf) if sinks is None else np.reshape(sinks, (1, heads, 1, 1)).astype(float)
    largest = np.maximum(scores.max(axis=-1, keepdims=True, initial=-np.inf), sink)
    largest[largest == -np.inf] = 0
    numbers = np.exp(scores - largest)
    total = numbers.sum(axis=-1, keepdims=True) + np.exp(sink - largest)
    return numbers / np.where(total > 0, total, 1)


def to_bf16(tensor):
    """The bits of the nearest bf16 of finite float32 numbers, ties to even."""
    bits = tensor.astype("<f4").view("<u4").astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")


def from_bf16(bits):
    return (bits.astype("<u4") << 16).view("<f4")


def cast(tensor, kind):
    """What a tensor holds after --cast, as float32."""
    if kind == "bf16":
        return from_bf16(to_bf16(tensor))
    return tensor.astype({"f16": "<f2", "f32": "<f4"}[kind]).astype("<f4")
