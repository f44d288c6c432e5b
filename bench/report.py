#!/usr/bin/env python3
"""A table and a plot of a run of fovea_bench.

    report.py run.json                        the table (Markdown) on stdout
    report.py run.json --table t.md --plot p.svg
    report.py run.json --keep                 also keeps the run and its plot as bench/results/<cpu>.json and .svg, and
                                              makes all pages of kept runs again
    report.py run.json --bars                 the bars that the run missed, in place of the table

The table needs Python alone, --plot and --keep also matplotlib.
"""

import argparse
import pathlib
import sys

import bars
import kept
import measurements

RULES = {"window512": "window of 512", "chunk64_left256": "chunks of 64, 256 left",
         "mask_f32": "f32 mask", "mask_bool": "boolean mask, all visible",
         "mask_half_empty": "half of the mask's tiles empty", "decode_pages16": "decode, pages of 16",
         "decode_pages16_f16": "decode, pages of 16, f16"}
LIMITS = {"FMA peak": "peak_fraction", "read bandwidth": "bandwidth_fraction"}
KINDS = ("prefill", "cross", "packed", "decode")


def split(name):
    """'prefill/h8_s2048_d64/causal/avx512/t1' in its five parts."""
    kind, shape, rule, isa, threads = name.split("/")
    return kind, shape, rule, isa, int(threads[1:])


def label(name):
    kind, shape, rule, _, _ = split(name)
    words = []
    for part in shape.split("_"):
        letters = part.rstrip("0123456789to") if part != "rows" and part != "first" else part
        number = part[len(letters):].replace("to", "–")
        words.append({"b": f"batch {number}", "h": f"{number} heads", "kv": f"over {number}", "s": f"S {number}",
                      "q": f"{number} rows", "d": f"D {number}", "rows": "rows", "first": "first"}[letters])
    text = ", ".join(words).replace(", over", " over").replace("rows, first", "rows before heads")
    return f"{kind}: {text}, {RULES.get(rule, rule.replace('_', ', '))}"


def compared(run, isa, threads):
    """Names of the benchmarks with a fraction of peak, in the order in which they ran."""
    return [n for n in run.benchmarks if n.split("/")[0] in KINDS and split(n)[3:] == (isa, threads)]


def configurations(run):
    found = dict.fromkeys(split(n)[3:] for n in run.benchmarks if n.split("/")[0] in KINDS)
    return list(found)


def cell(value, form, unit=""):
    return "" if value is None else format(value.median, form) + unit


def limit_of(name):
    """Decoding reads, the rest multiplies."""
    return "bandwidth_fraction" if split(name)[0] == "decode" else "peak_fraction"


def table_of(run, isa, threads):
    lines = [f"**{isa}, {threads} thread{'s' if threads > 1 else ''}**"]
    for limit, counter in LIMITS.items():
        names = [name for name in compared(run, isa, threads) if limit_of(name) == counter]
        if names:
            reads = counter == "bandwidth_fraction"
            titles = ["GFLOP/s", *(["GB/s"] if reads else []), f"of {limit}", "spread",
                      *(["time over bound"] if reads else []), "vs whole-matrix", "vs blocked"]
            lines += ["", "| shape and rule | " + " | ".join(titles) + " |", "|---|" + "--:|" * len(titles),
                      *rows_of(run, names, counter)]
    return lines


def rows_of(run, names, counter):
    lines = []
    for name in names:
        fraction = run.value(name, counter)
        reads = counter == "bandwidth_fraction"
        lines.append("| " + " | ".join((
            label(name),
            cell(run.value(name, "gflops"), ".0f"),
            *([cell(run.value(name, "gigabytes_per_second"), ".1f")] if reads else []),
            cell(fraction, ".3f"),
            "" if fraction is None else f"{100 * fraction.spread:.1f} %",
            *([cell(run.value(name, "time_over_bound"), ".2f")] if reads else []),
            cell(run.value(name, "vs_unfused_whole"), ".2f", " x"),
            cell(run.value(name, "vs_unfused_blocked"), ".2f", " x"),
        )) + " |")
    return lines


def paired_lines(run):
    """The time with types, softcap, masks and pages, over the time without them."""
    lines = []
    for name, counters in run.benchmarks.items():
        if not name.startswith("paired/"):
            continue
        ratio = next((counter for counter in counters if counter.startswith("time_over_")), None)
        if ratio is None:  # patterns are compared by speed: bench/tables.py
            continue
        lines.append("| " + " | ".join((
            label(name).split(": ")[1],
            split(name)[3],
            cell(run.value(name, ratio), ".3f"),
            ratio[len("time_over_"):].replace("_", " "),
            cell(run.value(name, "peak_fraction"), ".3f"),
        )) + " |")
    if not lines:
        return []
    return ["| types, softcap, masks, pages (1 thread) | | time over | | of the f32 FMA peak |",
            "|---|---|--:|---|--:|", *lines, ""]


