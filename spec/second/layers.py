"""Clauses L1 to L4, L6, L8, L10, L11 and L14 of docs/numerics.md."""

import functools
import math

import numpy as np

from arithmetic import CONSTANTS, F, INF, LOG2E, SHIFT, c, chain, exp2, fma, horner, power, sixteen, tanh, tanh_parts
from attention import attention, codes_of, dot, dot16, first_keys
from formats import IQ4_NL
from rotary import rotary

PIECES = np.array([[c(number) for number in piece] for piece in CONSTANTS["gelu pieces"]])


def one_and_power(n, f, coefficients):
    """D(n, f)."""
    P = power(n - F(32))
    S = P + F(2**-32)
    return fma(P * f, horner(coefficients, f), (P - S) + F(2**-32)) + S


def one_and_exp(w):
    """D(w)."""
    n = fma(w, c("-0x1.715476p+0"), SHIFT) - SHIFT
    return one_and_power(n, fma(n, c("-0x1.05c61p-29"), fma(n, c("0x1.62e43p-1"), w)), CONSTANTS["exp"])


def exp(x):
    a = np.clip(x, F(-87), F(89))
    n = fma(a, c("0x1.715476p+0"), SHIFT) - SHIFT
    f = fma(n, c("0x1.05c61p-29"), fma(n, c("-0x1.62e43p-1"), a))
    y = fma(horner([one.lstrip("-") for one in CONSTANTS["exp"]], f), f, F(1)) * power(n - F(1)) * F(2)
    return np.where(x < F(-86.5), F(0), y)


def silu(x):
    a = np.clip(x, F(-110), F(32))
    return np.where(x < F(32), a / one_and_exp(a) * F(2**-32), x)


def gelu_tanh(x):
    a = np.clip(x, c("-0x1.59999ap+3"), F(6))
    s = fma(a, a, c("0x1.65d26p+4"))
    rest = fma(a, a, c("0x1.65d26p+4") - s) + c("-0x1.226128p-20")
    w = a * s
    w_rest = fma(a, rest, fma(a, s, -w))
    n = fma(w, c("-0x1.a5a7dp-4"), SHIFT) - SHIFT
    f = fma(n, c("0x1.36dap+3"), w) + fma(n, c("-0x1.549446p-16"), w_rest)
    return np.where(x < F(6), a / one_and_power(n, f, CONSTANTS["gelu_tanh"]) * F(2**-32), x)


def gelu(x):
    b = np.clip(np.nan_to_num(x), F(-14.5), F(6))
    a = np.abs(b)
    fraction, i = np.frexp(a + F(1))
    node, v, *p = np.moveaxis(PIECES[4 * (i - 1) + ((fraction - F(0.5)) * F(8)).astype(int)], -1, 0)
    f = a - node
    sign = np.where(x < 0, F(-1), F(1))
    g, v, q = f * sign, v * sign, functools.reduce(lambda q, coefficient: fma(q, f, coefficient), p[::-1])
    z = b * a
    z_rest = fma(b, a, -z)
    n = fma(fma(g, p[0], z + v), c("-0x1.715476p-1"), SHIFT) - SHIFT
    r = (z + fma(n, c("0x1.62e4p+0"), v)) + fma(g, q, fma(n, c("0x1.7f7d1cp-19"), z_rest))
    return np.where(x < F(6), b / one_and_power(n, r, CONSTANTS["gelu"]) * F(2**-32), x)


def elu(x):
    s, g, q = tanh_parts(np.minimum(np.abs(x) * F(0.5), F(10)))
    return np.where(x < 0, fma(-g, q, s - F(1)), x)


def sigmoid(x):
    return F(1) / one_and_exp(np.clip(x, F(-110), F(32))) * F(2**-32)


def relu(x):
    return np.where(x < 0, F(0), x)


E4M3 = [math.nan if code & 127 == 127 else math.copysign(math.ldexp(code % 8 + (8 if code & 120 else 0),
        max(code >> 3 & 15, 1) - 10), 127.5 - code) for code in range(256)]
VALUES = {"q8_0": np.roll(np.arange(-128, 128), 128), "q4_0": np.arange(16) - 8, "q5_0": np.arange(32) - 16,
          "q6_K": np.arange(64) - 32, "iq4_nl": IQ4_NL, "e4m3": np.array(E4M3),
          "mxfp4": np.array((0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12))}
ACTIVATIONS = {"none": lambda x: x, "relu": relu, "gelu": gelu, "silu": silu}


