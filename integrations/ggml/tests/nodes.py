#!/usr/bin/env python3
"""Computes nodes of FLASH_ATTN_EXT by a ggml's own scheduler, in one process of its own.

    nodes.py LIBRARIES [--plugin FILE] [--threads N ...] [--cases NAME ...] [--out FILE.npz]

LIBRARIES is a folder with libggml.so. The plugin is loaded as programs load it, by ggml_backend_load(). For each case
the file has the output for each number of threads, o1, o2 ..., the name of the backend that computed it, and the
inputs, K and V as ggml converts them to f32; also how many threads the process then has, and, with allocations.c in
LD_PRELOAD, how often the plugin allocated memory: of a number that is listed twice, in the second run of the graph.
"""

import argparse
import ctypes
import os
import pathlib
import re
import sys

import numpy

TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q4_K": 12, "iq4_nl": 20,
         "bf16": 30}

# What differs from these sizes. layout: how K and V lie; "rows": heads of a row lie side by side, as in llama.cpp;
# "view": every other row of a larger tensor. mask: "causal" hides later keys, and all keys from the first row of batch
# element 0; "numbers" is finite; (heads, batch) of the mask follow. sinks, softcap, max_bias: as ggml has them.
DEFAULTS = dict(k="f16", v="f16", qk=64, vd=64, heads=8, kv_heads=2, rows=5, keys=300, batch=1, layout="rows",
                mask="causal", mask_heads=1, mask_batch=1, sinks=False, softcap=0.0, max_bias=0.0)
CASES = {
    "f32": dict(k="f32", v="f32"),
    "f16": {},
    "one_row": dict(rows=1, keys=777),
    "many_rows": dict(rows=150, keys=700),
    "large": dict(rows=150, keys=1700),
    "long": dict(rows=2, keys=5000, heads=4),
    "view": dict(layout="view", k="f16", v="q8_0"),
    "contiguous": dict(layout="contiguous"),
    "no_mask": dict(mask=None),
    "mask_of_elements": dict(batch=2, mask_batch=2),
    "mask_of_heads": dict(mask="numbers", mask_heads=8),
    "mask_of_some_heads": dict(mask="numbers", mask_heads=4),
    "shared_mask": dict(batch=3, mask="numbers", rows=20),
    "dims": dict(qk=72, vd=40),
    "latent": dict(qk=576, vd=512, heads=4, kv_heads=1, rows=3),
    "odd_dims": dict(qk=65, vd=67, heads=4, kv_heads=4, keys=113, rows=75, sinks=True, max_bias=8.0),
    "sinks": dict(sinks=True),
    "softcap": dict(softcap=3.0, mask="numbers"),
    "alibi": dict(max_bias=8.0, heads=12, kv_heads=12, mask="numbers", batch=2, rows=30),
    "alibi_passes": dict(max_bias=4.0, heads=8, kv_heads=2, mask="numbers", batch=2, rows=70, keys=9000, qk=32, vd=32),
    "bf16": dict(k="bf16", v="bf16"),
    "q8_0": dict(k="q8_0", v="q8_0"),
    "q4_0": dict(k="q4_0", v="q4_0", rows=40),
    "q4_1": dict(k="q4_1", v="q4_1"),
    "q5_0": dict(k="q5_0", v="q5_0"),
    "q5_1": dict(k="q5_1", v="q5_1"),
    "iq4_nl": dict(k="iq4_nl", v="iq4_nl"),
    "mixed": dict(k="q8_0", v="q4_0", qk=96, vd=64),
    "falls_through": dict(k="q4_K", v="f16", qk=256, vd=64),
    "wide": dict(k="f32", v="f32", qk=1100, rows=1, keys=600),  # which int8 mode does not have
}


