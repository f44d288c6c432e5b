#!/usr/bin/env python3
"""Variants of attention beside public PyTorch code: variants.py --build build/release --out run.json

The peers are those that install from PyPI: transformers' Longformer and BigBird, reformer-pytorch, performer-pytorch,
fla-core's references of the linear family, PyTorch Geometric; and where no package is, the papers' formulas in PyTorch.
Each runs as it is and compiled (where that works), and the faster counts. Each round runs both, in turns, in one
process; its ratio is the peer's time over Fovea's. Sizes are equal, weights are random: tests compare the numbers.
Prints a table with the bar. requirements-variants.txt lists the packages.
"""

import argparse
import ctypes
import datetime
import importlib.util
import json
import pathlib
import sys
import time

import numpy
import torch
import torch.nn.functional as F

import measure  # of this folder, which finds the modules of bench
import measurements

BAR, DIM = 2.0, 64
SLICE = 0.05  # seconds, or one call


def reference(rule):
    """fla-core's naive.py of a rule. The package itself wants triton, which has no CPU backend."""
    folder = pathlib.Path(importlib.util.find_spec("fla").origin).parent
    spec = importlib.util.spec_from_file_location(f"naive_{rule}", folder / "ops" / rule / "naive.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def longformer(heads, length):
    from transformers import LongformerConfig
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
    config = LongformerConfig(hidden_size=heads * DIM, num_attention_heads=heads, attention_window=[512],
                              attention_probs_dropout_prob=0.0)
    layer = LongformerSelfAttention(config, 0).eval()
    x, mask = torch.randn(1, length, heads * DIM), torch.zeros(1, length)
    mask[0, 0] = 10000
    # the model passes them as 0, and above 0 for global tokens
    return lambda: layer(x, attention_mask=mask, is_index_masked=mask < 0, is_index_global_attn=mask > 0,
                         is_global_attn=True)[0]


def bigbird(heads, length):
    from transformers import BigBirdConfig
    from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel
    config = BigBirdConfig(hidden_size=heads * DIM, num_attention_heads=heads, block_size=64, num_random_blocks=3,
                           attention_probs_dropout_prob=0.0, max_position_embeddings=length)
    layer = BigBirdBlockSparseAttention(config, seed=1).eval()
    blocked, band, from_mask, to_mask = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, length), 64)
    q, k, v = (torch.randn(1, heads, length, DIM) for _ in range(3))
    return lambda: layer.bigbird_block_sparse_attention(
        q, k, v, band, from_mask, to_mask, blocked, blocked, heads, 3, DIM, 64, 64, 1, length, length, seed=1,
        plan_from_length=None, plan_num_rand_blocks=None)[0]


def reformer(heads, length):
    from reformer_pytorch import LSHAttention
    layer = LSHAttention(bucket_size=64, n_hashes=4).eval()
    qk, v = (torch.randn(heads, length, DIM) for _ in range(2))
    return lambda: layer(qk, v)[0]


def linformer(heads, length):
    """The core of lucidrains' linformer, after the projections of heads."""
    q, k, v = (torch.randn(1, heads, length, DIM) for _ in range(3))
    e, f = torch.randn(length, 256), torch.randn(length, 256)

    def run():
        keys, values = torch.einsum("bhnd,nk->bhkd", k, e), torch.einsum("bhnd,nk->bhkd", v, f)
        return F.scaled_dot_product_attention(q, keys, values)
    return run


def performer(heads, length, causal=False):
    from performer_pytorch import FastAttention
    layer = FastAttention(dim_heads=DIM, nb_features=256, causal=causal).eval()
    if causal:
        from performer_pytorch.performer_pytorch import causal_linear_attention_noncuda
        layer.causal_linear_fn = causal_linear_attention_noncuda
    q, k, v = (torch.randn(1, heads, length, DIM) for _ in range(3))
    return lambda: layer(q, k, v)


def linear_inputs(heads, length):
    q, k, v = (torch.randn(1, length, heads, DIM) for _ in range(3))
    g, beta = -torch.rand(1, length, heads), torch.rand(1, length, heads)
    return q, k, v, g, beta


