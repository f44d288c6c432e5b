#!/usr/bin/env python3
"""Which bars a run of layers.py reached.

    layers_report.py run.json [more.json ...]          a table (Markdown) on stdout
    layers_report.py run.json [more.json ...] --keep   also keeps the run in bench/results, and writes docs/benchmarks.md

Of several runs, each result comes from the last run that has it. Ends with status 1 if a bar was missed.
"""

import argparse
import pathlib
import sys

import layer_problems
import report
from layer_problems import ADDITIVE, GELU, LINEAR, MINILM, SILU

MARKERS = ("<!-- layer peers: begin, written by bench/peers/layers_report.py --keep -->", "<!-- layer peers: end -->")
OURS = "fovea/layers"
TITLES = (("torch/layers", "PyTorch"), ("onnxruntime/layers", "ONNX Runtime"), ("openvino/layers", "OpenVINO"))
# kind: (libraries that count, least ratio): the fastest of them takes this many times as long as Fovea
BARS = {
    LINEAR: (("torch/layers",), 0.95),
    GELU: (("torch/layers", "onnxruntime/layers"), 1.5),
    SILU: (("torch/layers", "onnxruntime/layers"), 1.5),
    ADDITIVE: (("torch/layers",), 4.0),
    MINILM: (("torch/layers", "onnxruntime/layers", "openvino/layers"), 1.2),
}


def cell(entry):
    if entry is None:
        return ""
    ratio, spread, rounds = entry["ratio"]
    return f"{ratio:.2f} ± {100 * spread / 2:.0f} %, {entry['option']}" if rounds > 1 else f"{ratio:.2f}, {entry['option']}"


def verdict(result):
    """(bar, whether it was reached; None without a library that counts)."""
    peers, least = BARS[layer_problems.parse(result["name"]).kind]
    ratios = [result["entries"][peer]["ratio"][0] for peer in peers if peer in result["entries"]]
    return least, min(ratios) >= least if ratios else None


def speed(result):
    milliseconds = result["entries"][OURS]["milliseconds"][0]
    kind = layer_problems.parse(result["name"]).kind
    return f"{result['flops'] / milliseconds * 1e-6:.0f} GFLOP/s" if kind in (LINEAR, MINILM) else ""


def table(document):
    lines = ["| | threads | Fovea, ms | | " + " | ".join(title for _, title in TITLES) + " | bar | |",
             "|---|--:|--:|--:|" + "---|" * len(TITLES) + "--:|---|"]
    for result in document["results"]:
        least, reached = verdict(result)
        cells = [result["name"], str(result["threads"]), f"{result['entries'][OURS]['milliseconds'][0]:.4g}",
                 speed(result), *(cell(result["entries"].get(way)) for way, _ in TITLES), f"{least:.2f}",
                 {True: "met", False: "**missed**", None: "absent"}[reached]]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def errors(document):
    """The largest of each library, and what is beyond the tolerance."""
    worst = {}
    for result in document["results"]:
        for way, entry in result["entries"].items():
            worst[way] = max(worst.get(way, 0.0), entry["error"])
    texts = [f"{report.LIBRARIES[way.split('/')[0]]} {error:.1e}" for way, error in worst.items()]
    wrong = [way for way, error in worst.items() if error > layer_problems.TOLERANCE]
    return ["Errors against float64, largest of all: " + ", ".join(texts) + ".",
            "Beyond what is tolerated: " + ", ".join(wrong) + "." if wrong else "All agree."]


def markdown(document):
    context = document["context"]
    versions = ", ".join(f"{report.LIBRARIES[peer]} {version}" for peer, version in context["versions"].items())
    met = [verdict(result)[1] for result in document["results"]]
    lines = [f"{context['cpu']}, {context['num_cpus']} cores, {document['date']}, {context['clock']}. {versions}.", "",
             "A number is how many times as long the other takes. Medians of interleaved rounds; ± is half of the "
             "middle half of the rounds.", "", *table(document), "", *errors(document), "",
             f"{met.count(True)} bars met, {met.count(False)} missed.",
             f"Other programs took up to {100 * context['others_share']:.0f} % of the machine meanwhile."]
    return "\n".join(lines)


def write_page(text):
    page = report.RESULTS.parent.parent / "docs" / "benchmarks.md"
    old = page.read_text(encoding="utf-8")
    begin, end = old.find(MARKERS[0]), old.find(MARKERS[1])
    if begin < 0 or end < begin:
        sys.exit(f"layers_report.py: {page.name} has no lines '{MARKERS[0]}' and '{MARKERS[1]}'")
    page.write_text(old[: begin + len(MARKERS[0])] + "\n\n" + text + "\n\n" + old[end:], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, nargs="+", help="JSON of layers.py, or a kept run")
    parser.add_argument("--keep", action="store_true", help="keep the run")
    arguments = parser.parse_args()
    document = report.together(arguments.run)
    print(markdown(document))
    if arguments.keep:
        slug = report.measurements.Run(document["date"], document["context"]).cpu_slug
        report.save(document, report.RESULTS / f"layers-peers-{slug}.json")
        write_page(markdown(document))
    sys.exit(0 if all(verdict(result)[1] is not False for result in document["results"]) else 1)


if __name__ == "__main__":
    main()
