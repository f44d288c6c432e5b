#!/usr/bin/env python3
"""A table of llama.cpp with the plugin for ggml and without, from a run of ggml_plugin.py.

    ggml_plugin_report.py run.json           the table (Markdown) on stdout
    ggml_plugin_report.py run.json --keep    also keeps the run in bench/results
    ggml_plugin_report.py run.json --bars    the bars that the run missed, in place of the table

Of several runs, each result comes from the last run that has it.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import kept  # noqa: E402 (of bench)
import language_models  # noqa: E402 (of bench)
import plugins  # noqa: E402 (of bench)

import language_report  # noqa: E402 (beside this file)

# ggml takes this many times as long, in its best setting, by test and type of the cache.
BARS = {("prefill/4096", "f16"): 1.3, ("prefill/4096", "q8_0"): 2.0,
        ("decode/32_after16384", "f16"): 1.2, ("decode/32_after16384", "q8_0"): 1.2,
        **{(test, kind): 0.98 for test in ("prefill/64", "decode/32_after64") for kind in ("f16", "q8_0")}}
MOST_MILLISECONDS = 20


def bars_of(run):
    """(what, measured, bar, whether it is reached), of exact mode in both ways."""
    for name, kind, threads in run.results:
        for title in ("in ggml's threads", "as a device") if (name, kind) in BARS else ():
            found, least = plugins.ratio_to_own(run, (name, kind, threads), plugins.SPEEDS[title]), BARS[name, kind]
            what = f"{language_models.in_words(name, kind)}, {title}, {kept.threads_in_words(threads)}"
            yield what, f"{found:.2f} x", f">= {least:.2f}", found >= least
    for way, entry in plugins.loading(run).items():
        found = entry["milliseconds"][0]
        yield f"loading, {way}", f"{found:.2g} ms", f"<= {MOST_MILLISECONDS} ms", found <= MOST_MILLISECONDS


if __name__ == "__main__":
    language_report.main("ggml_plugin", __doc__, plugins.lines, bars_of)
