#!/usr/bin/env python3
"""Says which bars a run of fovea_bench reached: bars.py run.json [--threads N]

A bar is a speed that Fovea aims at. Ends with status 1 if a bar was not reached or not measured, else 0. Bars of
decoding are for one thread and for as many as the run has, the others for N threads, 1 by default. Bars of instruction
sets that the run does not have are left out. So are bars of bf16 if the CPU does not multiply pairs of bf16 faster than
f32. The NEON inner loops have a bar of their own, see bench/mca.py.
"""

import argparse
import sys

import layer_modes
import measurements
import modes
import registry

WIDE = ("avx512",)
EVERY = tuple(name for name in registry.sets() if name not in registry.sets("ANY"))

# (shape and rule, instruction sets, least fraction of the FMA peak)
PEAK_FRACTIONS = (
    ("prefill/h8_s2048_d128/full", WIDE, 0.92),
    ("prefill/h8_s2048_d128/causal", WIDE, 0.90),
    ("prefill/h8_s2048_d64/full", WIDE, 0.88),
    ("prefill/h8_s2048_d64/causal", WIDE, 0.86),
    ("prefill/h8_s2048_d80/full", WIDE, 0.88),
    ("prefill/h8_s2048_d96/full", WIDE, 0.88),
    ("prefill/h8_s2048_d256/full", WIDE, 0.88),
    ("prefill/h8_s2048_d128/full", ("avx2",), 0.90),
    ("prefill/h8_s2048_d128/causal", ("avx2",), 0.88),
    ("prefill/h8_s2048_d64/full", ("avx2",), 0.85),
    ("prefill/h8_s2048_d64/causal", ("avx2",), 0.83),
    ("prefill/h32_kv8_s4096_d128/causal", EVERY, 0.90),
    ("prefill/h8_s8192_d128/window512", EVERY, 0.80),
    ("prefill/h8_s8192_d64/chunk64_left256", EVERY, 0.80),
    ("prefill/h8_s512_d64/full", EVERY, 0.85),
    ("prefill/h8_s512_d64/causal", EVERY, 0.75),
    ("prefill/b8_h12_s197_d64/full", EVERY, 0.80),
    ("prefill/b16_h12_s384_d64/full", EVERY, 0.84),
    ("cross/h8_q64_s2048_d64/full", EVERY, 0.85),
    ("packed/b32_h8_s20to500_d64/full", EVERY, 0.80),
)
# (shape, least fraction of the rate at which the same threads read the same keys and values)
BANDWIDTHS = (
    ("decode/h32_kv8_s32768_d128/full", 0.90),
    ("decode/h8_kv8_s32768_d128/full", 0.85),
)
# The same for what only the instruction set that Fovea chooses by itself has, as have the three that follow
BANDWIDTHS_OF_CHOSEN = (
    ("decode/h32_kv8_s32768_d128/full_panels", 0.90),
    ("decode/h32_kv8_s65536_d128/full_f16", 0.85),
    ("decode/h32_kv8_s65536_d128/full_bf16", 0.85),
    ("decode/h32_kv8_s65536_d128/full_f16_panels", 0.85),
    ("decode/h32_kv8_s65536_d128/full_bf16_panels", 0.85),
    ("decode/h32_kv32_s32768_d128/full", 0.85),
)
# (shape, most): the time over the longer time at the rate of memory and at 0.85 of the FMA peak
TIMES_OVER_BOUND = (
    ("decode/h32_kv8_q4_s32768_d128/full", 1.15),
    ("decode/h32_kv8_q16_s32768_d128/full", 1.15),
)
# (shape, least): GB/s on one thread; if the last-level cache reads slower, CACHE_SHARE of its rate
CACHE_RATES = (
    ("decode/h32_kv8_s4096_d128/full_f16", 38),
    ("decode/h32_kv8_s4096_d128/full_f16_panels", 45),
)
CACHE_SHARE = 0.85
# (paired shape, most)
PAGES = (
    ("h32_kv8_s32768_d128/decode_pages16", 1.05),
    ("h32_kv8_s65536_d128/decode_pages16_f16", 1.05),
)
# (paired shape, most): pages of one row, within caches, where what they cost is instructions; and from memory, where
# the bar is plain reading of the same rows in the same order
PAGES_OF_ONE = (
    ("h32_kv8_s1024_d128/decode_pages1_gap", 1.30),
    ("h8_kv8_s1024_d64/decode_pages1_gap", 1.30),
)
PAGES_OF_ONE_READ = ("h32_kv8_s32768_d128/decode_pages1", "h32_kv8_s32768_d128/decode_pages1_gap")
# (paired shape, counter, most)
RATIOS = (
    ("h8_s2048_d128/full_f16", "time_over_f32", 1.05),
    ("h8_s2048_d128/causal_f16", "time_over_f32", 1.05),
    ("h8_s2048_d64/full_f16", "time_over_f32", 1.05),
    ("h8_s2048_d64/causal_f16", "time_over_f32", 1.05),
    ("h8_s2048_d128/causal_softcap", "time_over_plain", 1.10),
    ("h8_s2048_d128/mask_f32", "time_over_plain", 1.20),
    ("h8_s2048_d128/mask_bool", "time_over_plain", 1.10),
    ("h8_s2048_d128/mask_half_empty", "time_over_full_mask", 0.60),
    ("h8_s4096_d128/causal_alibi", "time_over_plain", 1.05),
    ("h8_s4096_d128/causal_t5", "time_over_plain", 1.10),
    ("h8_s4096_d128/causal_relative", "time_over_plain", 1.10),
    ("b64_h4_s49_d128/full_swin", "time_over_plain", 1.15),
    ("h8_s4096_d128/causal_shaw", "time_over_plain", 1.25),
)
# (paired shape, least): useful flops a second over the flops a second of the same shape without a pattern, on the
# instruction set that Fovea chooses
PATTERN_SPEEDS = tuple(
    (f"h4_s4096_d{dim}/{pattern}", least) for dim in (64, 128) for pattern, least in (
        ("window512", 0.90), ("window512_global64", 0.90), ("longformer", 0.90), ("chunks512", 0.90),
        ("prefix1024", 0.90), ("documents512", 0.90), ("blocks64", 0.90), ("window128", 0.65), ("documents128", 0.65))
) + (("h4_s4096_d64/grid13", 0.45),)
# (paired shape, most): the time over the time without the output, on the instruction set that Fovea chooses
OUTPUT_TIMES = (
    ("h4_s4096_d64/causal_column_sums", 1.60),
    ("h4_s4096_d128/causal_column_sums", 1.60),
    ("h4_s4096_d64/causal_top64", 1.60),
    ("h4_s4096_d128/causal_top64", 1.60),
)
# Quantised caches, 32 heads over 8, on the instruction set that Fovea chooses: (cache, least fraction of the read
# bandwidth, least tokens a second over a cache in f32, and in f16) with 32,768 keys
FORMATS = (
    ("i8_rows", 0.80, 3.3, 1.7),
    ("i8_rows_panels", 0.85, 3.3, 1.7),
    ("q8_0", 0.80, 3.0, 1.6),
    ("e4m3", 0.80, 3.3, 1.7),
    ("e4m3_panels", 0.85, 3.3, 1.7),
    ("q4_0", 0.60, 4.5, None),
    ("ort_u4", 0.60, 4.5, None),
    ("ort_u4_panels", 0.60, 4.5, None),
)
FORMAT_LONG, FORMAT_SHORT = "format/h32_kv8_s32768_d128", "format/h32_kv8_s4096_d128"
FORMAT_SHORT_OVER_F16 = 1.5  # 4,096 keys, which stay in the last-level cache
FORMAT_PAGES = (("h32_kv8_s32768_d128/decode_pages16_i8_rows", 1.15),)
# Prefill over a quantised cache: useful flops a second, over prefill from contiguous f32
FORMAT_PREFILL = tuple((f"h8_s2048_d128/{name}", 0.97) for name in (
    "full_i8_rows", "full_q8_0", "full_e4m3", "full_q4_0", "full_ort_u4", "causal_i8_rows", "causal_q8_0"))
