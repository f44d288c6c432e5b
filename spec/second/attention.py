"""Sections 2, 3, 7, 13 and 16 of docs/numerics.md: all rows of a head at once. Arrays have rows first; keys and values
may differ from row to row. A key that a row does not see has the score -Inf, the weight 0 and zeros for its value."""

from functools import reduce

import numpy as np

from arithmetic import (F, INF, LN2, LOG2E, NAN, bf16_bits, c, canonical, chain, dot, exp2, fma, groups, leaky, log2,
                        mode_exp2, normaliser_sigmoid, relu, sixteen, tanh, tree, widened)

SPAN, FAR, DOUBLE_LOG2E = 2048, 1 << 60, float.fromhex("0x1.71547652b82fep+0")


def buckets(d, buckets, max_distance, both):
    """T5's, step 2, in Python's integers."""
    D = buckets >> both
    r, e = np.maximum(-d, d * both).astype(object), D // 2
    k = sum(r ** (D - e) * e**k >= max_distance**k * e ** (D - e) for k in range(1, D - e))
    return np.int64(np.where(r < e, r, e + k)) + D * both * (d > 0)


def mode_bf16(x):
    near = widened(bf16_bits(x))
    return np.where(np.abs(near) < F(2**-56), F(0), near)


def dot16(a, b):
    a, b = mode_bf16(a), mode_bf16(b)
    return reduce(np.add, [chain(a[..., at[::2]], b[..., at[::2]]) + chain(a[..., at[1::2]], b[..., at[1::2]])
                           for at in groups(range(a.shape[-1]), 32)], F(0))


def codes_of(x):
    """Codes of rows, and their scales; a - a is NaN where a is not finite."""
    a = np.max(np.abs(x), -1, keepdims=True)
    t, scale = np.where(a < F(2**-80), F(0), [F(127) / a, a / F(127) + (a - a)])
    return np.nan_to_num(np.rint(x * t)), scale


def relative(s, m):
    """s, measured from m."""
    return s - np.where(m == -INF, F(0), m)


def merge(left, right):
    """Step 4. The state of nothing is (-Inf, 0, 0, 0)."""
    (m1, l1, o1, e1), (m2, l2, o2, e2) = left, right
    m = np.where(m1 > m2, m1, m2)
    d1, d2 = relative(m1, m), relative(m2, m)
    a, b = exp2(d1), exp2(d2)
    e1, e2 = fma(l1, np.where(a == 0, F(0), d1), e1), fma(l2, np.where(b == 0, F(0), d2), e2)
    return m, fma(l2, b, l1 * a), fma(o2, b, o1 * a), fma(e2, b, e1 * a)


def first_keys(s, count):
    """Step 10."""
    order = np.lexsort((-s, ~np.isnan(s)))
    return np.pad(np.where(np.take_along_axis(s, order, 1) == -INF, 0, order + 1), ((0, 0), (0, count)))[:, :count] - 1


