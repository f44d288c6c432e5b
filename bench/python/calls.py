"""Times of calls of fovea, for module.py: (name, seconds of each round)."""

import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import torch

import fovea
import fovea.torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "python/tests"))
import page  # noqa: E402 (runs the programs of docs/python.md)

CALLS = 10000
sdpa = torch.nn.functional.scaled_dot_product_attention


def seconds_of(function, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - begin) / calls


def small_calls(rounds):
    """Calls whose computing takes no time to speak of: one row, one key."""
    q = np.ones((1, 1, 1, 16), np.float32)
    out = np.empty_like(q)
    plan = fovea.Plan(q, q, q)
    x = torch.from_numpy(q)
    torch.set_num_threads(1)
    functions = {
        "`fovea.attention(q, k, v)`": lambda: fovea.attention(q, q, q, threads=1),
        "`fovea.attention(q, k, v, causal=True, window=(127, 0), out=o)`":
            lambda: fovea.attention(q, q, q, causal=True, window=(127, 0), out=out, threads=1),
        "`plan.run(q, k, v)`": lambda: plan.run(q, q, q, threads=1),
        "`fovea.attention(q, k, v)` of PyTorch's tensors": lambda: fovea.attention(x, x, x, threads=1),
    }
    found = {name: [] for name in functions}
    own, ours = [], []
    for _ in range(rounds):
        for name, function in functions.items():
            found[name].append(seconds_of(function, CALLS))
        with torch.inference_mode():
            own.append(seconds_of(lambda: sdpa(x, x, x), CALLS))
            fovea.torch.activate()
            ours.append(seconds_of(lambda: sdpa(x, x, x), CALLS))
            fovea.torch.deactivate()
    found["`scaled_dot_product_attention(q, k, v)`, PyTorch's own"] = own
    found["`scaled_dot_product_attention(q, k, v)` after `activate()`"] = ours
    found["the same, over PyTorch's own"] = [after - before for before, after in zip(own, ours)]
    return found.items()


def page_model(rounds):
    """(name, seconds with one_answer(), seconds without) of the model of docs/python.md."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        names = page.run(last="A model that is faster")
        os.chdir(before)
    embed, texts = names["embed"], names["texts"]
    fovea.torch.pack(names["encoder"])
    long = [" ".join(texts * 2)]
    words = [len(each[0].split()) for each in (texts, long)]
    problems = {f"1 text of {words[0]} words": texts[:1], f"{len(texts)} texts of {words[0]} to 9 words": texts,
                f"1 text of {words[1]} words": long, f"{len(texts)} texts of {words[1]} words": long * len(texts)}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, given in problems.items():
            ours, theirs = [], []
            for _ in range(rounds + 1):
                with fovea.torch.one_answer():
                    ours.append(seconds_of(lambda: embed(given), 1))
                theirs.append(seconds_of(lambda: embed(given), 1))
            yield f"{name}, t{threads}", ours[1:], theirs[1:]
