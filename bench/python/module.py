#!/usr/bin/env python3
"""What the Python module costs: module.py --out run.json

`pip install ./python` into a new environment, without ccache; `import fovea`; calls of small problems, with NumPy and
with PyTorch; and the model of docs/python.md with one_answer() and without. The python that runs it has fovea of this
tree and PyTorch. module_report.py says which bars a run reached.
"""

import argparse
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

import fovea

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "peers"))
import measure  # noqa: E402 (of bench/peers, which finds the modules of bench)
import calls  # noqa: E402
import kept  # noqa: E402
from measurements import Value  # noqa: E402

IMPORT = "import time; begin = time.perf_counter(); {}; print(time.perf_counter() - begin)"


def time_install():
    """Seconds of pip install ./python; what it needs to build may lie in pip's cache."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "numpy"], check=True)
        begin = time.perf_counter()
        subprocess.run([*pip, str(kept.ROOT / "python")], check=True, env=os.environ | {"CCACHE_DISABLE": "1"})
        return time.perf_counter() - begin


def time_import(statement):
    """In a process of its own, after Python has started. The files are in memory, since some have read them before."""
    done = subprocess.run([sys.executable, "-c", IMPORT.format(statement)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def result(name, unit, seconds, factor):
    return {"name": name, "unit": unit, "value": measure.short(Value.of([factor * each for each in seconds]))}


def measure_all(arguments):
    if arguments.installs:
        yield result("`pip install ./python`", "s", [time_install() for _ in range(arguments.installs)], 1)
    time_import("import fovea")
    yield result("`import fovea`", "ms", [time_import("import fovea") for _ in range(arguments.rounds)], 1e3)
    for name, seconds in calls.small_calls(arguments.rounds):
        yield result(name, "us", seconds, 1e6)
    for name, ours, theirs in calls.page_model(arguments.rounds):
        yield result(name, "ms", ours, 1e3) | {
            "torch": measure.short(Value.of([their / our for our, their in zip(ours, theirs)]))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--installs", type=int, default=3, help="how often pip installs; 0: not")
    arguments = parser.parse_args()
    others = measure.Others({"programs": measure.Children})
    results = list(measure_all(arguments))
    context = measure.machine() | {"versions": {"fovea": fovea.__version__, "torch": torch.__version__,
                                                "python": sys.version.split()[0]},
                                   "others_share": round(others.share(), 3)}
    kept.save({"date": datetime.date.today().isoformat(), "context": context, "results": results}, arguments.out)


if __name__ == "__main__":
    main()
