"""Clauses L1 to L22 of docs/numerics.md. Arguments are the parameters and arrays of a vector."""

from functools import reduce

import numpy as np

from arithmetic import (CONSTANTS, F, INF, LOG2E, NAN, chain, dot, exp, exp2, fma, gelu, groups, half, leaky, pieces,
                        power, relu, sigmoid, silu, sixteen, tanh, tree)
from attention import Rows, attention, codes_of, dot16, first_keys, merge, relative
from rotary import angle, rotary

CODES = np.arange(256)
E4M3 = np.where(CODES & 127 == 127, NAN, np.uint16((CODES & 128) << 8 | (CODES & 127) << 7).view(np.float16) * F(256))
VALUES = {"q8_0": np.roll(CODES - 128, 128), "q4_0": CODES - 8, "q5_0": CODES - 16, "q6_K": CODES - 32, "e4m3": E4M3,
          "iq4_nl": np.array(CONSTANTS["iq4_nl"]), "mxfp4": np.array(CONSTANTS["mxfp4"])}
ACTIVATIONS = {"none": lambda x: x, "relu": relu, "gelu": gelu, "silu": silu}


def layer(x, w, bias=F(0), gate=F(1), residual=F(0), activation="none", product=dot):
    """L1. What is absent is no operation but for the sign of a zero."""
    return ACTIVATIONS[activation](product(x[:, None], w) + bias) * gate + residual


def int8_dot(x, values, S, O, groups):
    codes, scale = codes_of(x)
    of_groups = np.eye(S.shape[1])[groups]
    sums = np.stack(np.broadcast_arrays((codes * values) @ of_groups, codes @ of_groups), -1)
    return chain(F(sums.reshape(*sums.shape[:2], -1)), np.stack([S, O], -1).reshape(len(S), -1)) * scale[..., 0]


def linear(x, mode, w=None, format="", codes=None, g_idx=None, exponents=None, scales=F(1), d=F(1), offsets=F(0),
           minima=F(0), dmin=F(0), zeros=F(0), **more):
    """With quantised weights, S and O of groups of dims. At most one part of O is not 0."""
    product = {"exact": dot, "bf16": dot16}.get(mode, lambda x, _: int8_dot(x, values, S, O, groups))
    if codes is not None:
        S = scales * d if exponents is None else power(exponents.astype(int) - 128)
        O, values, dims = offsets - minima * dmin - zeros * S, VALUES.get(format, CODES)[codes], codes.shape[1]
        groups = np.arange(dims) * S.shape[1] // dims if g_idx is None else g_idx
        w = fma(values, S[:, groups], O[:, groups])
    return {"w": w, "y": layer(x, w, product=product, **more)}


def norm(x, kind, eps, gamma=F(1), beta=F(0), **_):
    d = x - sixteen(x) / F(x.shape[1]) if kind == "layer_norm" else x
    return fma(d * (F(1) / np.sqrt(sixteen(d, d) / F(x.shape[1]) + F(eps))), gamma, beta)


def softmax(x):
    y = exp2(relative(x, np.fmax.reduce(x, 1, keepdims=True, initial=-INF)) * LOG2E)
    l = sixteen(y)
    return np.where(l == 0, F(0), y * (F(1) / l))


def embedding(tokens, positions, scale, types=F(0)):
    return tokens * F(scale) + types + positions


def philox(count, seed, stream):
    """L8: four numbers of each counter."""
    low, i = 0xFFFFFFFF, np.arange(count, dtype=np.uint64)
    c0, c1, c2, c3, k0, k1 = i & low, i >> 32, stream & low, stream >> 32, seed & low, seed >> 32
    for _ in range(10):
        one, two = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = two >> 32 ^ c1 ^ k0, two & low, one >> 32 ^ c3 ^ k1, one & low
        k0, k1 = k0 + 0x9E3779B9 & low, k1 + 0xBB67AE85 & low
    return np.stack([c0, c1, c2, c3], 1)


