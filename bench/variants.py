#!/usr/bin/env python3
"""Variants of attention against length: tables of a run of fovea_bench, fitted exponents, and a plot.

    fovea_bench --benchmark_filter=^variant --benchmark_out=run.json
    variants.py run.json [more.json...] [--plot run.svg]     of what is in several runs, the last
    variants.py run.json [more.json...] --keep               also keeps the run and its plot in bench/results
    variants.py run.json --bars                              the bars that the run missed, in place of the tables

An exponent is the slope of log(time) over log(length) from 4,096 keys on, by least squares, with the interval that
holds it with a confidence of 95 % (Student's t). The crossover is the length from which on the variant is faster than
exact attention, both measured in the same rounds, up to 16,384 keys.
"""

import argparse
import json
import math
import pathlib
import sys

import kept
import measurements

SHOWN = (128, 512, 2048, 4096, 16384, 65536)
FITTED_FROM = 4096
# The quantile 0.975 of Student's t, by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306}
# Those whose time grows with the length times a constant: at most this exponent.
LINEAR_BAR = 1.1
# What a variant's size is.
SIZES = {"performer": "{:,} features", "reformer": "rounds: {}"}
QUADRATIC = ("exact", "exact_causal", "differential", "latent", "latent_absorbed", "selected")


def split(name):
    """variant/s4096/window/avx512/t1: (length, variant, threads)."""
    _, length, variant, _, threads = name.split("/")
    return int(length[1:]), variant, int(threads[1:])


def curves(run, threads):
    """variant -> {length: counters}, in the order in which they ran."""
    found = {}
    for name, counters in run.benchmarks.items():
        if not name.startswith("variant/"):
            continue
        length, variant, count = split(name)
        if count == threads:
            found.setdefault(variant, {})[length] = counters
    return found


def exponent(times):
    """(slope, half of the interval) of {length: time}; None with fewer than three lengths."""
    points = [(math.log(length), math.log(time)) for length, time in times.items() if length >= FITTED_FROM]
    count = len(points)
    if count < 3:
        return None
    mean_x, mean_y = (sum(point[i] for point in points) / count for i in (0, 1))
    square = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / square
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    return slope, STUDENT[count - 2] * math.sqrt(rest / (count - 2) / square)


def crossover(ratios):
    """The length from which on {length: exact over variant} is above 1, between lengths by a straight line over
    logarithms; 0: from the shortest on; None: it never is."""
    lengths = sorted(ratios)
    faster = None
    for length in reversed(lengths):
        if ratios[length] < 1:
            break
        faster = length
    if faster is None or faster == lengths[0]:
        return None if faster is None else 0
    before = lengths[lengths.index(faster) - 1]
    low, high = math.log(ratios[before]), math.log(ratios[faster])
    return round(before * (faster / before) ** (-low / (high - low)))


def medians(curve, counter):
    return {length: counters[counter].median for length, counters in curve.items() if counter in counters}


def in_words(length):
    return "not up to 16,384" if length is None else "at once" if length == 0 else f"{length:,}"


def bars_of(run, peers):
    """(what, measured, bar, whether it is reached): exponents of variants that grow with the length, and libraries."""
    for threads in thread_counts(run):
        for variant, curve in curves(run, threads).items():
            fitted = exponent(medians(curve, "time_ns"))
            if fitted and variant not in QUADRATIC:
                yield (f"{variant.replace('_', ' ')}, {kept.threads_in_words(threads)}", f"exponent {fitted[0]:.2f}",
                       f"<= {LINEAR_BAR:g}", fitted[0] <= LINEAR_BAR)
    for result in peers["results"] if peers else ():
        name, _, threads = result["name"].split("/")
        ratio = result["ratio"][0]
        yield (f"{name.replace('_', ' ')} beside {result['peer']}, {kept.threads_in_words(int(threads[1:]))}", f"{ratio:.2f} x",
               f">= {result['least']:g}", ratio >= result["least"])


def thread_counts(run):
    return sorted({split(name)[2] for name in run.benchmarks if name.startswith("variant/")})


def time_row(variant, curve):
    times = {length: nanoseconds * 1e-6 for length, nanoseconds in medians(curve, "time_ns").items()}
    ratios = medians(curve, "exact_over_variant")
    fitted = exponent(times)
    slope = f"{fitted[0]:.2f} ± {fitted[1]:.2f}" if fitted else ""
    cells = [f"{times[length]:.3g}" if length in times else "" for length in SHOWN]
    crossed = in_words(crossover(ratios)) if ratios else ""
    return f"| {variant.replace('_', ' ')} | " + " | ".join(cells) + f" | {slope} | {crossed} |"


def memory_row(variant, curve):
    kilobytes = {length: size / 1024 for length, size in medians(curve, "bytes").items()}
    cells = [f"{kilobytes[length]:,.0f}" if length in kilobytes else "" for length in SHOWN]
    return f"| {variant.replace('_', ' ')} | " + " | ".join(cells) + " |"