def layer(x, w, bias=F(0), act="none", gate=F(1), residual=F(0), product=dot):
    """L1. What is absent is no operation but for the sign of a zero."""
    return ACTIVATIONS[act](np.array([product(row, w) for row in x]) + bias) * gate + residual


def coded_weights(p, arrays):
    """Quantised weights: values of the codes, S and O of groups of dims, and the group of each dim."""
    codes, S, dims = arrays["codes"], arrays.get("scales", F(1)) * arrays.get("d", F(1)), arrays["codes"].shape[1]
    S = power(arrays["exponents"].astype(int) - 128) if "exponents" in arrays else S
    O = -(arrays["minima"] * arrays["dmin"]) if "minima" in arrays else arrays.get("offsets", np.zeros_like(S))
    groups = arrays.get("g_idx", np.arange(dims) * S.shape[1] // dims)
    return VALUES.get(p["format"], np.arange(256))[codes], S, -(arrays["zeros"] * S) if "zeros" in arrays else O, groups


def int8_dot(x, values, S, O, groups):
    codes, s = codes_of(x)
    parts = [(codes[groups == g], values[:, groups == g], S[:, g], O[:, g]) for g in range(S.shape[1])]
    return s * chain(pair for row, v, scale, offset in parts for pair in ((v @ row, scale), (np.sum(row), offset)))


def linear(p, arrays):
    w, product = arrays.get("w"), dot16 if p["mode"] == "bf16" else dot
    if "codes" in arrays:
        values, S, O, groups = coded_weights(p, arrays)
        w = fma(values, S[:, groups], O[:, groups])
        product = dot if p["mode"] == "exact" else lambda x, _: int8_dot(x, values, S, O, groups)
    more = {name: arrays[name] for name in ("bias", "gate", "residual") if name in arrays}
    return {"w": w, "y": layer(arrays["x"], w, act=p["activation"], product=product, **more)}


def embedding(p, arrays):
    return {"y": arrays["tokens"] * F(p["scale"]) + arrays.get("types", F(0)) + arrays["positions"]}


def norm(x, p, arrays):
    n = F(x.shape[1])
    d = x - (sixteen(x.T) / n)[:, None] if p["kind"] == "layer_norm" else x
    y = d * (F(1) / np.sqrt(sixteen(d.T, d.T) / n + F(p["eps"])))[:, None]
    return fma(y, arrays.get("gamma", F(1)), arrays.get("beta", F(0)))


def softmax(x):
    m = np.max(x[~np.isnan(x)], initial=-INF)
    y = exp2((x - (F(0) if m == -INF else m)) * LOG2E)
    l = sixteen(y)
    return y * F(0) if l == 0 else y * (F(1) / l)


def dense(arrays, name, x, **more):
    return layer(x, arrays[name], arrays.get(name + "_bias", F(0)), **more)


def multi_head(p, arrays, name, x, memory, residual=F(0)):
    """L9."""
    q, k, v = (np.split(dense(arrays, name + part, rows), p[heads], 1) for part, rows, heads in
               (("query", x, "heads"), ("key", memory, "kv_heads"), ("value", memory, "kv_heads")))
    if "base" in p:
        q, k = ([rotary(p, {"x": head, "positions": range(len(head))})["y"] for head in all] for all in (q, k))
    if name + "bias_key" in arrays:
        k, v = (list(map(np.vstack, zip(np.split(arrays[name + part], len(k)), all)))
                for part, all in (("bias_key", k), ("bias_value", v)))
    heads = [{"q": head, "k": k[i * len(k) // len(q)], "v": v[i * len(k) // len(q)]} for i, head in enumerate(q)]
    heads = [attention(p, head) for head in heads]
    y = dense(arrays, name + "output", np.hstack([head["out"] for head in heads]), residual=residual)
    return {"y": y, "scores": sum(head["weights"] for head in heads) / F(len(q))}


def encoder(p, arrays):
    """L12: layers one after the other."""
    x, everything = arrays["x"], {"heads": p["heads"], "kv_heads": p["kv_heads"], "offset": 0}
    for at, step in ((f"{i}_", step) for i in range(p["layers"]) for step in ("self", "cross", "feed")):
        numbers = {key: arrays[f"{at}{step}_{key}"] for key in ("gamma", "beta") if f"{at}{step}_{key}" in arrays}
        rows = norm(x, p, numbers) if p["norm_first"] else x
        if step == "feed":
            gate = dense(arrays, at + "gate", rows) if at + "gate" in arrays else F(1)
            x = dense(arrays, at + "down", dense(arrays, at + "up", rows, act=p["activation"], gate=gate), residual=x)
        elif numbers:
            memory, rules = (rows, p) if step == "self" else (arrays["memory"], everything)
            x = multi_head(rules, arrays, f"{at}{step}_", rows, memory, x)["y"]
        x = norm(x, p, numbers) if numbers and not p["norm_first"] else x
    return {"y": x}


def philox(seed, stream, j):
    low = 0xFFFFFFFF
    c0, c1, c2, c3, k0, k1 = j // 4 & low, j // 4 >> 32, stream & low, stream >> 32, seed & low, seed >> 32
    for _ in range(10):
        one, two = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = two >> 32 ^ c1 ^ k0, two & low, one >> 32 ^ c3 ^ k1, one & low
        k0, k1 = k0 + 0x9E3779B9 & low, k1 + 0xBB67AE85 & low
    return (c0, c1, c2, c3)[j % 4]


def dropout(p, arrays):
    random = np.array([philox(p["seed"], p["stream"], j) for j in range(len(arrays["x"]))])
    kept = arrays["x"] * (F(1) / (F(1) - F(p["p"])))
    return {"random": random, "y": np.where(random >= p["p"] * 2.0**32, kept, F(0))}


def additive(p, arrays):
    act = (lambda x: np.where(x > 0, x, x * F(p["leaky_slope"]))) if "leaky_slope" in p else tanh
    return {"r": np.array([[sixteen(arrays["w"], act(q + k)) for k in arrays["k"]] for q in arrays["q"]])}


def selection(p, arrays):
    """L18, of causal rows."""
    q, w, k, j = arrays["q"], arrays["weights"], arrays["k"], np.arange(len(arrays["k"]))
    scores = [chain(zip(w[i], [relu(dot(head, k)) for head in np.split(q[i], p["heads"])])) for i in range(len(q))]
    return {"keys": np.array([first_keys(I, j <= i + p["offset"], p["top_k"]) for i, I in enumerate(scores)])}


def differential(p, arrays):
    """L21, of the rows of both attentions."""
    weight = exp(dot(arrays["q1"], arrays["k1"])) - exp(dot(arrays["q2"], arrays["k2"])) + F(p["lambda_init"])
    y = norm(fma(-weight, arrays["o2"], arrays["o1"]), p, arrays) * (F(1) - F(p["lambda_init"]))
    return {"lambda": [weight], "y": y}


def position_sums(a, b):
    """L19: sums of products over positions, in blocks, spans and a tree."""
    parts = [chain(zip(a[at : at + 128, :, None], b[at : at + 128, None])) for at in range(0, len(a), 128)]
    for count in (16, *[2] * 40):
        parts = [functools.reduce(np.add, parts[at : at + count]) for at in range(0, len(parts), count)]
    return parts[0]


def linformer(p, arrays):
    k, v = position_sums(arrays["e"], arrays["k"]), position_sums(arrays["f"], arrays["v"])
    return attention(p, {"q": arrays["q"], "k": k, "v": v})


def gru(p, arrays):
    (Ir, Iz, In), (Jr, Jz, Jn), h = arrays["input"], arrays["hidden"], arrays["state"]
    n = tanh(fma(sigmoid(Ir + Jr), Jn, In))
    return {"y": fma(sigmoid(Iz + Jz), h - n, n)}


def lstm(p, arrays):
    i, f, g, o = arrays["input"] + arrays["hidden"]
    new_c = fma(sigmoid(f), arrays["state"], sigmoid(i) * tanh(g))
    return {"new_c": new_c, "y": sigmoid(o) * tanh(new_c)}


def linear_attention(p, arrays):
    def unit(x):
        return x * (F(1) / np.sqrt(sixteen(x, x) + F(p["unit_eps"]))) if p["unit"] else x

    S, rows = arrays["state"], []
    for t, (q, k, v) in enumerate(zip(map(unit, arrays["q"]), map(unit, arrays["k"]), arrays["v"])):
        if p["gated"]:
            S = exp(arrays["factor"] * arrays["decay"][t])[:, None] * S
        u = arrays["beta"][t] * (v - dot(k, S.T, None)) if p["delta"] else v
        S = fma(k[:, None], u, S)
        o = F(p["scale"]) * dot(q, S.T, None)
        rows.append(fma(arrays["skip"], v, o) if "skip" in arrays else o)
    return {"o": np.array(rows), "new_state": S}
