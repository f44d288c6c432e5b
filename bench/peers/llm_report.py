#!/usr/bin/env python3
"""A table of fovea_llm beside llama.cpp, from a run of llm.py.

    llm_report.py run.json           the table (Markdown) on stdout
    llm_report.py run.json --keep    also keeps the run in bench/results
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
    parser.add_argument("--keep", action="store_true", help="keep the run in bench/results, and make all pages again")
    arguments = parser.parse_args()
    run = Beside(arguments.run)
    print(markdown(run), end="")
    if arguments.keep:
        slug = measurements.Run(run.date, run.context).cpu_slug
        shutil.copyfile(arguments.run, kept.RESULTS / f"llm-peers-{slug}.json")
        kept.write_pages()


if __name__ == "__main__":
    main()