# (cache, least bytes read and written a second over the bytes of a copy), on one thread
FORMAT_APPEND = (("q8_0", 0.5), ("q8_0_tables", 0.5))
GRAPH_OVER_PASSES = 2.0
PLAN_NANOSECONDS, PLAN_BYTES = 10e6, 2**20
# (paired shape, least fraction of the f32 peak), if products of bf16 pairs are this much faster than f32 FMAs
BF16_FRACTIONS = (
    ("h8_s2048_d128/full_bf16", 1.20),
    ("h8_s2048_d128/causal_bf16", 1.15),
    ("b16_h12_s384_d64/full_bf16", 1.10),
)
BF16_FAST = 1.5
# Layers of fovea_nn, on the instruction set that Fovea chooses. Comparisons with PyTorch, ONNX Runtime and OpenVINO:
# bench/peers/layers_report.py.
LAYERS_OVER_OPENBLAS = 1.0
TILE_FRACTION, TILE_ROWS = 0.9, 512
ONE_ROW_BANDWIDTH = 0.85
NORM_OF_COPY = 0.6
OUTSIDE_SHARE = 0.08
# Cycles that a vector of numbers keeps the busiest port (bench/ports.py), and the least share of all cycles that must
# go to it. Of AMD's CPUs with vectors as wide as their ports (Zen 5).
PORT_CYCLES = {
    ("AMD", "avx512"): {"gelu": 11.5, "gelu_tanh": 9.5, "silu": 7.0},
    ("Intel", "avx512"): {"gelu": 25.0, "gelu_tanh": 20.0, "silu": 15.0},
}
PORTS_SHARE = 0.8
SPEEDUP = 1.9
DECODE_SPEEDUP = 1.6  # or as much as reading gains
UNFUSED_EVERY, UNFUSED_WHOLE_LONG, UNFUSED_BLOCKED_LONG = 1.0, 1.25, 1.15
LONG = 1024
CALL_NANOSECONDS = 1000


