"""bf16 mode in docs/benchmarks.md: names in words, bars, and the table of speeds. Called by bars.py and tables.py."""

import re

AMX = "amx"
# Where AMX does not multiply: least useful flops a second over those of exact mode on the same tensors.
OVER_EXACT = 0.93
HALVES = {"bf16": "", "bf16_scores": ", scores only", "bf16_values": ", values only", "bf16_of_bf16": ", bf16 tensors"}


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
    return "AMX" if isa == AMX else isa


def words(name):
    """mode/h8_s2048_d128/full_bf16/avx512/t1: its parts in words."""
    _, shape, what, isa, threads = name.split("/")
    return f"{shape_in_words(shape, what)}: {set_in_words(isa)}, {threads_in_words(threads)}"


def names_of(run):
    return [name for name in run.benchmarks if name.startswith("mode/")]


def bars(run):
    """Both halves in bf16, prefill, without AMX. The bars of AMX are over other libraries: bench/peers/report.py."""
    for name in names_of(run):
        _, _, what, isa, _ = name.split("/")
        rule, half = what.split("_", 1)
        if isa != AMX and rule != "decode" and half in ("bf16", "bf16_of_bf16"):
            yield name, "of exact mode's speed", run.value(name, "speed_over_exact"), f">= {OVER_EXACT:.2f}"


def text(run, name, counter, digits):
    value = run.median(name, counter)
    return "" if value is None else f"{value:,.{digits}f}"


def speeds(run):
    """Every shape, at one thread / at two, for each set that the run has."""
    shapes, sets = {}, dict.fromkeys(name.split("/")[3] for name in names_of(run))
    for name in names_of(run):
        _, shape, what, isa, _ = name.split("/")
        shapes.setdefault((shape, what), {}).setdefault(isa, []).append(name)
    lines = ["bf16 mode, 1 thread / 2 threads: GFLOP/s over the pairs that are seen, and times the speed of exact mode "
             "without AMX.", "",
             "| | " + " | ".join(f"{set_in_words(isa)} | x exact" for isa in sets) + " |",
             "|---|" + "--:|" * 2 * len(sets)]
    for (shape, what), found in shapes.items():
        cells = [" / ".join(text(run, name, counter, digits) for name in found.get(isa, ()))
                 for isa in sets for counter, digits in (("gflops", 0), ("speed_over_exact", 2))]
        lines.append(f"| {shape_in_words(shape, what)} | " + " | ".join(cells) + " |")
    return lines
