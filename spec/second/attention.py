"""Sections 2, 3, 7, 13 and 16 of docs/numerics.md: one head, row by row."""

import functools
import math

import numpy as np

from arithmetic import (F, INF, LN2, LOG2E, NAN, bf16_bits, c, canonical, chain, exp2, fma, log2, mode_exp2,
                        normaliser_sigmoid, sixteen, tanh, widened)

PIECE, BLOCK, SPAN, FAR = 128, 128, 2048, 1 << 60
DOUBLE_LOG2E = float.fromhex("0x1.71547652b82fep+0")


def dot(a, b, order=lambda d: (d // 2, -d)):
    """Step 1, of a with each row of b; with None for the order the dims of a piece are ascending."""
    pieces = (sorted(range(start, min(start + PIECE, len(a))), key=order) for start in range(0, len(a), PIECE))
    return functools.reduce(np.add, [chain((a[d], b[..., d]) for d in piece) for piece in pieces])


def bucket(d, buckets, max_distance, both):
    """T5's, step 2."""
    D = buckets // 2 if both else buckets
    r, first, e = (abs(d), D if d > 0 else 0, D // 2) if both else (max(-d, 0), 0, D // 2)
    if r < e or r >= max_distance:
        return first + (r if r < e else D - 1)
    return first + e + max(k for k in range(D - e) if r ** (D - e) * e**k >= max_distance**k * e ** (D - e))


def mode_bf16(x):
    near = widened(bf16_bits(x))
    return np.where(np.abs(near) < F(2**-56), F(0), near)


def dot16(a, b):
    """Of a with each row of b."""
    products, r = list(zip(mode_bf16(a), np.moveaxis(mode_bf16(b), -1, 0))), F(0)
    for start in range(0, len(a), 32):
        r = r + (chain(products[start : start + 32 : 2]) + chain(products[start + 1 : start + 32 : 2]))
    return r


def codes_of(x):
    """Codes of a row, as integers, and its scale."""
    a = np.max(np.abs(x))
    if not np.all(np.isfinite(x)) or a < F(2**-80):
        return np.zeros(len(x), np.int64), F(0) if np.all(np.isfinite(x)) else NAN
    return np.rint(x * (F(127) / a)).astype(np.int64), a / F(127)


class Row:
    """A row, the keys that it sees, and their scores."""

    def __init__(self, p, arrays, i):
        self.p, self.arrays, self.own, self.j = p, arrays, i + p["offset"], np.arange(len(arrays["k"]))
        self.q, self.k, self.v = arrays["q"][i], arrays["k"], arrays["v"]
        self.softmax, self.cap = "normaliser" not in p, p.get("softcap", 0)
        self.scale = p.get("scale", 1 / math.sqrt(len(self.q))) * float(arrays.get("row_scales", {i: 1})[i])
        self.added = [self.term(kind) for kind in ("alibi", "relative", "t5", "grid") if kind in arrays]
        self.visible = self.sees() & np.all([b != -INF for b in self.added] + [self.j >= 0], 0)
        if "mask" in arrays:
            mask, begin = arrays["mask"][i], p.get("mask_begin", 0)
            self.visible[begin:] &= mask != (0 if mask.dtype == np.uint8 else -INF)
            if mask.dtype != np.uint8:
                self.added.append(np.concatenate([np.zeros(begin, F), mask]))
        self.q_scale, self.moved = F(1), None
        self.r = self.products()
        self.s = self.scored(DOUBLE_LOG2E, lambda s, b: fma(b, LOG2E, s)) if self.softmax else self.scored(1, np.add)

    def sees(self):
        p, own, size = self.p, self.own, self.p.get("chunk_size", 1)
        low = max(p.get("keys_begin", 0), own - p.get("window_left", FAR),
                  own // size * size - p.get("chunk_left", FAR))
        high = min(p.get("keys_end", FAR) - 1, own if "causal" in p else FAR, own + p.get("window_right", FAR),
                   own // size * size + size - 1 + p.get("chunk_right", FAR))
        return (self.j >= low) & (self.j <= high)

    def term(self, kind):
        """b of a position term."""
        p, table, d = self.p, self.arrays[kind], self.j - self.own
        if kind == "alibi":
            return table[0] * (-np.abs(d.astype(F)) if p["alibi_symmetric"] else d.astype(F))
        if kind == "relative":
            return table[np.clip(d, -p["relative_before"], p["relative_after"]) + p["relative_before"]]
        if kind == "t5":
            return table[[bucket(int(x), len(table), p["t5_max_distance"], p["t5_bidirectional"]) for x in d]]
        sizes = (p["grid_depth"], p["grid_height"], p["grid_width"])
        z, y, x = (own - j + size - 1 for own, j, size in
                   zip(np.unravel_index(self.own, sizes), np.unravel_index(self.j, sizes), sizes))
        return table[(z * (2 * sizes[1] - 1) + y) * (2 * sizes[2] - 1) + x]

    def shaw(self):
        """x of each key."""
        size = len(self.arrays.get("shaw_keys", self.arrays.get("shaw_values"))) // 2
        return np.clip(self.j - self.own, -size, size) + size

    def products(self):
        """r, and of int8 mode q's scale and t of the centre."""
        q, k, arrays, kind = self.q, self.k, self.arrays, self.p.get("scores", "exact")
        if kind == "int8":
            q, k = q * arrays.get("key_scale", F(1)), k - arrays.get("key_centre", F(0))
            self.moved = dot(q, arrays["key_centre"]) * F(self.scale * DOUBLE_LOG2E) if "key_centre" in arrays else None
            codes, self.q_scale = codes_of(q)
            return np.array([F(np.dot(codes, row)) * scale for row, scale in map(codes_of, k)], F)
        r = dot(q, k) if kind == "exact" else dot16(q, k)
        return r + dot(q, arrays["shaw_keys"])[self.shaw()] if "shaw_keys" in arrays else r

    def scored(self, unit, add):
        """s of step 2 with log2 e as the unit, of section 13 and step 8 with 1."""
        r = np.where(self.r > 0, self.r, self.r * F(self.p["leaky_slope"])) if "leaky_slope" in self.p else self.r
        s = r * (self.q_scale * F(self.scale / self.cap if self.cap else self.scale * unit))
        return functools.reduce(add, self.added, F(self.cap * unit) * tanh(s) if self.cap else s)

    def weights(self, s, m):
        """p of step 3, or of section 13."""
        if self.softmax:
            return exp2(s - (F(0) if m == -INF else m))
        if self.p["normaliser"] == "sigmoid":
            return normaliser_sigmoid(s + F(self.p["sigmoid_bias"]))
        x = np.where(s < 0, F(0), s)
        return x * x if self.p["normaliser"] == "relu_squared" else x

    def values(self, p, j):
        """o of step 3."""
        o = chain(zip(p, self.v[j]), np.zeros(self.v.shape[1], F))
        if "shaw_values" not in self.arrays:
            return o
        sums = {x: functools.reduce(np.add, p[self.shaw()[j] == x]) for x in sorted(set(self.shaw()[j]))}
        return chain(((sums[x], self.arrays["shaw_values"][x]) for x in sums), o)

    def block(self, start):
        """Step 3: m, l, o, and e of step 11; None without a state."""
        j, mode = self.j[start : start + BLOCK][self.visible[start : start + BLOCK]], self.p.get("values", "exact")
        s = self.s[j]
        if mode == "int8" and len(j):
            codes, scales = map(np.array, zip(*map(codes_of, self.v[j])))
            w = np.where(scales < F(2**-87), F(2**-87), scales)
            s, h = np.where(s == -INF, s, s + log2(w)), np.where(np.isnan(w), F(1), F(1) / w)
        m = np.max(s[~np.isnan(s)], initial=-INF) + F(0)
        if len(j) == 0 or (m == -INF and not np.any(np.isnan(s))):
            return None
        m = m - c("0x1.ffa37cp+2") if mode == "int8" else m if self.softmax else F(0)
        x = s - (F(0) if m == -INF else m)
        if mode != "exact":
            least = F(-126 if mode == "int8" else -56)
            p = np.where(x < least, F(0), mode_exp2(np.maximum(x, least)))
        if mode == "bf16":
            weights, values = np.zeros(BLOCK, F), np.zeros((BLOCK, self.v.shape[1]), F)
            weights[j - start], values[j - start] = p, self.v[j]
            return m, sixteen(p, None, j), dot16(weights, values.T), F(0)
        if mode == "int8":
            u = np.nan_to_num(np.minimum(np.rint(p), F(255))).astype(np.int64)
            return m, sixteen(p, h, j), np.sum(u[:, None] * codes, 0).astype(F) + F(0) * np.sum(p), F(0)
        p = self.weights(s, m)
        return m, sixteen(p, None, j), self.values(p, j), sixteen(p, np.where(p == 0, F(0), x), j)

    def merge(self, left, right):
        """Step 4."""
        if left is None or right is None:
            return right if left is None else left
        (m1, l1, o1, e1), (m2, l2, o2, e2) = left, right
        m = m1 if m1 > m2 else m2
        d1, d2 = m1 - (F(0) if m == -INF else m), m2 - (F(0) if m == -INF else m)
        a, b = exp2(d1), exp2(d2)
        e1, e2 = fma(l1, F(0) if a == 0 else d1, e1), fma(l2, F(0) if b == 0 else d2, e2)
        return m, fma(l2, b, l1 * a), fma(o2, b, o1 * a), fma(e2, b, e1 * a)

    def node(self, start, length):
        state, step = None, BLOCK if length == SPAN else length // 2
        for first in range(start, min(start + length, len(self.j)), step):
            state = self.merge(state, self.block(first) if length == SPAN else self.node(first, step))
        if state is None or length > SPAN:
            return state
        m, l, o, e = state
        if self.moved is not None:
            m, l, o = (m + self.moved, l, o) if np.isfinite(m + self.moved) else (m, NAN, o * NAN)
        return m, l, o * self.arrays.get("value_scale", F(1)), e

    def divided(self, number, l):
        """Step 6, and the divisors of section 13."""
        t = l if self.softmax else {"none": F(1), "constant": F(self.p.get("divisor_value", 1)),
                                    "keys": F(np.sum(self.visible)), "sum": l}[self.p["divisor"]]
        g = F(2**64) if t < F(2**-64) and not self.softmax else F(1)
        return np.zeros_like(number) if t == 0 else (number * g) * (F(1) / (t * g))

    def answers(self):
        length = max(SPAN, 1 << (len(self.j) - 1).bit_length())
        nothing = np.zeros(self.v.shape[1], F)
        m, l, o, e = before = self.node(0, length) or (-INF, F(0), nothing, F(0))
        if "sink" in self.arrays:
            m, l, o, e = self.merge(before, (self.arrays["sink"][0] * LOG2E, F(1), nothing, F(0)))
        hidden = ~self.visible | (self.s == -INF)
        top = first_keys(self.s, self.visible, self.p.get("top_k", 0))
        capped, biased = self.scored(1, lambda s, b: s), self.scored(1, np.add)
        scores = {"raw": self.r * F(self.scale), "capped": capped, "biased": biased}
        return {
            "out": self.divided(o, l),
            "lse": -INF if l == 0 else LN2 * (m + log2(l)),
            "weights": np.where(hidden, F(0), self.divided(self.weights(self.s, m), l)),
            **{kind: np.where(self.visible, canonical(s), -INF) for kind, s in scores.items()},
            "entropy": F(0) if l == 0 else LN2 * (log2(l) - e * (F(1) / l)),
            "max_logit": NAN if np.isnan(before[1]) else before[0],
            "top_keys": top,
            "top_scores": np.where(top < 0, -INF, LN2 * self.s[top]),
        }


def first_keys(s, shown, count):
    """Step 10."""
    listed = np.flatnonzero(shown & (s != -INF))
    order = sorted(listed, key=lambda j: (0, 0, j) if np.isnan(s[j]) else (1, -s[j], j))[:count]
    return np.array(order + [-1] * (count - len(order)), np.int64)


def state(p, arrays):
    """The nodes of a range of spans, as (first key, keys), and the states of all rows over them."""
    nodes, first, end = [], p["first_span"] * SPAN, p["end_span"] * SPAN
    while first < end:
        nodes.append((first, max(n for n in (SPAN << k for k in range(40)) if first % n == 0 and first + n <= end)))
        first += nodes[-1][1]
    rows = [Row(p, arrays, i) for i in range(len(arrays["q"]))]
    states = [[row.node(*node) or (-INF, F(0), np.zeros(row.v.shape[1], F)) for node in nodes] for row in rows]
    m, l, o = (np.array([[one[part] for one in of] for of in states], F) for part in range(3))
    return {"nodes": np.array(nodes), "m": m, "l": l, "o": o.reshape(len(rows), -1)}


def attention(p, arrays):
    if "end_span" in p:
        return state(p, arrays)
    answers = [Row(p, arrays, i).answers() for i in range(len(arrays["q"]))]
    all_rows = {name: np.array([answer[name] for answer in answers]) for name in answers[0]}
    all_rows["max_logit"] = LN2 * np.array([max(all_rows["max_logit"], key=lambda m: (np.isnan(m), m))], F)
    blocks = [all_rows["weights"][start : start + 128] for start in range(0, len(answers), 128)]
    return {**all_rows, "column_sums": functools.reduce(np.add, map(sixteen, blocks), F(0))}
