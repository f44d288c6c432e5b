#!/usr/bin/env python3
"""A table of fovea_llm beside llama.cpp, from a run of llm.py.

    llm_report.py run.json           the table (Markdown) on stdout
    llm_report.py run.json --keep    also keeps the run in bench/results
    llm_report.py run.json --bars    the bars that the run missed, in place of the table
"""

import argparse
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import kept  # noqa: E402 (of bench)
import language_models  # noqa: E402 (of bench)
import measurements  # noqa: E402 (of bench)
from beside import Beside  # noqa: E402 (of bench)


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


def markdown(run):
    context = run.context
    versions = ", ".join(f"{name} {version}" for name, version in context["versions"].items())
    lines = [f"{context['cpu']}, {context['num_cpus']} cores ({', '.join(context['instructions'])}), {run.date}. "
             f"{versions}. Medians of interleaved rounds.", "", *language_models.lines(run), ""]
    if context["others_share"] > 0.02:
        lines += [f"Other programs took {100 * context['others_share']:.0f} % of the machine meanwhile.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, help="JSON of llm.py")
    kept.add_options(parser)
    arguments = parser.parse_args()
    run = Beside(arguments.run)
    if arguments.bars:
        kept.print_bars(bars_of(run))
    print(markdown(run), end="")
    if arguments.keep:
        slug = measurements.Run(run.date, run.context).cpu_slug
        shutil.copyfile(arguments.run, kept.RESULTS / f"llm-peers-{slug}.json")
        kept.write_pages()


if __name__ == "__main__":
    main()
