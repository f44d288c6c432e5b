"""Section 16 of docs/numerics.md: attention with scores and values in exact, bf16 or int8 mode."""

import numpy as np

from arithmetic import F, INF, NAN, bf16_bits, c, fma, sixteen, widened
from attention import BLOCK, DOUBLE_LOG2E, Row, dot
from functions import log2, mode_exp2


def mode_bf16(x):
    near = widened(bf16_bits(x))
    return np.where(np.abs(near) < F(2**-56), F(0), near)


def dot16(a, b):
    """Of a with each row of b."""
    a, b, r = mode_bf16(a), mode_bf16(b), np.zeros(b.shape[:-1], F)
    for start in range(0, len(a), 32):
        chains = [np.zeros_like(r), np.zeros_like(r)]
        for d in range(start, min(start + 32, len(a))):
            chains[d % 2] = fma(a[d], b[..., d], chains[d % 2])
        r = r + (chains[0] + chains[1])
    return r


def codes_of(x):
    """Codes of a row, as integers, and its scale."""
    a = np.max(np.abs(x))
    if not np.all(np.isfinite(x)) or a < F(2**-80):
        return np.zeros(len(x), np.int64), F(0) if np.all(np.isfinite(x)) else NAN
    return np.rint(x * (F(127) / a)).astype(np.int64), a / F(127)


class ModeRow(Row):
    def products(self):
        q, k, arrays = self.q, self.k, self.arrays
        if self.p["scores"] != "int8":
            return dot(q, k) if self.p["scores"] == "exact" else dot16(q, k)
        q = q * arrays.get("key_scale", F(1))
        if "key_centre" in arrays:
            k = k - arrays["key_centre"]
            self.moved = dot(q, arrays["key_centre"]) * F(self.scale * DOUBLE_LOG2E)
        codes, self.q_scale = codes_of(q)
        return np.array([F(np.dot(codes, row)) * scale for row, scale in map(codes_of, k)], F)

    def factor(self, number):
        return self.q_scale * F(number) if self.p["scores"] == "int8" else F(number)

    def block(self, start):
        mode, j = self.p["values"], self.j[start : start + BLOCK][self.visible[start : start + BLOCK]]
        if mode == "exact" or len(j) == 0:
            return super().block(start)
        s, rows = self.s[j], [codes_of(self.v[key]) for key in j]
        if mode == "int8":
            w = np.array([F(2**-87) if scale < F(2**-87) else scale for _, scale in rows], F)
            s, h = np.where(s == -INF, s, s + log2(w)), np.where(np.isnan(w), F(1), F(1) / w)
        m = np.max(s[~np.isnan(s)], initial=-INF) + F(0)
        if m == -INF and not np.any(np.isnan(s)):
            return None
        M, least = (m - c("0x1.ffa37cp+2"), F(-126)) if mode == "int8" else (m, F(-56))
        x = s - (F(0) if M == -INF else M)
        p = np.where(np.isnan(x), x, np.where(x < least, F(0), mode_exp2(np.where(x >= least, x, F(0)))))
        if mode == "bf16":
            weights, values = np.zeros(BLOCK, F), np.zeros((BLOCK, self.v.shape[1]), F)
            weights[j - start], values[j - start] = p, self.v[j]
            return M, sixteen(p, j), dot16(weights, values.T), F(0)
        l = sixteen(p, j, lambda total, e, at: fma(e, h[at], total))
        u = np.minimum(np.rint(np.where(np.isnan(p), F(0), p)), 255).astype(np.int64)
        o = np.sum(u[:, None] * np.array([codes for codes, _ in rows]), 0).astype(F)
        return M, l, np.full_like(o, NAN) if np.any(np.isnan(p)) else o, F(0)

    def span(self, state):
        """Channel numbers."""
        if state is None:
            return None
        M, l, o, e = state
        if "key_centre" in self.arrays:
            M, l, o = (M + self.moved, l, o) if np.isfinite(M + self.moved) else (M, NAN, o * NAN)
        return M, l, o * self.arrays.get("value_scale", F(1)), e
