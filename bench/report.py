#!/usr/bin/env python3
"""A table and a plot of a run of fovea_bench.

    report.py run.json                        the table (Markdown) on stdout
    report.py run.json --table t.md --plot p.svg
    report.py run.json --keep                 also keeps the run as bench/results/<cpu>.json, .md and .svg
    report.py --readme [bench/results/x.json] puts the first table of a kept run between the markers in README.md

The table and --keep need Python alone, the plot also matplotlib.
"""

import argparse
import pathlib
import sys

import measurements

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
MARKERS = ("<!-- bench: begin, written by bench/report.py --readme -->", "<!-- bench: end -->")
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
    matplotlib.rcParams.update({"svg.hashsalt": "fovea", "font.size": 9})
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


def keep(run):
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{run.cpu_slug}.json"
    measurements.save(run, path)
    plot(run, path.with_suffix(".svg"))
    path.with_suffix(".md").write_text(f"# What fovea_bench measured\n\n{markdown(run)}", encoding="utf-8")
    return path


def rewrite_readme(kept):
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    begin, end = text.find(MARKERS[0]), text.find(MARKERS[1])
    if begin < 0 or end < begin:
        sys.exit(f"report.py: README.md has no lines '{MARKERS[0]}' and '{MARKERS[1]}'")
    place = kept.relative_to(ROOT).with_suffix("").as_posix()
    run = measurements.load(kept)
    isa, threads = configurations(run)[0]
    table = "\n".join(heading(run) + table_of(run, isa, threads))
    body = (f"\n![Fractions of the FMA peak]({place}.svg)\n\n{table}\n\n"
            f"[More threads, other instruction sets, types and masks]({place}.md).\n")
    readme.write_text(text[: begin + len(MARKERS[0])] + "\n" + body + text[end:], encoding="utf-8")


def only_kept_run():
    found = sorted(path for path in RESULTS.glob("*.json") if not path.name.startswith(("peers-", "budget-")))
    if len(found) != 1:
        sys.exit(f"report.py: bench/results has {len(found)} runs; name the one for the README")
    return found[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=pathlib.Path, help="JSON of fovea_bench, or a kept run")
    parser.add_argument("--table", type=pathlib.Path, help="write the table there instead of stdout")
    parser.add_argument("--plot", type=pathlib.Path, help="draw the plot there (.svg, .png)")
    parser.add_argument("--keep", action="store_true", help="keep the run, its tables and its plot in bench/results")
    parser.add_argument("--readme", action="store_true", help="rewrite the README's table from a kept run")
    arguments = parser.parse_args()
    if not arguments.run and not arguments.readme:
        parser.error("name a run, or give --readme")
    kept = arguments.run.resolve() if arguments.run else only_kept_run()
    run = measurements.load(kept)
    if arguments.table:
        arguments.table.write_text(markdown(run), encoding="utf-8")
    elif not arguments.readme:
        print(markdown(run), end="")
    if arguments.plot:
        plot(run, arguments.plot)
    if arguments.keep:
        kept = keep(run)
    if arguments.readme:
        rewrite_readme(kept)


if __name__ == "__main__":
    main()