def error_rows(run):
    """Of variant_error/performer/256/clusters: a row for each variant and size."""
    found = {}
    for name, counters in run.benchmarks.items():
        if name.startswith("variant_error/"):
            _, variant, size, inputs = name.split("/")
            found.setdefault((variant, size), {})[inputs] = counters["error"].median
    return [f"| {variant}, {SIZES[variant].format(int(size))} | {errors['clusters']:.3f} | {errors['random']:.2f} |"
            for (variant, size), errors in found.items()]


def peer_rows(peers):
    for result in peers["results"]:
        name, shape, threads = result["name"].split("/")
        heads, length, _ = shape.split("_")
        ratio = measurements.Value(*result["ratio"])
        yield (f"| {name.replace('_', ' ')}, heads {heads[1:]}, length {length[1:]} | {threads[1:]} "
               f"| {result['milliseconds']:.3g} | {ratio.median:.2f} ± {50 * ratio.spread:.0f} % | {result['peer']} |")


def titles(*columns):
    return ["| " + " | ".join(("", *columns)) + " |", "|---|" + "--:|" * len(columns)]


def tables(run, peers=None):
    lengths = [f"{length:,}" for length in SHOWN]
    lines = [f"{run.cpu}, {run.date}. One head of 64 dims, f32; medians.", ""]
    for threads in thread_counts(run):
        found = curves(run, threads)
        lines += titles(f"ms, {kept.threads_in_words(threads)}, keys: {lengths[0]}", *lengths[1:], "exponent", "faster than exact from")
        lines += [time_row(variant, curve) for variant, curve in found.items()] + [""]
    found = curves(run, 1)
    lines += titles(f"KB beside Q, K, V and O, keys: {lengths[0]}", *lengths[1:])
    lines += [memory_row(variant, curve) for variant, curve in found.items()] + [""]
    errors = error_rows(run)
    if errors:
        lines += titles("error against exact attention, 4,096 keys: in clusters", "random") + errors + [""]
    if peers:
        lines += [f"PyTorch {peers['torch']}, {peers['date']}, {peers['cpu']}.", ""]
        lines += titles("threads", "ms", "times as long", "beside") + list(peer_rows(peers)) + [""]
    return "\n".join(lines)


def plot(run, path):
    try:
        import matplotlib
    except ImportError:
        sys.exit("variants.py: the plot needs matplotlib (python3-matplotlib)")
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "fovea", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot
    figure, both = pyplot.subplots(1, 2, figsize=(12, 5.5))
    colours = pyplot.get_cmap("tab20").colors
    for axes, counter, factor, title in ((both[0], "time_ns", 1e-6, "milliseconds, 1 thread"),
                                         (both[1], "bytes", 1 / 1024, "KB beside Q, K, V and O")):
        for i, (variant, curve) in enumerate(curves(run, 1).items()):
            values = medians(curve, counter)
            axes.loglog(list(values), [value * factor for value in values.values()], label=variant.replace("_", " "),
                        color=colours[i % 20], marker="os^v"[i % 4], markersize=3,
                        linewidth=2 if variant.startswith("exact") else 1)
        axes.set_title(title)
        axes.set_xlabel("keys")
        axes.set_xticks(SHOWN, [f"{length:,}" for length in SHOWN])
        axes.grid(alpha=0.3)
    both[1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.suptitle(f"One head of 64 dims, {run.cpu}, {run.date}")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def join(paths):
    run = measurements.load(paths[0])
    for path in paths[1:]:
        other = measurements.load(path)
        if other.cpu != run.cpu:
            sys.exit(f"variants.py: {path} is of {other.cpu}, {paths[0]} of {run.cpu}")
        run.benchmarks.update(other.benchmarks)
    run.benchmarks = {name: counters for name, counters in run.benchmarks.items() if name.startswith("variant")}
    run.skipped = {}
    return run


def keep(run, peers):
    path = kept.RESULTS / f"variants-{run.cpu_slug}.json"
    if peers:
        beside = kept.RESULTS / f"variants-peers-{run.cpu_slug}.json"
        beside.write_text(json.dumps(peers, indent=1) + "\n", encoding="utf-8")
    measurements.save(run, path)
    plot(run, path.with_suffix(".svg"))
    kept.write_pages()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=pathlib.Path, nargs="+", help="JSON of fovea_bench, or kept runs")
    parser.add_argument("--plot", type=pathlib.Path, help="draw the plot there (.svg, .png)")
    parser.add_argument("--peers", type=pathlib.Path, help="JSON of bench/peers/variants.py")
    kept.add_options(parser)
    arguments = parser.parse_args()
    run = join(arguments.runs)
    peers = json.loads(arguments.peers.read_text()) if arguments.peers else None
    if arguments.bars:
        kept.print_bars(bars_of(run, peers))
    print(tables(run, peers))
    if arguments.plot:
        plot(run, arguments.plot)
    if arguments.keep:
        keep(run, peers)


if __name__ == "__main__":
    main()
