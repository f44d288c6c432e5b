"""Attention by the textbook formula in float64, with the rules as intervals of keys, and how far f32 may be off."""

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


class Answer:
    """O and LSE, and what each may be off by."""

    def __init__(self, batch, heads, rows, dim):
        self.o = np.zeros((batch, heads, rows, dim))
        self.o_bound = np.zeros((batch, heads, rows, dim))
        self.lse = np.full((batch, heads, rows), -np.inf)
        self.lse_bound = np.zeros((batch, heads, rows))


def attend(q, k, v, offset=None, q_lens=None, kv_lens=None, scale=None, **rules):
    """q, k and v with four axes; offset None, a number, or one per batch entry."""
    batch, heads, rows, dim = q.shape
    group = heads // k.shape[1]
    scale = 1 / np.sqrt(dim) if scale is None else scale
    answer = Answer(batch, heads, rows, v.shape[3])
    for b in range(batch):
        q_len = rows if q_lens is None else q_lens[b]
        kv_len = k.shape[2] if kv_lens is None else kv_lens[b]
        shift = kv_len - q_len if offset is None else offset if np.isscalar(offset) else offset[b]
        for h in range(heads):
            for row in range(q_len):
                first, end = interval(row, kv_len, shift, **rules)
                if first < end:
                    keys, values = k[b, h // group, first:end], v[b, h // group, first:end]
                    attend_row(answer, (b, h, row), q[b, h, row], keys, values, scale)
    return answer


def attend_row(answer, at, q, k, v, scale):
    q, k, v = q.astype(np.float64), k.astype(np.float64), v.astype(np.float64)
    scores = scale * (k @ q)
    size = 2 + np.max(np.abs(scale) * (np.abs(k) @ np.abs(q)))
    largest = scores.max()
    weights = np.exp(scores - largest)
    total = weights.sum()
    answer.o[at] = weights @ v / total
    answer.o_bound[at] = 16 * UNIT * size * (weights @ np.abs(v)) / total
    answer.lse[at] = largest + np.log(total)
    answer.lse_bound[at] = 16 * UNIT * size + 4 * UNIT * abs(answer.lse[at])
