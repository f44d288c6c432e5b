#!/usr/bin/env python3
"""The tables of a run of sdpa.py.

    sdpa_report.py run.json           the tables (Markdown) on stdout
    sdpa_report.py run.json --keep    also keeps the run in bench/results
    sdpa_report.py run.json --bars    the bars that the run missed, in place of the tables
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import kept  # noqa: E402 (of bench)
import sdpas  # noqa: E402 (of bench)

# PyTorch's time alone over Fovea's, in bf16 in the faster mode; the latter at S 2048 in f32, causal.
LEAST, LEAST_LONG = 1.0, 1.2


def bars_of(document):
    """(what, measured, bar, whether it is reached)"""
    run = sdpas.Run(document)
    for call in run.calls():
        is_long = call.type == "f32" and "_s2048_" in call.name and call.name.endswith("/causal")
        least = LEAST_LONG if is_long else LEAST
        for threads in run.threads:
            ratio = max(filter(None, (run.ratio(call, threads, way) for way in (sdpas.ACTIVE, sdpas.MODE))))
            what = f"{sdpas.label(call)}, {call.type}, {kept.threads_in_words(threads)}"
            yield what, f"{ratio:.2f} x", f">= {least:.1f}", ratio >= least


def markdown(document):
    run = sdpas.Run(document)
    lines = [run.heading(), ""]
    for number_type in run.types():
        lines += [f"**{number_type}**", "", *run.table(number_type), ""]
    ahead, count = run.count()
    lines += [f"Fovea is ahead in {ahead} of {count} comparisons."]
    if document["context"]["others_share"] > 0.02:
        lines += ["", f"Other programs took {100 * document['context']['others_share']:.0f} % of the machine meanwhile."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    kept.tell(__doc__, "sdpa", bars_of, markdown)
