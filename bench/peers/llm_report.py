#!/usr/bin/env python3
"""A table of fovea_llm beside llama.cpp, from a run of llm.py.

    llm_report.py run.json           the table (Markdown) on stdout
    llm_report.py run.json --keep    also keeps the run in bench/results
    llm_report.py run.json --bars    the bars that the run missed, in place of the table

Of several runs, each result comes from the last run that has it.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import kept  # noqa: E402 (of bench)
import language_models  # noqa: E402 (of bench)

import language_report  # noqa: E402 (beside this file)


# llama.cpp takes this many times as long as each mode, over weights in q8_0
BARS = (("exact mode", "ratio", 1.0), ("int8 mode", "ratio_to_mode", 1.2))


def bars_of(run):
    """(what, measured, bar, whether it is reached)"""
    for name, kind, threads in run.results:
        for mode, ratio, least in BARS if kind == "q8_0" else ():
            found = run.ratio((name, kind, threads), language_models.LLAMA, ratio)
            if found is not None:
                what = f"{language_models.in_words(name, kind)}, {mode}, {kept.threads_in_words(threads)}"
                yield what, f"{found:.2f} x", f">= {least:.2f}", found >= least


if __name__ == "__main__":
    language_report.main("llm", __doc__, language_models.lines, bars_of)