def dropout(x, seed, stream, p):
    random = philox((len(x) + 3) // 4, seed, stream).ravel()[: len(x)]
    return {"random": random, "y": np.where(random >= p * 2.0**32, x * (F(1) / (F(1) - F(p))), F(0))}


def inside(arrays, prefix):
    return {name[len(prefix):]: array for name, array in arrays.items() if name.startswith(prefix)}


def dense(arrays, name, x, **more):
    return layer(x, arrays[name], arrays.get(name + "_bias", F(0)), **more)


def turned(x, heads, base, dims=slice(None)):
    """The dims of heads side by side, rotated; rows are at positions 0, 1, ..."""
    rows = x.reshape(len(x) * heads, -1).copy()
    rows[:, dims] = rotary(rows[:, dims], np.repeat(np.arange(len(x)), heads), base)["y"]
    return rows.reshape(x.shape)


def multi_head(x, heads, memory=None, residual=F(0), base=None, **p):
    """L9. Heads lie side by side."""
    memory, of = x if memory is None else memory, p.get("kv_heads", heads)
    q, k, v = dense(p, "query", x), dense(p, "key", memory), dense(p, "value", memory)
    if base:
        q, k = turned(q, heads, base), turned(k, of, base)
    if "bias_key" in p:
        k, v = np.vstack([p["bias_key"], k]), np.vstack([p["bias_value"], v])
    each = zip(np.split(q, heads, 1), *(np.repeat(np.split(rows, of, 1), heads // of, 0) for rows in (k, v)))
    answers = [attention(q=q, k=k, v=v, **p) for q, k, v in each]
    y = dense(p, "output", np.hstack([one["out"] for one in answers]), residual=residual)
    return {"y": y, "scores": sum(one["weights"] for one in answers) / F(heads)}


def encoder(layers, norm_first, kind, eps, activation, x=None, memory=None, **p):
    """L12: layers one after the other, of a stack with what comes before and after."""
    x = embedding(p["tokens"], p["positions"], p["embedding_scale"]) if x is None else x
    x = norm(x, kind, eps, **inside(p, "embedding_")) if "embedding_gamma" in p else x
    over_memory = {"heads": p["heads"], "kv_heads": p["kv_heads"], "offset": 0, "memory": memory}
    for i, step in ((i, step) for i in range(layers) for step in ("self", "cross", "feed") if f"{i}_{step}_gamma" in p):
        of = inside(p, f"{i}_{step}_")
        rows = norm(x, kind, eps, **of) if norm_first else x
        if step == "feed":
            gate = dense(p, f"{i}_gate", rows) if f"{i}_gate" in p else F(1)
            x = dense(p, f"{i}_down", dense(p, f"{i}_up", rows, activation=activation, gate=gate), residual=x)
        else:
            x = multi_head(x=rows, residual=x, **{**(p if step == "self" else over_memory), **of})["y"]
        x = x if norm_first else norm(x, kind, eps, **of)
    x = norm(x, kind, eps, **inside(p, "last_")) if "last_gamma" in p else x
    return {"y": x, "logits": dense(p, "head", x) if "head" in p else None}


def additive(q, k, w, leaky_slope=None):
    act = tanh if leaky_slope is None else lambda x: leaky(x, leaky_slope)
    return sixteen(w, act(q[:, None] + k))[..., 0]


def gru(input, hidden, state):
    """The gates are r, z and n."""
    n = tanh(fma(sigmoid(input[0] + hidden[0]), hidden[2], input[2]))
    return fma(sigmoid(input[1] + hidden[1]), state - n, n)


def lstm(input, hidden, state):
    i, f, g, o = input + hidden
    new_c = fma(sigmoid(f), state, sigmoid(i) * tanh(g))
    return {"new_c": new_c, "y": sigmoid(o) * tanh(new_c)}


def linear_attention(q, k, v, state, gated, delta, unit, scale, unit_eps, **p):
    """L14, of a token after the other."""
    S, rows = state, []
    q, k = (x * (F(1) / np.sqrt(sixteen(x, x) + F(unit_eps))) if unit else x for x in (q, k))
    for t, (q, k, v) in enumerate(zip(q, k, v)):
        S = exp(p["factor"] * p["decay"][t])[:, None] * S if gated else S
        S = fma(k[:, None], p["beta"][t] * (v - dot(k, S.T, None)) if delta else v, S)
        o = F(scale) * dot(q, S.T, None)
        rows.append(fma(p["skip"], v, o) if "skip" in p else o)
    return {"o": np.array(rows), "new_state": S}


def selection(q, k, weights, heads, offset, top_k):
    """L18, of causal rows."""
    row, key = np.indices((len(q), len(k)))
    products = np.stack([relu(dot(head[:, None], k)) for head in np.split(q, heads, 1)], -1)
    return first_keys(np.where(key <= row + offset, chain(weights[:, None], products), -INF), top_k)


def linformer(q, k, v, e, f, **p):
    """L19."""
    k, v = (tree(pieces(by.T[:, None], rows.T, None)) for by, rows in ((e, k), (f, v)))
    return attention(q=q, k=k, v=v, **p)


def differential(o1, o2, q1, k1, q2, k2, lambda_init, **more):
    """L21, of the rows of both attentions."""
    weight = exp(dot(q1, k1)) - exp(dot(q2, k2)) + F(lambda_init)
    return {"lambda": [weight], "y": norm(fma(-weight, o2, o1), **more) * (F(1) - F(lambda_init))}


def ln(u):
    e = np.frexp(u / float.fromhex("0x1.6a09e667f3bcdp-1"))[1] - 1
    z = np.ldexp(u, -e)
    s = (z - 1) / (z + 1)
    q = reduce(lambda q, k: q * (s * s) + 1 / k, range(23, 0, -2), 0.0)
    return 2 * s * q + e * float.fromhex("0x1.62e42fefa39efp-1")


def double_dot(a, b):
    return np.cumsum(a * b, -1)[..., -1:]


def projection(dim, features, seed, stream, orthogonal, constant_norms):
    """L15, in double: of each row a direction and a vector for its norm."""
    n = philox((dim + 1) // 2 * 2 * features, seed, stream)
    r = np.sqrt(-2 * ln(((n[:, 0] << 32 | n[:, 1]) >> 12) * 2.0**-52 + 2.0**-53))
    waves = [angle(1, int(high << 32 | low) << 64 | 1 << 63) for high, low in n[:, 2:]]
    a, b = np.moveaxis((r[:, None] * waves).reshape(features, 2, -1)[..., :dim], 1, 0)
    for i in range(features) if orthogonal else ():
        for e in [*a[i // dim * dim : i]] * 2:
            a[i] = a[i] - double_dot(a[i], e) * e
        a[i] = a[i] * (1 / np.sqrt(double_dot(a[i], a[i])))
    norms = np.sqrt(dim) if constant_norms else np.sqrt(double_dot(b, b))
    return F(a * (norms if orthogonal else 1 / np.sqrt(double_dot(a, a)) * norms if constant_norms else 1))


def features_of(x, w, axis, kernel, stabiliser, scale, eps):
    """phi of rows; the stabiliser is the largest number along the axis."""
    x = x * F(np.sqrt(scale))
    a, h = dot(x[:, None], w), sixteen(x, x) * F(0.5)
    c = np.fmax.reduce(a, axis, keepdims=True, initial=-INF) if stabiliser else F(0)
    return relu(a) + F(eps) if kernel == "relu" else (exp(relative(a, c) - h) + F(eps)) * F(1 / np.sqrt(len(w)))


def performer(q, k, v, kernel, stabiliser, scale, eps, causal=0, S=None, z=None, **random):
    w, rows = projection(**random), []
    q, k = (features_of(x, w, axis, kernel, stabiliser, scale, eps) for x, axis in ((q, 1), (k, None)))
    if not causal:
        S, z = tree(pieces(k.T[:, None], v.T)), tree([sixteen(block.T)[:, 0] for block in groups(k, 128)])
    for i, phi in enumerate(q):
        S, z = (fma(k[i][:, None], v[i], S), z + k[i]) if causal else (S, z)
        D = sixteen(phi, z)
        rows.append(np.where(D < F(2**-126), F(0), dot(phi, S.T) * (F(1) / D)))
    return {"projection": w, "o": np.array(rows), "new_S": S, "new_z": z}


def longformer(x, states, window, **p):
    """L16."""
    i, j = np.indices((len(x), len(x)))
    near = (np.abs(i - j) <= window) | (states[i] == 1) | (states[j] == 1)
    p["mask"] = near & (states[i] >= 0) & (states[j] >= 0)
    local, whole = (multi_head(x, **{**p, **more})["y"] for more in ({}, inside(p, "global_")))
    return np.where(states[:, None] == 1, whole, local)


def drawn_blocks(seed, row, blocks, chosen):
    """The list of a row: a number from 0 to the last that is free, or this last one if the list has the number."""
    lasts, numbers = range(blocks - chosen, blocks), philox(chosen, seed, row).tolist()
    draws = [(last, (n[1] << 32 | n[0]) * (last + 1) >> 64) for last, n in zip(lasts, numbers)]
    return sorted(reduce(lambda drawn, draw: drawn + [draw[0] if draw[1] in drawn else draw[1]], draws, []))


def bigbird(blocks, chosen, seed):
    """L16: the lists, and which blocks see which."""
    lists = np.array([drawn_blocks(seed, row, blocks - 5, min(chosen, blocks - 5)) for row in range(blocks - 2)])
    i, j = np.indices((blocks, blocks))
    shown = (np.abs(i - j) <= 1) | (np.minimum(i, j) == 0) | (np.maximum(i, j) == blocks - 1)
    free = (~shown & (np.abs(i - j) != blocks - 3))[1:-1]
    shown[1:-1] |= free & np.any(np.cumsum(free, 1)[..., None] == lists[:, None] + 1, 2)
    return {"lists": lists, "mask": shown}


def reformer(x, v, rotations, bucket_size, rounds, once, within_round, scale, eps, factor=0, causal=0):
    """L17."""
    n, i, products = len(x), np.arange(len(x))[:, None], dot(x[:, None], rotations.T).reshape(len(x), rounds, -1)
    low, *high = (np.argmax(np.dstack([t, -t]), 2) for t in np.split(products, [factor // 2] if factor else [], 2))
    buckets = (low + factor * sum(high)).T
    order = np.argsort(buckets, 1, kind="stable")
    slots = np.pad(order, ((0, 0), (0, -n % bucket_size)), constant_values=-1).reshape(rounds, -1, bucket_size)
    ring = slots if within_round else slots.reshape(1, -1, bucket_size)
    before = np.roll(ring, 1, 1).reshape(slots.shape) if ring.shape[1] > 1 else np.full_like(slots, -1)
    keys = np.hstack(np.take_along_axis(np.dstack([before, slots]), np.argsort(order, 1)[..., None] // bucket_size, 1))
    is_first = ~np.any(np.tril(keys[:, :, None] == keys[:, None], -1), 2)
    shown = (keys >= 0) & (keys != i) & (keys < (i if causal else n)) & (is_first | (not once))
    k, scale = norm(x, "rms_norm", eps), scale / np.sqrt(x.shape[1])
    _, l, o, _ = reduce(merge, [Rows(x, k[at], v[at], 0, scale=scale, mask=mask).state()
                                for at, mask in zip(np.split(keys, rounds, 1), np.split(shown, rounds, 1))])
    return {"buckets": buckets, "y": np.where(l == 0, v, o * (F(1) / l))}


def latent(x, heads, rank, nope, rope, absorbed, cache, eps, base, **p):
    """L20."""
    pairs, answers = np.arange(-rope, 0).reshape(-1, 2).T.ravel(), []
    a = norm(dense(p, "q_a", x), "rms_norm", eps, p["q_gamma"]) if "q_a" in p else x
    q, c = turned(dense(p, "q_b", a), heads, base, pairs), dense(p, "kv_a", x)
    c = turned(np.hstack([norm(c[:, :rank], "rms_norm", eps, p["kv_gamma"]), c[:, rank:]]), 1, base, pairs)
    c = half(c) if cache == "f16" else c
    for q, w in zip(np.split(q, heads, 1), np.split(p["kv_b"], heads)):
        k, v = np.hstack([layer(c[:, :rank], w[:nope]), c[:, rank:]]), layer(c[:, :rank], w[nope:])
        if absorbed:
            q, k, v = np.hstack([layer(q[:, :nope], w[:nope].T), q[:, nope:]]), c, c[:, :rank]
        o = attention(q=q, k=k, v=v, **p)["out"]
        answers.append(layer(o, w[nope:]) if absorbed else o)
    return dense(p, "o", np.hstack(answers))


def graph(q, k, v, starts, sources, kind, heads, average, leaky_slope, e=None, bias=F(0), **p):
    """L22. Lists of edges are filled up with edges that no node sees."""
    edges = starts[:-1, None] + np.arange(np.max(np.diff(starts)))
    there, edges = edges < starts[1:, None], np.minimum(edges, starts[-1] - 1)
    sources = np.where(there, sources[edges], -1)

    def heads_of(x):
        """(heads, nodes, edges, dim)."""
        return np.moveaxis(x.reshape(*x.shape[:2], heads, -1), 2, 0)

    a = {name: heads_of(vector[None, None]) for name, vector in inside(p, "a").items()}
    q, k, v = heads_of(q[:, None]), heads_of(k[sources]), heads_of(v[sources])
    e = k * F(0) if e is None else heads_of(e[edges])
    r = {"transformer": lambda: sixteen(q, k + e), "gatv2": lambda: sixteen(a[""], leaky(q + (k + e), leaky_slope)),
         "gat": lambda: leaky(sixteen(a["_to"], q) + sixteen(a["_from"], k) + sixteen(a["_edge"], e), leaky_slope)}
    each = zip(q[:, :, 0], k, v + e if kind == "transformer" else k, r[kind]()[..., 0])
    answers = [attention(q=q, k=k, v=v, r=r, offset=0, mask=sources >= 0, scale=p["scale"]) for q, k, v, r in each]
    o, lse, weights = zip(*((one["out"], one["lse"], one["weights"][there]) for one in answers))
    y = (sum(o) / F(heads) if average else np.hstack(o)) + bias
    return {"y": y, "lse": np.transpose(lse), "weights": np.transpose(weights)}