def longest(name):
    """Keys of a benchmark's rows, from the 's' in its name; 500 of 's20to500'."""
    sizes = [part[1:].split("to")[-1] for part in name.split("/")[1].split("_") if part[0] == "s"]
    return int(sizes[0])


def instruction_sets(run):
    """Of modes only exact mode's sets: AMX is none."""
    names = (name for name in run.benchmarks if name.count("/") == 4 and not name.startswith("mode/"))
    return dict.fromkeys(name.split("/")[3] for name in names)


def peak_bars(run, threads):
    present = instruction_sets(run)
    for shape, isas, least in PEAK_FRACTIONS:
        for isa in isas:
            if isa in present:
                name = f"{shape}/{isa}/t{threads}"
                yield name, "of the FMA peak", run.value(name, "peak_fraction"), f">= {least:.2f}"


def chosen(run):
    return run.context.get("fovea_isa")


def decode_configurations(run):
    """(instruction set, threads): one thread, and as many as the run has, of each instruction set in the run."""
    counts = {1} | {int(name.rsplit("/t", 1)[1]) for name in run.benchmarks if name.startswith("decode/")}
    return [(isa, threads) for threads in sorted(counts) for isa in instruction_sets(run)]


def decode_bars(run):
    for isa, threads in decode_configurations(run):
        for shape, least in BANDWIDTHS + (BANDWIDTHS_OF_CHOSEN if isa == chosen(run) else ()):
            name = f"{shape}/{isa}/t{threads}"
            yield name, "of the read bandwidth", run.value(name, "bandwidth_fraction"), f">= {least:.2f}"
        for shape, most in TIMES_OVER_BOUND if isa == chosen(run) else ():
            name = f"{shape}/{isa}/t{threads}"
            yield name, "x the bound's time", run.value(name, "time_over_bound"), f"<= {most:.2f}"
    for shape, least in CACHE_RATES:
        name = f"{shape}/{chosen(run)}/t1"
        reading = run.median(name, "read_gigabytes_per_second")
        least = least if reading is None else min(least, CACHE_SHARE * reading)
        yield name, "GB/s", run.value(name, "gigabytes_per_second"), f">= {least:.1f}"
    for shape, most in PAGES + PAGES_OF_ONE:
        name = f"paired/{shape}/{chosen(run)}/t1"
        yield name, "time over contiguous", run.value(name, "time_over_contiguous"), f"<= {most:.2f}"
    for shape in PAGES_OF_ONE_READ:
        name = f"paired/{shape}/{chosen(run)}/t1"
        most = max(1.3, run.median(name, "read_over_contiguous") or 1.3)
        yield name, "time over contiguous", run.value(name, "time_over_contiguous"), f"<= {most:.2f}"


