#!/usr/bin/env python3
"""The tables of a run of receipts.py.

    receipts_report.py run.json           the tables (Markdown) on stdout
    receipts_report.py run.json --keep    also keeps the run in bench/results
    receipts_report.py run.json --bars    the bars that the run missed, in place of the tables
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import kept  # noqa: E402 (of bench)
import texts  # noqa: E402 (of bench)

MOST = 0.1  # time of verifying over time of writing


def bars_of(document):
    """(what, measured, bar, whether it is reached)"""
    for result in texts.Run(document).receipts:
        over = result["over"][0]
        threads = kept.threads_in_words(result["threads"])
        what = f"{result['model']}, {result['length']} tokens, {threads}, verified over written"
        yield what, f"{over:.2g}", f"<= {MOST:g}", over <= MOST


def markdown(document):
    run = texts.Run(document)
    versions = ", ".join(f"{name} {version}" for name, version in run.context["versions"].items())
    lines = [f"{run.heading()} {versions}. Medians.", "", *run.receipt_table(), "", *run.packed_table()]
    if document["context"]["others_share"] > 0.02:
        share = 100 * document["context"]["others_share"]
        lines += ["", f"Other programs took {share:.0f} % of the machine meanwhile."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    kept.tell(__doc__, "receipts", bars_of, markdown)
