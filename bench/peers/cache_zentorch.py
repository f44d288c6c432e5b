"""AMD's zentorch: its attention, which knows no pages and no quantised formats, over contiguous tensors.

Without AVX-512 its operation calls PyTorch's own kernel, and the bits are PyTorch's.
"""

import torch
import zentorch

from cache_problems import Shared

VERSION = zentorch.__version__
WAYS = ("zentorch_sdpa",)
TYPES = ("f32", "bf16")
ATTEND = torch.ops.zentorch.zentorch_sdpa
SHARED = Shared()


def tensor(array, type_name):
    stored = torch.from_numpy(array.copy())
    return stored.view(torch.bfloat16) if type_name == "bf16" else stored


class Solver:
    def __init__(self, problem, q, k, v, threads, grouped):
        self.problem, self.threads = problem, threads
        shape = (problem.batch, problem.kv_heads, -1, problem.dim) if grouped else problem.q_shape
        self.q = tensor(q, problem.queries).reshape(shape)
        self.k = SHARED.get((problem, "k"), lambda: tensor(k, problem.type))
        self.v = SHARED.get((problem, "v"), lambda: tensor(v, problem.type))
        self.result = None

    def run(self):
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        with torch.inference_mode():
            self.result = ATTEND(self.q, self.k, self.v, 0.0, self.problem.rule == "causal")[0]

    def output(self):
        return self.result.reshape(self.problem.q_shape).float().numpy()


def plain(problem, q, k, v, threads):
    return Solver(problem, q, k, v, threads, False)


def group_as_rows(problem, q, k, v, threads):
    """One row: the query heads of a kv head are rows of one head."""
    return Solver(problem, q, k, v, threads, True)


def options(way, problem):
    if problem.type not in TYPES:
        return {}
    return {"plain": plain} | ({"group as rows": group_as_rows} if problem.rows == 1 else {})