class Rows:
    """Rows, the keys that they see, and their scores; r of step 1 may come from elsewhere."""

    def __init__(self, q, k, v, offset, r=None, **p):
        self.p, self.q, self.k, self.v, self.j = p, q[:, None], k, v, np.arange(k.shape[-2])
        self.own, self.q_scale, self.centre = np.arange(len(q))[:, None] + offset, F(1), F(0)
        far = len(p.get("shaw_keys", p.get("shaw_values", ()))) // 2
        self.x = np.clip(self.j - self.own, -far, far) + far
        self.scale = p.get("scale", 1 / np.sqrt(q.shape[-1])) * np.float64(p.get("row_scales", [1]))[:, None]
        self.added, self.is_softmax = list(self.terms()), "normaliser" not in p
        self.visible = reduce(np.logical_and, [b != -INF for b in self.added], self.sees())
        self.r = self.products() if r is None else r
        self.s = np.where(self.visible, self.scored(DOUBLE_LOG2E if self.is_softmax else 1, self.added), -INF)

    def sees(self):
        """Which keys the rules let a row see."""
        p, j, own, size = self.p, self.j, self.own, self.p.get("chunk_size", 1)
        chunk, right = own // size * size, 0 if p.get("causal") else p.get("window_right", FAR)
        low = np.maximum(own - p.get("window_left", FAR), chunk - p.get("chunk_left", FAR))
        high = np.minimum(own + right, chunk + size - 1 + p.get("chunk_right", FAR))
        return (j >= low) & (j <= high) & (j >= p.get("keys_begin", 0)) & (j < p.get("keys_end", FAR))

    def terms(self):
        """b of each position term and of a mask."""
        p, d = self.p, self.j - self.own
        if "alibi" in p:
            yield p["alibi"][0] * (-np.abs(d) if p["alibi_symmetric"] else d).astype(F)
        if "relative" in p:
            yield p["relative"][np.clip(d, -p["relative_before"], p["relative_after"]) + p["relative_before"]]
        if "t5" in p:
            yield p["t5"][buckets(d, len(p["t5"]), p["t5_max_distance"], p["t5_bidirectional"])]
        if "grid" in p:
            sizes = p["grid_depth"], p["grid_height"], p["grid_width"]
            places = (np.unravel_index(position, sizes) for position in (self.own, self.j))
            steps = [own - j + size - 1 for own, j, size in zip(*places, sizes)]
            yield p["grid"][np.ravel_multi_index(steps, [2 * size - 1 for size in sizes])]
        if "mask" in p:
            b = np.where(p["mask"], F(0), -INF) if p["mask"].dtype != F else p["mask"]
            yield np.pad(b, ((0, 0), (p.get("mask_begin", 0), 0)))

    def products(self):
        """r, and of int8 mode q's scale and t of the centre."""
        p, q, k, scores = self.p, self.q, self.k, self.p.get("scores")
        if scores == "int8":
            q, centre = q * p.get("key_scale", F(1)), p.get("key_centre", np.zeros(q.shape[-1], F))
            (q_codes, q_scale), (k_codes, k_scale) = codes_of(q), codes_of(k - centre)
            self.q_scale, self.centre = q_scale[..., 0], dot(q, centre) * F(self.scale * DOUBLE_LOG2E)
            return np.sum(q_codes * k_codes, -1) * k_scale[..., 0]
        r = dot16(q, k) if scores == "bf16" else dot(q, k)
        return r + np.take_along_axis(dot(q, p["shaw_keys"]), self.x, 1) if "shaw_keys" in p else r

    def scored(self, unit, added):
        """s of step 2 with log2 e as the unit, of section 13 and step 8 with 1."""
        cap, r = self.p.get("softcap", 0), leaky(self.r, self.p["leaky_slope"]) if "leaky_slope" in self.p else self.r
        s = r * (self.q_scale * F(self.scale / cap if cap else self.scale * unit))
        return reduce(lambda s, b: fma(b, F(unit), s), added, F(cap * unit) * tanh(s) if cap else s)

    def weights(self, x):
        """p of step 3, and of section 13."""
        functions = {"relu": relu, "relu_squared": lambda x: relu(x) * relu(x), "softmax": exp2,
                     "sigmoid": lambda x: normaliser_sigmoid(x + F(self.p["sigmoid_bias"]))}
        return functions[self.p.get("normaliser", "softmax")](x)

    def block(self, keys):
        """Step 3: m, l, o, and e of step 11."""
        mode, h, s, shown = self.p.get("values", "exact"), F(1), self.s[:, keys], self.visible[:, keys, None]
        v = np.where(shown, self.v[..., keys, :], F(0))
        if mode == "int8":
            v, scales = codes_of(v)
            w = np.maximum(scales[..., 0], F(2**-87))
            s, h = np.where(s == -INF, s, s + log2(w)), np.where(np.isnan(w), F(1), F(1) / w)
        m = np.fmax.reduce(s, 1, keepdims=True, initial=-INF) + F(0)
        some = (m > -INF) | np.any(np.isnan(s), 1, keepdims=True)
        m = m - c("0x1.ffa37cp+2") if mode == "int8" else m if self.is_softmax else np.where(some, F(0), m)
        x, v, least = relative(s, m), np.swapaxes(v, 1, 2), F(-56 if mode == "bf16" else -126)
        p = self.weights(x) if mode == "exact" else np.where(x < least, F(0), mode_exp2(np.maximum(x, least)))
        product = {"exact": chain, "bf16": dot16, "int8": lambda p, v: np.sum(np.minimum(np.rint(p), F(255)) * v, -1)}
        o = product[mode](p[:, None], v)
        if "shaw_values" in self.p:
            here = shown & (self.x[:, keys, None] == np.arange(len(self.p["shaw_values"])))
            P = np.cumsum(np.where(here, p[..., None], F(0)), 1)[:, -1:]
            o = chain(P, np.where(np.any(here, 1)[:, None], self.p["shaw_values"].T, F(0)), o)
        return m, sixteen(p, h), np.where(some, o, F(0)), sixteen(p, np.where(p == 0, F(0), x))

    def channels(self, span):
        """Section 16: the caller's channel numbers. m - m is NaN where m is not finite."""
        m, l, o, e = span
        some = (m > -INF) | (l != 0)
        m = np.where(some, m + self.centre, m)
        rest = np.where(some, m - m, F(0))
        return m, l + rest, np.where(some, o * self.p.get("value_scale", F(1)), o) + rest, e

    def state(self, first=0, count=FAR):
        """Of a node, or of all keys."""
        blocks = groups(np.arange(first, min(first + count, len(self.j))), 128)
        return tree(list(map(self.block, blocks)), merge, self.channels)

    def divided(self, number, l):
        """Step 6, and the divisors of section 13."""
        t = {"none": F(1), "constant": F(self.p.get("divisor_value", 1)), "sum": l,
             "keys": F(np.sum(self.visible, 1, keepdims=True))}[self.p.get("divisor", "sum")]
        g = F(1) if self.is_softmax else np.where(t < F(2**-64), F(2**64), F(1))
        return np.where(t == 0, F(0), (number * g) * (F(1) / (t * g)))


