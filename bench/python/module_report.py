#!/usr/bin/env python3
"""The tables of a run of module.py.

    module_report.py run.json           the tables (Markdown) on stdout
    module_report.py run.json --keep    also keeps the run in bench/results
    module_report.py run.json --bars    the bars that the run missed, in place of the tables
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import kept  # noqa: E402 (of bench)
import modules  # noqa: E402 (of bench)

# The most that it may take.
MOST = {"`pip install ./python`": 90, "`import fovea`": 50, "`fovea.attention(q, k, v)`": 5,
        "the same, over PyTorch's own": 8}


def bars_of(document):
    """(what, measured, bar, whether it is reached)"""
    for result in document["results"]:
        value, unit = result["value"][0], result["unit"]
        if result["name"] in MOST:
            most = MOST[result["name"]]
            yield result["name"], f"{value:.3g} {unit}", f"<= {most} {unit}", value <= most
        elif "torch" in result:
            ratio = result["torch"][0]
            yield f"one_answer(), {result['name']}, beside PyTorch", f"{ratio:.2f} x", ">= 1.00", ratio >= 1


def markdown(document):
    run = modules.Run(document)
    lines = [run.heading(), "", *run.costs(), "", "The model of docs/python.md within one_answer():", "", *run.model()]
    if document["context"]["others_share"] > 0.02:
        lines += ["", f"Other programs took {100 * document['context']['others_share']:.0f} % of the machine meanwhile."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    kept.tell(__doc__, "module", bars_of, markdown)