def other_lines(run):
    lines = []
    for name in run.benchmarks:
        if name.startswith("speedup/"):
            _, _, _, isa, threads = split(name)
            limit, counter = ("the FMA peak", "peak_speedup")
            if run.value(name, "read_speedup"):
                limit, counter = ("reading", "read_speedup")
            lines.append(f"- {threads} threads over one, {label(name).split(': ')[1]}, {isa}: "
                         f"{run.median(name, 'speedup'):.2f} x ({limit}: {run.median(name, counter):.2f} x)")
        if run.value(name, "read_over_contiguous"):
            lines.append(f"- plain reading, {label(name).split(': ')[1]}: "
                         f"{run.median(name, 'read_over_contiguous'):.2f} x the time of contiguous memory")
        if name.startswith("overhead/"):
            what = name.rsplit("/", 1)[1].replace("_", " ")
            lines.append(f"- one head, one row, 16 keys, D 64, {what}: {run.median(name, 'time_ns'):.0f} ns")
    return lines


def heading(run):
    context = run.context
    return [
        f"{run.cpu}, {run.date}. f32 unless another type is named; medians of interleaved rounds, flops over the visible "
        f"pairs. Clock: {context.get('clock', 'wall')}. "
        f"Unfused: OpenBLAS ({context.get('openblas_core', '?')}) product, vectorised softmax, product.",
        "",
    ]


def markdown(run):
    lines = heading(run)
    for isa, threads in configurations(run):
        lines += table_of(run, isa, threads) + [""]
    lines += paired_lines(run)
    lines += other_lines(run)
    for reason in dict.fromkeys(run.skipped.values()):
        names = [f"`{name}`" for name, why in run.skipped.items() if why == reason]
        lines += ["", f"Not run ({reason}): " + ", ".join(names) + "."]
    return "\n".join(lines).rstrip() + "\n"


def plot(run, path):
    """Fractions of the FMA peak: Fovea on one thread and, on the same data, the two unfused ways."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("report.py: the plot needs matplotlib (python3-matplotlib)")
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "fovea", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    isa = run.context.get("fovea_isa")
    threads = [t for i, t in configurations(run) if i == isa]
    names = [n for n in compared(run, isa, min(threads, default=1))
             if run.value(n, "peak_fraction") and run.value(n, "vs_unfused_blocked")]
    if not names:
        sys.exit(f"report.py: nothing to plot for {isa}")
    fovea = [run.median(n, "peak_fraction") for n in names]

    def unfused(counter):
        ratios = [run.median(n, counter) for n in names]
        return [f / r if r else 0.0 for f, r in zip(fovea, ratios)]

    bars = (("Fovea", fovea, "#1b4f72"), ("unfused, blocked over rows", unfused("vs_unfused_blocked"), "#7fb3d5"),
            ("unfused, whole matrix", unfused("vs_unfused_whole"), "#d5d8dc"))
    figure, axes = pyplot.subplots(figsize=(9, 0.45 * len(names) + 1.4))
    height = 0.27
    for i, (what, values, colour) in enumerate(bars):
        places = [row + (i - 1) * height for row in range(len(names))]
        drawn = axes.barh(places, values, height, label=what, color=colour)
        if what == "Fovea":
            axes.bar_label(drawn, fmt="%.2f", padding=2, fontsize=7)
    axes.set_yticks(range(len(names)), [label(n) for n in names])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel(f"fraction of the {isa} FMA peak, {min(threads)} thread, useful flops ({run.cpu}, {run.date})")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncol=3, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if str(path).endswith(".svg") else None)


def bars_of(run):
    """(what, measured, bar, whether it is reached) of all bars that the run measured."""
    for name, unit, value, bar in bars.attention_bars(run):
        if value is not None:
            what = name.replace("/", ", ").replace("_", " ")
            if name.count("/") == 4:
                isa, threads = split(name)[3:]
                what = f"{label(name)}, {isa}, {kept.threads_in_words(threads)}"
            yield what, f"{value.median:.3f} {unit}", bar, bars.verdict(value, bar) == "met"


def keep(run):
    path = kept.RESULTS / f"{run.cpu_slug}.json"
    measurements.save(run, path)
    plot(run, path.with_suffix(".svg"))
    kept.write_pages()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="JSON of fovea_bench, or a kept run")
    parser.add_argument("--table", type=pathlib.Path, help="write the table there instead of stdout")
    parser.add_argument("--plot", type=pathlib.Path, help="draw the plot there (.svg, .png)")
    kept.add_options(parser)
    arguments = parser.parse_args()
    run = measurements.load(arguments.run)
    if arguments.bars:
        kept.print_bars(bars_of(run))
    if arguments.table:
        arguments.table.write_text(markdown(run), encoding="utf-8")
    else:
        print(markdown(run), end="")
    if arguments.plot:
        plot(run, arguments.plot)
    if arguments.keep:
        keep(run)


if __name__ == "__main__":
    main()