class Ggml:
    """The functions of one ggml."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.libraries = [ctypes.CDLL(str(folder / name)) for name in ("libggml-base.so", "libggml-cpu.so", "libggml.so")]

    def __call__(self, name, *arguments, result=ctypes.c_void_p):
        for library in self.libraries:
            if hasattr(library, name):
                function = library[name]
                function.restype = result
                return function(*map(self.argument, arguments))
        raise AttributeError(name)

    @staticmethod
    def argument(value):
        if isinstance(value, float):
            return ctypes.c_float(value)
        if isinstance(value, bool):
            return ctypes.c_bool(value)
        if isinstance(value, int):
            return ctypes.c_int64(value)
        return value.ctypes.data_as(ctypes.c_void_p) if isinstance(value, numpy.ndarray) else value


class Parameters(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


def pointer(value):
    return ctypes.c_void_p(value)


def allocations():
    """Of the plugin, so far."""
    process = ctypes.CDLL(None)
    return process.allocations_so_far() if hasattr(process, "allocations_so_far") else 0


def count_allocations():
    places = re.findall(r"^(\w+)-(\w+) .*/libggml-fovea\.so$", pathlib.Path("/proc/self/maps").read_text("utf-8"), re.M)
    begin, end = int(places[0][0], 16), int(places[-1][1], 16)
    ctypes.CDLL(None).count_allocations(ctypes.c_size_t(begin), ctypes.c_size_t(end))


class Run:
    """Graphs of one case after the other, on the devices of type ACCEL and then the CPU, as llama.cpp orders them."""

    def __init__(self, ggml):
        self.ggml = ggml
        devices = [pointer(ggml("ggml_backend_dev_get", index)) for index in range(ggml("ggml_backend_dev_count", result=ctypes.c_size_t))]
        kinds = [ggml("ggml_backend_dev_type", device, result=ctypes.c_int) for device in devices]
        ordered = [device for wanted in (3, 0) for device, kind in zip(devices, kinds) if kind == wanted]
        self.backends = [pointer(ggml("ggml_backend_dev_init", device, None)) for device in ordered]
        self.set_threads = []
        for device in ordered:
            registry = pointer(ggml("ggml_backend_dev_backend_reg", device))
            found = ggml("ggml_backend_reg_get_proc_address", registry, b"ggml_backend_set_n_threads")
            self.set_threads.append(ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)(found))

    def context(self):
        return pointer(self.ggml("ggml_init", Parameters(1 << 20, None, True)))

    def tensor(self, context, kind, *sizes):
        return pointer(self.ggml("ggml_new_tensor_4d", context, TYPES[kind], *sizes))

    def fill(self, tensor, kind, numbers):
        """Numbers of any type; ggml quantises them."""
        numbers = numpy.ascontiguousarray(numbers, numpy.float32)
        size = self.ggml("ggml_nbytes", tensor, result=ctypes.c_size_t)
        data = numpy.zeros(size, numpy.uint8)
        if kind == "f32":
            data = numbers
        elif kind == "f16":
            data = numbers.astype(numpy.float16)
        elif kind == "bf16":
            self.ggml("ggml_fp32_to_bf16_row", numbers, data, numbers.size, result=None)
        else:
            self.ggml("ggml_quantize_chunk", TYPES[kind], numbers, data, 0, numbers.size // numbers.shape[-1],
                      numbers.shape[-1], None, result=ctypes.c_size_t)
        self.ggml("ggml_backend_tensor_set", tensor, data, 0, size, result=None)

    def read(self, tensor, *shape):
        data = numpy.zeros(shape, numpy.float32)
        self.ggml("ggml_backend_tensor_get", tensor, data, 0, data.nbytes, result=None)
        return data

    def cache(self, context, kind, case, dims):
        """A tensor, the view that attention takes, and the shape in NumPy's order; the view has axes (batch, kv head, key,
        dim)."""
        heads, keys, batch = case["kv_heads"], case["keys"], case["batch"]
        rows_first = case["layout"] == "rows"
        keys_there = 2 * keys if case["layout"] == "view" else keys
        sizes = (dims, heads, keys_there, batch) if rows_first else (dims, keys_there, heads, batch)
        tensor = self.tensor(context, kind, *sizes)
        if rows_first:
            view = pointer(self.ggml("ggml_permute", context, tensor, 0, 2, 1, 3))
        else:
            step = 2 if case["layout"] == "view" else 1
            row = self.ggml("ggml_row_size", TYPES[kind], dims, result=ctypes.c_size_t)
            view = pointer(self.ggml("ggml_view_4d", context, tensor, dims, keys, heads, batch, step * row,
                                     keys_there * row, heads * keys_there * row, 0))
        return tensor, view, sizes[::-1]

    def compute(self, name, threads):
        ggml, case = self.ggml, {**DEFAULTS, **CASES[name]}
        random = numpy.random.default_rng(sum(map(ord, name)))
        inputs, nodes = self.context(), self.context()
        heads, rows, keys, batch = (case[key] for key in ("heads", "rows", "keys", "batch"))
        q = self.tensor(inputs, "f32", case["qk"], rows, heads, batch)
        caches = [self.cache(inputs, case[key], case, case[dims]) for key, dims in (("k", "qk"), ("v", "vd"))]
        mask_rows = (rows + 63) // 64 * 64  # which ggml demanded once
        mask = sinks = None
        if case["mask"]:
            mask = self.tensor(inputs, "f16", keys, mask_rows, case["mask_heads"], case["mask_batch"])
        if case["sinks"]:
            sinks = pointer(ggml("ggml_new_tensor_1d", inputs, TYPES["f32"], heads))
        node = pointer(ggml("ggml_flash_attn_ext", nodes, q, caches[0][1], caches[1][1], mask, case["qk"]**-0.5,
                            case["max_bias"], case["softcap"]))
        if sinks:
            ggml("ggml_flash_attn_ext_add_sinks", node, sinks, result=None)
        copies = [pointer(ggml("ggml_cast", nodes, cache[0], TYPES["f32"])) for cache in caches]
        graph = pointer(ggml("ggml_new_graph", nodes))
        for output in (node, *copies):
            ggml("ggml_set_output", output, result=None)
            ggml("ggml_build_forward_expand", graph, output, result=None)

        buffer = pointer(ggml("ggml_backend_alloc_ctx_tensors", inputs, self.backends[-1]))
        out = {"q": random.standard_normal((batch, heads, rows, case["qk"]), numpy.float32)}
        self.fill(q, "f32", out["q"])
        for key, (tensor, _, shape) in zip("kv", caches):
            self.fill(tensor, case[key], random.standard_normal(shape, numpy.float32))
        if mask:
            shape = (case["mask_batch"], case["mask_heads"], mask_rows, keys)
            numbers = random.standard_normal(shape).astype(numpy.float16)
            if case["mask"] == "causal":
                later = numpy.arange(keys)[None, :] > numpy.arange(mask_rows)[:, None] + keys - rows
                numbers = numpy.where(later, numpy.float16("-inf"), numpy.zeros(shape, numpy.float16))
                numbers[0, :, 0] = numpy.float16("-inf")
            self.fill(mask, "f16", numbers)
            out["mask"] = numbers[:, :, :rows].astype(numpy.float32)
        if sinks:
            out["sinks"] = random.standard_normal(heads, numpy.float32)
            self.fill(sinks, "f32", out["sinks"])

        schedule = pointer(ggml("ggml_backend_sched_new", (ctypes.c_void_p * len(self.backends))(*[b.value for b in self.backends]),
                                None, len(self.backends), 2048, False, True))
        for count in threads:
            for set_threads, backend in zip(self.set_threads, self.backends):
                set_threads(backend, count)
            before = allocations()
            status = ggml("ggml_backend_sched_graph_compute", schedule, graph, result=ctypes.c_int)
            if status != 0:
                sys.exit(f"{name}: status {status}")
            out[f"allocations{count}"] = allocations() - before
            out[f"o{count}"] = self.read(node, batch, rows, heads, case["vd"]).transpose(0, 2, 1, 3)
        out["threads"] = len(os.listdir("/proc/self/task"))
        backend = pointer(ggml("ggml_backend_sched_get_tensor_backend", schedule, node))
        out["backend"] = ggml("ggml_backend_name", backend, result=ctypes.c_char_p).decode()
        for key, copy, (_, _, shape) in zip("kv", copies, caches):
            numbers = self.read(copy, *shape)
            numbers = numbers.transpose(0, 2, 1, 3) if case["layout"] == "rows" else numbers
            if case["layout"] == "view":  # rows 0, 2, 4 ... of a head lie in 2 * keys rows
                numbers = numbers[:, :, ::2]
            out[key] = numbers
        ggml("ggml_backend_sched_free", schedule, result=None)
        ggml("ggml_backend_buffer_free", buffer, result=None)
        for context in (inputs, nodes):
            ggml("ggml_free", context, result=None)
        return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries")
    parser.add_argument("--plugin")
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--out")
    arguments = parser.parse_args()
    ggml = Ggml(arguments.libraries)
    print("ggml", ggml("ggml_version", result=ctypes.c_char_p).decode())
    if arguments.plugin:
        print("loaded" if ggml("ggml_backend_load", arguments.plugin.encode()) else "refused")
    if hasattr(ctypes.CDLL(None), "count_allocations"):
        count_allocations()
    run, found = Run(ggml), {}
    for name in arguments.cases:
        found |= {f"{name}/{key}": value for key, value in run.compute(name, arguments.threads).items()}
    if arguments.out:
        numpy.savez(arguments.out, **found)


if __name__ == "__main__":
    main()
