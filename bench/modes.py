"""bf16 and int8 mode: names in words, bars, and tables of speeds. Called by bars.py and tables.py."""

import re

AMX = "amx"
# Where AMX does not multiply: least useful flops a second over exact mode on the same tensors.
OVER_EXACT = 0.93
# The same for int8: (set or table, part of the shape's name, least)
INT8_PREFILL = (("avx512.vnni", "s2048_d128", 2.5), ("avx2", "d128", 1.4))
# Decoding from caches of codes that stay in the last-level cache, by the table that Fovea chooses; AMX over bf16 mode.
INT8_DECODE, INT8_SHORT = 1.5, "s4096_d128"
INT8_OVER_BF16 = 1.0
HALVES = {"bf16": "", "bf16_scores": ", scores only", "bf16_values": ", values only", "bf16_of_bf16": ", bf16 tensors",
          "int8": "", "int8_scores": ", scores only", "int8_values": ", values only", "int8_of_bf16": ", bf16 tensors",
          "int8_of_i8": ", i8 caches", "int8_of_i8_panels": ", i8 caches with keys in panels",
          "int8_scores_bf16_values": ", values in bf16", "int8_over_bf16": ""}


def threads_in_words(text):
    return "1 thread" if text == "t1" else f"{text[1:]} threads"


def shape_in_words(shape, what):
    """h32_kv8_s4096_d128 and decode_bf16, or full_bf16_of_bf16."""
    rule, half = what.split("_", 1)
    letters = re.findall(r"([a-z]+)(\d+)", shape)
    names = {"b": "batch {}", "h": "{} heads", "kv": "over {}", "q": "{} rows", "s": "S {}", "d": "D {}"}
    sizes = ", ".join(names[letter].format(number) for letter, number in letters).replace(" heads, over", " heads over")
    rule = re.sub(r"(\d+)$", r" \1", rule)
    return f"{sizes}, {rule}{HALVES[half]}"


def set_in_words(isa):
    """avx512.vnni is a table, avx512/vnni."""
    return "AMX" if isa == AMX else isa.replace(".", "/")


def words(name):
    """mode/h8_s2048_d128/full_bf16/avx512/t1: its parts in words."""
    _, shape, what, isa, threads = name.split("/")
    mode = "int8 by " if what.split("_")[1] == "int8" else ""
    return f"{shape_in_words(shape, what)}: {mode}{set_in_words(isa)}, {threads_in_words(threads)}"


def names_of(run, mode):
    """Benchmarks of one mode, by the first half that has one."""
    names = (name for name in run.benchmarks if name.startswith("mode/"))
    return [name for name in names if name.split("/")[2].split("_")[1] == mode]


def bf16_bars(run):
    """Both halves in bf16, prefill, without AMX. The bars of AMX are over other libraries: bench/peers/report.py."""
    for name in names_of(run, "bf16"):
        _, _, what, isa, _ = name.split("/")
        rule, half = what.split("_", 1)
        if isa != AMX and rule != "decode" and half in ("bf16", "bf16_of_bf16"):
            yield name, "of exact mode's speed", run.value(name, "speed_over_exact"), f">= {OVER_EXACT:.2f}"


def int8_bars(run):
    """Both halves in int8."""
    sets = list(dict.fromkeys(name.split("/")[3] for name in names_of(run, "int8")))
    chosen = next((isa for isa in sets if isa.startswith(f"{run.context.get('fovea_isa')}.")), None)
    for name in names_of(run, "int8"):
        _, shape, what, isa, _ = name.split("/")
        rule, half = what.split("_", 1)
        least = None
        if half == "int8" and rule != "decode":
            least = next((bar for of, sizes, bar in INT8_PREFILL if isa.split(".")[0] == of or isa == of
                          if shape.endswith(sizes)), None)
        if half == "int8_of_i8" and rule == "decode" and isa == chosen and shape.endswith(INT8_SHORT):
            least = INT8_DECODE
        if half == "int8_over_bf16":
            yield name, "of bf16 mode's speed", run.value(name, "speed_over_bf16"), f">= {INT8_OVER_BF16:.2f}"
        elif least:
            yield name, "of exact mode's speed", run.value(name, "speed_over_exact"), f">= {least:.2f}"


def text(run, name, counter, digits):
    value = run.median(name, counter)
    return "" if value is None else f"{value:,.{digits}f}"


def speeds_of(run, mode):
    """Every shape, at one thread / at two, for each set that the run has."""
    names = [name for name in names_of(run, mode) if not name.split("/")[2].endswith("_over_bf16")]
    shapes, sets = {}, dict.fromkeys(name.split("/")[3] for name in names)
    for name in names:
        _, shape, what, isa, _ = name.split("/")
        shapes.setdefault((shape, what), {}).setdefault(isa, []).append(name)
    if not shapes:
        return []
    lines = [f"{mode} mode, 1 thread / 2 threads: GFLOP/s over the visible pairs, and times the speed of exact "
             "mode without AMX.", "",
             "| | " + " | ".join(f"{set_in_words(isa)} | x exact" for isa in sets) + " |",
             "|---|" + "--:|" * 2 * len(sets)]
    for (shape, what), found in shapes.items():
        cells = [" / ".join(text(run, name, counter, digits) for name in found.get(isa, ()))
                 for isa in sets for counter, digits in (("gflops", 0), ("speed_over_exact", 2))]
        lines.append(f"| {shape_in_words(shape, what)} | " + " | ".join(cells) + " |")
    return lines


def speeds(run):
    tables = [lines for lines in (speeds_of(run, mode) for mode in ("bf16", "int8")) if lines]
    return [line for table in tables for line in [*table, ""]][:-1]