def bf16_is_fast(run):
    return float(run.context.get("bf16_dot_over_fma", 0)) >= BF16_FAST


def paired_bars(run):
    present = instruction_sets(run)
    for shape, counter, most in RATIOS:
        for isa in present:
            name = f"paired/{shape}/{isa}/t1"
            yield name, counter.replace("_", " "), run.value(name, counter), f"<= {most:.2f}"
    if bf16_is_fast(run) and WIDE[0] in present:
        for shape, least in BF16_FRACTIONS:
            name = f"paired/{shape}/{WIDE[0]}/t1"
            yield name, "of the FMA peak", run.value(name, "peak_fraction"), f">= {least:.2f}"


def pattern_bars(run):
    for shape, least in PATTERN_SPEEDS:
        name = f"paired/{shape}/{chosen(run)}/t1"
        yield name, "of the speed without", run.value(name, "speed_over_dense"), f">= {least:.2f}"
    for shape, most in OUTPUT_TIMES:
        name = f"paired/{shape}/{chosen(run)}/t1"
        yield name, "time over plain", run.value(name, "time_over_plain"), f"<= {most:.2f}"
    for name in run.benchmarks:
        if name.startswith("plan/"):
            yield name, "ns", run.value(name, "time_ns"), f"<= {PLAN_NANOSECONDS:.0f}"
            yield name, "bytes", run.value(name, "bytes"), f"<= {PLAN_BYTES}"
        if name.startswith("graph/"):
            yield name, "x three passes of C", run.value(name, "vs_three_passes"), f">= {GRAPH_OVER_PASSES:.2f}"


def format_decode_bars(run, threads):
    for cache, bandwidth, over_f32, over_f16 in FORMATS:
        long, short = (f"{shape}/{cache}/{chosen(run)}/t{threads}" for shape in (FORMAT_LONG, FORMAT_SHORT))
        yield long, "of the read bandwidth", run.value(long, "bandwidth_fraction"), f">= {bandwidth:.2f}"
        yield long, "x the tokens of f32", run.value(long, "tokens_over_f32"), f">= {over_f32:.2f}"
        if over_f16:
            yield long, "x the tokens of f16", run.value(long, "tokens_over_f16"), f">= {over_f16:.2f}"
        yield short, "x the tokens of f16", run.value(short, "tokens_over_f16"), f">= {FORMAT_SHORT_OVER_F16:.2f}"


def format_bars(run):
    for threads in sorted({1} | {int(name.rsplit("/t", 1)[1]) for name in run.benchmarks if name.startswith("format/")}):
        yield from format_decode_bars(run, threads)
    for shape, most in FORMAT_PAGES:
        name = f"paired/{shape}/{chosen(run)}/t1"
        yield name, "time over contiguous", run.value(name, "time_over_contiguous"), f"<= {most:.2f}"
    for shape, least in FORMAT_PREFILL:
        name = f"paired/{shape}/{chosen(run)}/t1"
        yield name, "of the speed of f32", run.value(name, "speed_over_f32"), f">= {least:.2f}"
    for cache, least in FORMAT_APPEND:
        name = f"append/kv8_r512_d128/{cache}/{chosen(run)}/t1"
        yield name, "of a copy's bandwidth", run.value(name, "copy_fraction"), f">= {least:.2f}"


def unfused_bars(run, threads):
    """Only the instruction set that Fovea chooses by itself is compared with OpenBLAS at its best."""
    for name in run.benchmarks:
        of_chosen = name.endswith(f"/{chosen(run)}/t{threads}")
        if not of_chosen or not run.value(name, "vs_unfused_blocked"):
            continue
        is_long = longest(name) >= LONG
        for counter, least_long in (("whole", UNFUSED_WHOLE_LONG), ("blocked", UNFUSED_BLOCKED_LONG)):
            least = least_long if is_long else UNFUSED_EVERY
            yield name, f"x unfused {counter}", run.value(name, f"vs_unfused_{counter}"), f">= {least:.2f}"


def other_bars(run):
    for name in run.benchmarks:
        if name.startswith("speedup/"):
            reading = run.median(name, "read_speedup")
            least = SPEEDUP if reading is None else min(DECODE_SPEEDUP, reading)
            yield name, "x one thread", run.value(name, "speedup"), f">= {least:.2f}"
        if name.startswith("overhead/"):
            yield name, "ns a call", run.value(name, "time_ns"), f"<= {CALL_NANOSECONDS}"


