#!/usr/bin/env python3
"""How exact modes with other arithmetic are where Q, K and V are normal random numbers: normal.py [--keep]

The contract of modes (tests/modes/contract_modes.c) beside float64, for scores of two deviations. --keep writes the
numbers to bench/results and the table to docs/numerics.md. NumPy and a C compiler are needed, nothing else; the seed
is fixed.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import numpy

import contract
import reference

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULT = ROOT / "bench" / "results" / "accuracy-normal.json"
PAGE = ROOT / "docs" / "numerics.md"
MARKERS = ("<!-- normal numbers: begin, written by bench/accuracy/normal.py --keep -->", "<!-- normal numbers: end -->")
SEED, HEADS, ROWS, KEYS, DIM, DEVIATIONS = 1, 8, 64, 700, 64, (1, 2)
MODES = tuple(contract.MODES)


def heads():
    """For each deviation of the scores, the same heads but for their queries' size. Rows see all keys."""
    draw, last = numpy.random.default_rng(SEED), numpy.full(ROWS, KEYS - 1)
    drawn = [[draw.standard_normal((count, DIM)).astype(numpy.float32) for count in (ROWS, KEYS, KEYS)]
             for _ in range(HEADS)]
    return {deviation: [reference.Head(q * numpy.float32(deviation), k, v, last, DIM ** -0.5) for q, k, v in drawn]
            for deviation in DEVIATIONS}


def measure(calls):
    """{"scores/values": rms errors over the rms of the outputs, one for each deviation}."""
    found = {f"{scores}/{values}": [] for scores in MODES for values in MODES}
    for each in heads().values():
        wanted = numpy.concatenate([reference.exact(head) for head in each])
        for name, errors in found.items():
            got = numpy.concatenate([calls.attend(*name.split("/"), head) for head in each])
            errors.append(float(f"{reference.errors(got, wanted)[1]:.4g}"))
    return found


def table(found):
    lines = ["| scores | values exact | bf16 | int8 |", "|---|---|---|---|"]
    for scores in MODES:
        cells = [" / ".join(f"{error:.2g}" for error in found[f"{scores}/{values}"]) for values in MODES]
        lines.append("| " + " | ".join([scores, *cells]) + " |")
    return "\n".join(lines)


def keep(found):
    document = {"date": time.strftime("%Y-%m-%d"), "numpy": numpy.__version__, "seed": SEED, "heads": HEADS,
                "rows": ROWS, "keys": KEYS, "dim": DIM, "deviations": DEVIATIONS, "rms": found}
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.find(MARKERS[0]), text.find(MARKERS[1])
    if begin < 0 or end < begin:
        sys.exit(f"normal.py: {PAGE.name} has no lines '{MARKERS[0]}' and '{MARKERS[1]}'")
    RESULT.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    PAGE.write_text(f"{text[:begin + len(MARKERS[0])]}\n\n{table(found)}\n\n{text[end:]}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = measure(contract.build(place))
    print(table(found))
    if arguments.keep:
        keep(found)


if __name__ == "__main__":
    main()