def linear(heads, length):
    q, k, v, _, _ = linear_inputs(heads, length)
    run = reference("linear_attn").naive_chunk_linear_attn
    return lambda: run(q, k, v)


def gated(heads, length):
    q, k, v, g, _ = linear_inputs(heads, length)
    run = reference("simple_gla").naive_chunk_simple_gla
    return lambda: run(q, k, v, g)


def delta(heads, length):
    q, k, v, _, beta = linear_inputs(heads, length)
    q, k, v, beta = (x.transpose(1, 2).contiguous() for x in (q, F.normalize(k, dim=-1), v, beta))
    run = reference("delta_rule").delta_rule_chunkwise
    return lambda: run(q, F.normalize(k, dim=-1), v, beta)


def gated_delta(heads, length):
    q, k, v, g, beta = linear_inputs(heads, length)
    run = reference("gated_delta_rule").naive_chunk_gated_delta_rule
    return lambda: run(F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, g, beta)


def differential(heads, length):
    """Microsoft's multihead_diffattn, with PyTorch's fused attention in place of FlashAttention."""
    q1, q2, k1, k2 = (torch.randn(1, heads, length, DIM // 2) for _ in range(4))
    v = torch.randn(1, heads, length, DIM)

    def run():
        first = F.scaled_dot_product_attention(q1, k1, v, is_causal=True)
        second = F.scaled_dot_product_attention(q2, k2, v, is_causal=True)
        return F.rms_norm(first - 0.5 * second, (DIM,), eps=1e-5) * 0.8
    return run


def latent(heads, length):
    """DeepSeek's attention in its expanded form, with the sizes of bench/variants_latent.c."""
    rope, rank = 32, DIM
    x = torch.randn(1, length, DIM)
    wq, wkv = torch.randn(heads * DIM, DIM) * 0.1, torch.randn(rank + rope, DIM) * 0.1
    wb, wo = torch.randn(heads * (DIM - rope + DIM), rank) * 0.1, torch.randn(DIM, heads * DIM) * 0.1
    angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, rope, 2) / rope)
    cosines, sines = angles.cos(), angles.sin()

    def rotate(x):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cosines - b * sines, a * sines + b * cosines), dim=-1).flatten(-2)

    def run():
        q = F.linear(x, wq).view(1, length, heads, DIM).transpose(1, 2)
        c, k_rope = F.linear(x, wkv).split((rank, rope), dim=-1)
        kv = F.linear(c, wb).view(1, length, heads, -1).transpose(1, 2)
        k_nope, v = kv.split((DIM - rope, DIM), dim=-1)
        q = torch.cat((q[..., :DIM - rope], rotate(q[..., DIM - rope:])), dim=-1)
        k = torch.cat((k_nope, rotate(k_rope[:, None]).expand(-1, heads, -1, -1)), dim=-1)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(o.transpose(1, 2).reshape(1, length, -1), wo)
    return run


def selected(heads, length):
    """DeepSeek's indexer and attention over its keys, with one index head."""
    q, k, v = (torch.randn(1, heads, length, DIM) for _ in range(3))
    index_q, index_k, weights = torch.randn(length, DIM), torch.randn(length, DIM), torch.rand(length, 1)
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)

    def run():
        scores = (torch.relu(index_q @ index_k.T) * weights).masked_fill(hidden, -torch.inf)
        chosen = scores.topk(256, dim=-1).indices
        mask = torch.zeros(length, length, dtype=torch.bool).scatter_(1, chosen, True) & ~hidden
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return run


def graph(heads, length):
    from torch_geometric.utils import scatter, softmax
    rows = torch.arange(length).repeat_interleave(16)
    keys = torch.randint(length, (length * 16,))
    q, k, v = (torch.randn(length, DIM) for _ in range(3))

    def run():
        scores = (q[rows] * k[keys]).sum(-1) * DIM**-0.5
        return scatter(softmax(scores, rows, num_nodes=length).unsqueeze(-1) * v[keys], rows, dim_size=length)
    return run


