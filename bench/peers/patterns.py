#!/usr/bin/env python3
"""Patterns, weights and graphs beside PyTorch: patterns.py --build build/release --out run.json

FlexAttention (compiled) runs the same patterns, softmax(QK^T) and @ V give the same weights, and PyTorch Geometric runs
the same graphs. Each round runs both, in turns, in one process; its ratio is the peer's time over Fovea's. Prints a
table with the bars. Takes some minutes, most of which PyTorch compiles.
"""

import argparse
import ctypes
import datetime
import json
import pathlib
import sys
import time

import numpy
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch_geometric.utils import scatter, softmax

import measure  # of this folder, which finds the modules of bench
import measurements

LENGTH, HEADS = 4096, 4
LEAST_OVER_FLEX, LEAST_OVER_SOFTMAX, LEAST_OVER_GEOMETRIC = 3.0, 1.5, 2.0
SLICE = 0.05  # seconds, or one call


def blocks_seen():
    """As bench/pattern_rules.c draws them."""
    count, state = LENGTH // 64, 1
    seen = torch.eye(count, dtype=torch.bool)
    for i in range(count):
        for j in range(count):
            state = (state * 1664525 + 1013904223) % 2**32
            if (state >> 16) % 10 == 0:
                seen[i, j] = True
    return seen


BLOCKS = blocks_seen()