def nodes_of(first, end):
    """The first key and the number of keys of each node of a range."""
    count = min(first & -first or FAR, 1 << (end - first).bit_length() - 1) if first < end else 0
    return [(first, count)] + nodes_of(first + count, end) if count else []


def attention(**p):
    rows = Rows(**p)
    if "end_span" in p:
        nodes = nodes_of(p["first_span"] * SPAN, p["end_span"] * SPAN)
        m, l, o, _ = (np.concatenate(part, 1) for part in zip(*(rows.state(*node) for node in nodes)))
        return {"nodes": np.array(nodes), "m": m, "l": l, "o": o}
    m, l, o, e = before = rows.state()
    if "sink" in p:
        m, l, o, e = merge(before, (p["sink"][0] * LOG2E, F(1), F(0), F(0)))
    weights = np.where(rows.s == -INF, F(0), rows.divided(rows.weights(relative(rows.s, m)), l))
    scores = {"raw": rows.r * F(rows.scale), "capped": rows.scored(1, []), "biased": rows.scored(1, rows.added)}
    top = first_keys(rows.s, p.get("top_k", 0))
    return {"out": rows.divided(o, l), "lse": np.where(l == 0, -INF, LN2 * (m + log2(l)))[:, 0], "weights": weights,
            **{kind: np.where(rows.visible, canonical(s), -INF) for kind, s in scores.items()},
            "max_logit": LN2 * np.max(np.where(np.isnan(before[1]), NAN, before[0]), 0),
            "top_keys": top, "top_scores": np.where(top < 0, -INF, LN2 * np.take_along_axis(rows.s, top, 1)),
            "entropy": np.where(l == 0, F(0), LN2 * (log2(l) - e * (F(1) / l)))[:, 0],
            "column_sums": reduce(np.add, [sixteen(block.T)[:, 0] for block in groups(weights, 128)], F(0))}
