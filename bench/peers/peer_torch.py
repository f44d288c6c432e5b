"""PyTorch: scaled_dot_product_attention, and compiled flex_attention for other rules than causal."""

import torch
from torch.nn.attention import flex_attention as flex
from torch.nn.functional import scaled_dot_product_attention

import problems

VERSION = torch.__version__
WAYS = ("sdpa", "flex_attention")
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def tensor(array, number_type):
    """Torch's own memory, in the array's order in memory."""
    steps_order = sorted(range(4), key=lambda axis: -array.strides[axis])
    stored = torch.from_numpy(array.transpose(steps_order).copy())
    if number_type == "bf16":
        stored = stored.view(torch.bfloat16)
    return stored.permute([steps_order.index(axis) for axis in range(4)])


class Solver:
    """Calls `function` without arguments; it returns the output, or the parts of a packed output."""

    def __init__(self, function, threads, shape):
        self.function, self.threads, self.shape = function, threads, shape
        self.result = None

    def run(self):
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        with torch.inference_mode():
            self.result = self.function()

    def output(self):
        whole = torch.cat(self.result, dim=2) if isinstance(self.result, list) else self.result
        return whole.reshape(self.shape).float().numpy()


def plain(problem, q, k, v, threads):
    q, k, v = (tensor(array, problem.type) for array in (q, k, v))
    causal, grouped = problem.rule == problems.CAUSAL, problem.heads != problem.kv_heads

    def call():
        return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)

    return Solver(call, threads, problem.q_shape)


def group_as_rows(problem, q, k, v, threads):
    """One row: the query heads of a kv head are rows of one head."""
    q, k, v = (tensor(array, problem.type) for array in (q, k, v))
    q = q.reshape(problem.batch, problem.kv_heads, problem.heads // problem.kv_heads, problem.dim)
    return Solver(lambda: scaled_dot_product_attention(q, k, v), threads, problem.q_shape)


def entries(problem, q, k, v, threads):
    """Packed: one call for each sequence."""
    q, k, v = (tensor(array, problem.type) for array in (q, k, v))
    parts = [[t[:, :, first:end] for t in (q, k, v)] for first, end in problem.spans]
    return Solver(lambda: [scaled_dot_product_attention(*part) for part in parts], threads, problem.q_shape)


def rule_of(problem):
    def window(batch, head, row, key):
        return (key <= row) & (row - key <= problem.left)

    def chunks(batch, head, row, key):
        start = row // problem.chunk * problem.chunk
        return (key >= start - problem.left) & (key < start + problem.chunk)

    return window if problem.rule == problems.WINDOW else chunks


def compiled(problem, q, k, v, threads):
    torch.set_num_threads(threads)  # generated code contains the number
    torch.compiler.reset()
    q, k, v = (tensor(array, problem.type) for array in (q, k, v))
    mask = flex.create_block_mask(rule_of(problem), None, None, problem.rows, problem.keys, device="cpu")
    attend = torch.compile(flex.flex_attention)
    return Solver(lambda: attend(q, k, v, block_mask=mask), threads, problem.q_shape)


def options(way, problem):
    ruled = problem.rule in (problems.WINDOW, problems.CHUNKS)
    if way == "flex_attention":
        return {"block mask": compiled} if ruled else {}
    if ruled:
        return {}  # a mask tensor would work, but take several times as long
    if problem.lengths:
        return {"one call a sequence": entries}
    grouped = problem.heads != problem.kv_heads and problem.rows == 1
    return {"plain": plain} | ({"group as rows": group_as_rows} if grouped else {})