def grid(i, j):
    def axis(row, key):
        first = torch.clamp(row - 6, 0, 64 - 13)
        return (key >= first) & (key < first + 13)
    return axis(i // 64, j // 64) & axis(i % 64, j % 64)


# name -> (bench_pattern of bench/workload.h, whether row i sees key j)
PATTERNS = {
    "window512": (1, lambda i, j: (j <= i) & (i - j < 512)),
    "window128": (2, lambda i, j: (j <= i) & (i - j < 128)),
    "window512_global64": (3, lambda i, j: (j <= i) & ((i - j < 512) | (j < 64) | (i < 64))),
    "longformer": (4, lambda i, j: ((j - i).abs() <= 256) | (j < 4) | (i < 4)),
    "chunks512": (5, lambda i, j: (j // 512 == i // 512) | (j // 512 == i // 512 - 1)),
    "prefix1024": (6, lambda i, j: (j <= i) | (j < LENGTH // 4)),
    "documents512": (7, lambda i, j: (j <= i) & (j // 512 == i // 512)),
    "documents128": (8, lambda i, j: (j <= i) & (j // 128 == i // 128)),
    "blocks64": (9, lambda i, j: BLOCKS[i // 64, j // 64]),
    "grid13": (10, grid),
}


class Fovea:
    def __init__(self, build, threads):
        self.calls = ctypes.CDLL(str(build.resolve() / "bench" / "libfovea_pattern_calls.so"))
        self.calls.pattern_begin.restype = self.calls.pattern_begin_graph.restype = ctypes.c_void_p
        self.threads = threads

    def runner(self, call, q, k, v, o, weights=None):
        arguments = [ctypes.c_void_p(call), *(ctypes.c_void_p(t.data_ptr()) for t in (q, k, v, o)),
                     ctypes.c_void_p(weights.data_ptr() if weights is not None else None), self.threads]

        def run():
            if self.calls.pattern_run(*arguments):
                sys.exit("patterns.py: Fovea refused a run")
        return run

    def pattern(self, number, weights, heads, length, dim):
        return self.calls.pattern_begin(number, int(weights), *map(ctypes.c_int64, (heads, length, dim)), self.threads)

    def graph(self, starts, nodes, dim):
        return self.calls.pattern_begin_graph(ctypes.c_void_p(starts.ctypes.data), ctypes.c_void_p(nodes.ctypes.data),
                                              ctypes.c_int64(len(starts) - 1), ctypes.c_int64(dim), self.threads)


def seconds_of(run):
    calls, begin = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - begin < SLICE:
        run()
        calls += 1
    return (time.perf_counter() - begin) / calls


def compare(name, ours, theirs, check, least, rounds):
    """Interleaved rounds, after both gave the same numbers."""
    ours()
    difference = check(theirs())
    if not difference < 1e-4:
        sys.exit(f"patterns.py: {name} differs by {difference}")
    times = []
    for _ in range(rounds):
        before, ratio = seconds_of(ours), seconds_of(theirs)
        times.append((before, ratio))
    ratio = measurements.Value.of([theirs / ours for ours, theirs in times])
    milliseconds = 1e3 * float(numpy.median([ours for ours, _ in times]))
    verdict = "met" if ratio.median >= least else "MISSED"
    print(f"{verdict:6} {name:36} {milliseconds:9.3f} ms  {ratio.median:6.2f} x  (spread {100 * ratio.spread:.0f} %, bar {least})",
          flush=True)
    return {"name": name, "milliseconds": milliseconds, "ratio": [ratio.median, ratio.spread, ratio.rounds],
            "least": least}


def run_patterns(fovea, arguments):
    torch._dynamo.config.fail_on_recompile_limit_hit = True  # else it runs uncompiled from the ninth pattern on
    for dim in (64, 128):
        for name, (number, sees) in PATTERNS.items():
            title = f"{name}/d{dim}"
            if arguments.filter not in title or (name == "grid13" and dim == 128):
                continue
            torch.compiler.reset()
            flex = torch.compile(flex_attention, dynamic=False)
            q, k, v = (torch.randn(1, HEADS, LENGTH, dim) for _ in range(3))
            o = torch.empty_like(q)
            mask = create_block_mask(lambda b, h, i, j, sees=sees: sees(i, j), None, None, LENGTH, LENGTH, device="cpu")
            ours = fovea.runner(fovea.pattern(number, False, HEADS, LENGTH, dim), q, k, v, o)
            yield compare(title, ours, lambda flex=flex, q=q, k=k, v=v, mask=mask: flex(q, k, v, block_mask=mask),
                          lambda theirs, o=o: float((theirs - o).abs().max()), LEAST_OVER_FLEX, arguments.rounds)


def run_weights(fovea, arguments):
    heads, length, dim = 8, 1024, 64
    if arguments.filter not in "weights/d64":
        return
    q, k, v = (torch.randn(1, heads, length, dim) for _ in range(3))
    o, weights = torch.empty_like(q), torch.empty(1, heads, length, length)

    def theirs():
        found = torch.softmax(q @ k.transpose(-1, -2) * dim**-0.5, dim=-1)
        return found @ v
    yield compare("weights/d64", fovea.runner(fovea.pattern(0, True, heads, length, dim), q, k, v, o, weights), theirs,
                  lambda found: float((found - o).abs().max()), LEAST_OVER_SOFTMAX, arguments.rounds)


def run_graphs(fovea, arguments):
    nodes, dim, random = 16384, 64, numpy.random.default_rng(1)
    for degree in (8, 64):
        title = f"graph/e{degree}_d{dim}"
        if arguments.filter not in title:
            continue
        edges = numpy.unique(random.integers(nodes, size=(nodes * degree, 2)), axis=0)
        starts = numpy.searchsorted(edges[:, 0], numpy.arange(nodes + 1)).astype(numpy.int64)
        sources = numpy.ascontiguousarray(edges[:, 1]).astype(numpy.int64)
        rows, keys = torch.from_numpy(edges[:, 0].copy()), torch.from_numpy(sources)
        q, k, v = (torch.randn(nodes, dim) for _ in range(3))
        o = torch.empty_like(q)

        def theirs(q=q, k=k, v=v, rows=rows, keys=keys):
            scores = (q[rows] * k[keys]).sum(-1) * dim**-0.5
            return scatter(softmax(scores, rows, num_nodes=nodes).unsqueeze(-1) * v[keys], rows, dim_size=nodes)
        yield compare(title, fovea.runner(fovea.graph(starts, sources, dim), q, k, v, o), theirs,
                      lambda found, o=o: float((found - o).abs().max()), LEAST_OVER_GEOMETRIC, arguments.rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build directory of Fovea")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--filter", default="", help="only names that contain it")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    fovea, results = Fovea(arguments.build, arguments.threads), []
    with torch.no_grad():
        for part in (run_patterns, run_weights, run_graphs):
            for result in part(fovea, arguments):
                results.append(result)
                arguments.out.write_text(json.dumps(
                    {**measure.machine(), "date": datetime.date.today().isoformat(),
                     "torch": torch.__version__, "threads": arguments.threads, "results": results}, indent=1) + "\n",
                    encoding="utf-8")


if __name__ == "__main__":
    main()