def mode_bars(run):
    """Exact mode multiplies tensors of bf16 in pairs where that is faster; bf16 mode has no bar there without AMX."""
    return [*(() if bf16_is_fast(run) else modes.bf16_bars(run)), *modes.int8_bars(run)]


def rows_of(name):
    """Of a linear layer: the 'r' in its name."""
    return int(name.split("/")[1].split("_")[0][1:])


def layer_bars(run):
    """Layers in modes and over quantised weights have none."""
    plain = (name for name in run.benchmarks if name.split("/")[0] not in ("linear", "row")
             or layer_modes.weights_of(name) in layer_modes.PANELS)
    for name in plain:
        kind = name.split("/")[0]
        if kind == "linear":
            yield name, "x OpenBLAS", run.value(name, "vs_openblas"), f">= {LAYERS_OVER_OPENBLAS:.2f}"
            if rows_of(name) >= TILE_ROWS:
                yield name, "of the register tile's rate", run.value(name, "tile_fraction"), f">= {TILE_FRACTION:.2f}"
        if kind == "row":
            yield name, "of the read bandwidth", run.value(name, "bandwidth_fraction"), f">= {ONE_ROW_BANDWIDTH:.2f}"
        if kind == "norm":
            yield name, "of a copy from L2", run.value(name, "copy_fraction"), f">= {NORM_OF_COPY:.2f}"
        if kind == "encoder":
            yield name, "outside linear, attention", run.value(name, "outside_share"), f"<= {OUTSIDE_SHARE:.2f}"
        if kind == "activate":
            _, _, function, isa, _ = name.split("/")
            cycles = PORT_CYCLES.get((run.cpu.split("(")[0].split()[0], isa), {}).get(function)
            if cycles:
                yield name, "cycles a vector", run.value(name, "cycles_per_vector"), f"<= {cycles / PORTS_SHARE:.1f}"


def verdict(value, bar):
    if value is None:
        return "ABSENT"
    sign, limit = bar.split()
    reached = value.median >= float(limit) if sign == ">=" else value.median <= float(limit)
    return "met" if reached else "MISSED"


def attention_bars(run, threads=1):
    """Of attention in exact mode, by itself and beside attention without fusion."""
    return [*peak_bars(run, threads), *unfused_bars(run, threads), *paired_bars(run), *decode_bars(run), *other_bars(run)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--patterns", action="store_true", help="only the bars of patterns, outputs and graphs")
    parser.add_argument("--layers", action="store_true", help="only the bars of layers (fovea_nn)")
    parser.add_argument("--formats", action="store_true", help="only the bars of quantised caches")
    parser.add_argument("--modes", action="store_true", help="only the bars of bf16 and int8 mode")
    arguments = parser.parse_args()
    run = measurements.load(arguments.run)
    print(f"{run.cpu}, {run.date}, OpenBLAS {run.context.get('openblas_core', '?')}\n")
    counts = {"met": 0, "MISSED": 0, "ABSENT": 0}
    bars = [*attention_bars(run, arguments.threads), *pattern_bars(run), *format_bars(run), *layer_bars(run),
            *mode_bars(run)]
    if arguments.layers:
        bars = [*layer_bars(run)]
    if arguments.patterns:
        bars = [*pattern_bars(run)]
    if arguments.formats:
        bars = [*format_bars(run)]
    if arguments.modes:
        bars = [*mode_bars(run)]
    for name, unit, value, bar in bars:
        outcome = verdict(value, bar)
        counts[outcome] += 1
        measured = f"{value.median:8.3f}" if value else " " * 8
        spread = f"spread {100 * value.spread:.1f} %" if value else run.skipped.get(name, "not in this run")
        print(f"{outcome:6} {name:56} {measured} {unit:26} {bar:8} {spread}")
    if not bf16_is_fast(run):
        rate = run.context.get("bf16_dot_over_fma", 0)
        print(f"bf16 is left out: products of its pairs come at {rate} times the rate of f32")
    print("\n" + ", ".join(f"{count} {outcome.lower()}" for outcome, count in counts.items()))
    sys.exit(0 if counts["met"] == len(bars) else 1)


if __name__ == "__main__":
    main()