# variant -> (peer, heads, whether torch.compile is tried, what makes the peer's call)
PEERS = {
    "longformer": ("transformers", 8, True, longformer),
    "bigbird": ("transformers", 8, False, bigbird),
    "reformer": ("reformer-pytorch", 8, True, reformer),
    "linformer": ("linformer's einsum, PyTorch", 8, True, linformer),
    "performer": ("performer-pytorch", 8, True, performer),
    "performer_causal": ("performer-pytorch", 1, False, lambda heads, length: performer(heads, length, True)),
    "linear": ("fla-core, chunks", 8, True, linear),
    "gated": ("fla-core, chunks", 8, False, gated),
    "delta": ("fla-core, chunks", 8, False, delta),
    "gated_delta": ("fla-core, chunks", 8, False, gated_delta),
    "differential": ("PyTorch", 8, True, differential),
    "latent": ("PyTorch", 8, True, latent),
    "selected": ("PyTorch", 1, True, selected),
    "graph": ("PyTorch Geometric", 1, True, graph),
}


def seconds_of(run):
    calls, begin = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - begin < SLICE:
        run()
        calls += 1
    return (time.perf_counter() - begin) / calls


def faster_way(run, try_compiled):
    """(the call, how it runs): as it is, or compiled, if that works and is faster."""
    run()
    eager = min(seconds_of(run) for _ in range(3))
    if not try_compiled:
        return run, "eager"
    try:
        torch.compiler.reset()
        compiled = torch.compile(run)
        compiled()
        compiled()
    except Exception as error:  # whatever the compiler cannot do
        print(f"        not compiled: {type(error).__name__}", flush=True)
        return run, "eager"
    return (compiled, "compiled") if min(seconds_of(compiled) for _ in range(3)) < eager else (run, "eager")


class Fovea:
    def __init__(self, build):
        self.library = ctypes.CDLL(str((build / "bench" / "libfovea_variant_calls.so").resolve()))
        self.library.variant_call_begin.restype = ctypes.c_void_p

    def call(self, name, heads, length, threads):
        size = heads * DIM if name == "longformer" else 0  # inputs of its projections
        arrays = [numpy.random.default_rng(i).standard_normal((heads, length, DIM), numpy.float32) for i in range(4)]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        call = self.library.variant_call_begin(name.encode(), ctypes.c_int64(heads), ctypes.c_int64(length),
                                               ctypes.c_int64(DIM), ctypes.c_int64(size), threads,
                                               *pointers)
        if not call:
            sys.exit(f"variants.py: Fovea refuses {name}")

        def run(keep=arrays):
            if self.library.variant_call_run(ctypes.c_void_p(call)):
                sys.exit(f"variants.py: {name} fails")
        return run


def compare(fovea, name, length, threads, rounds):
    peer, heads, try_compiled, make = PEERS[name]
    ours, (theirs, way) = fovea.call(name, heads, length, threads), faster_way(make(heads, length), try_compiled)
    ours()
    times = [(seconds_of(ours), seconds_of(theirs)) for _ in range(rounds)]
    ratio = measurements.Value.of([theirs / ours for ours, theirs in times])
    milliseconds = 1e3 * float(numpy.median([ours for ours, _ in times]))
    verdict = "met" if ratio.median >= BAR else "MISSED"
    print(f"{verdict:6} {name:18} t{threads} {milliseconds:9.3f} ms  {ratio.median:7.2f} x {peer}, {way} "
          f"(spread {100 * ratio.spread:.0f} %)", flush=True)
    return {"name": f"{name}/h{heads}_s{length}_d{DIM}/t{threads}", "milliseconds": milliseconds, "peer": f"{peer}, {way}",
            "ratio": [ratio.median, ratio.spread, ratio.rounds], "least": BAR}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build directory of Fovea")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--filter", default="", help="only names that contain it")
    arguments = parser.parse_args()
    fovea, results = Fovea(arguments.build), []
    with torch.no_grad():
        for threads in arguments.threads:
            torch.set_num_threads(threads)
            for name in PEERS:
                if arguments.filter not in name:
                    continue
                results.append(compare(fovea, name, arguments.length, threads, arguments.rounds))
                arguments.out.write_text(json.dumps(
                    {**measure.machine(), "date": datetime.date.today().isoformat(), "torch": torch.__version__,
                     "results": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
