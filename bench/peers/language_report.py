"""What the reports of llm.py and ggml_plugin.py have in common."""

import argparse
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import kept  # noqa: E402 (of bench)
import measurements  # noqa: E402 (of bench)
from beside import Beside  # noqa: E402 (of bench)
from report import together  # noqa: E402 (beside this file)


def markdown(run, lines):
    context = run.context
    versions = ", ".join(f"{name} {version}" for name, version in context["versions"].items())
    lines = [f"{context['cpu']}, {context['num_cpus']} cores ({', '.join(context['instructions'])}), {run.date}. "
             f"{versions}. Medians of interleaved rounds.", "", *lines, ""]
    if context["others_share"] > 0.02:
        lines += [f"Other programs took {100 * context['others_share']:.0f} % of the machine meanwhile.", ""]
    return "\n".join(lines)


def main(script, description, lines_of, bars_of):
    """`lines_of(run)` are the lines of the tables, `bars_of(run)` as kept.print_bars() takes them."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, nargs="+", help=f"JSON of {script}.py, or a kept run")
    kept.add_options(parser)
    arguments = parser.parse_args()
    document = together(arguments.run)
    run = Beside(arguments.run[0], document)
    if arguments.bars:
        kept.print_bars(bars_of(run))
    print(markdown(run, lines_of(run)), end="")
    if arguments.keep:
        slug = measurements.Run(run.date, run.context).cpu_slug
        kept.save(document, kept.RESULTS / f"{script}-peers-{slug}.json")
        kept.write_pages()
