#!/usr/bin/env python3
"""The table of a run of ring.py.

    ring_report.py run.json           the table (Markdown) on stdout
    ring_report.py run.json --keep    also keeps the run in bench/results
    ring_report.py run.json --bars    the bars that the run missed, in place of the table
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import kept  # noqa: E402 (of bench)
import rings  # noqa: E402 (of bench)

MOST = 1.15  # the time of a ring over what the cost model says


def bars_of(document):
    """(what, measured, bar, whether it is reached): a ring takes what its products take."""
    run = rings.Run(document)
    for ranks in run.ranks:
        over = run.over_model(ranks)
        yield f"{rings.in_words(ranks)}, time over the model's", f"{over:.2f}", f"<= {MOST:g}", over <= MOST


def markdown(document):
    run = rings.Run(document)
    lines = [run.heading(), "", *run.table(), "", run.rates()]
    if document["context"]["others_share"] > 0.02:
        lines += ["", f"Other programs took {100 * document['context']['others_share']:.0f} % of the machine meanwhile."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    kept.tell(__doc__, "ring", bars_of, markdown)
