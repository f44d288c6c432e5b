"""Linear layers in modes and over quantised weights: names in words, and tables of speeds. Called by bars.py and
tables.py."""

import re

import modes

PANELS = ("f32", "f16", "bf16")
MODES = {"bf16_mode": "bf16 mode", "int8_mode": "int8 mode, one scale an output"}


def weights_of(name):
    """linear/r16_i384_o1536/f32/avx512/t1: 'f32'."""
    return name.split("/")[2]


def weights_in_words(weights):
    """q8_0, or with a mode: int8 mode over q8_0."""
    if weights in MODES or not is_mode(weights):
        return MODES.get(weights, weights)
    return f"int8 mode over {weights[:-len('_int8_mode')]}"


def sizes_in_words(name):
    """r16_i384_o1536 of a name: '16 rows, 384 to 1,536'."""
    numbers = [int(number) for number in re.findall(r"\d+", name.split("/")[1])]
    rows = f"{numbers[-3]:,} rows, " if len(numbers) == 3 else ""
    return f"{rows}{numbers[-2]:,} to {numbers[-1]:,}"


def words(name):
    """linear/r128_i4096_o4096/q8_0/avx512/t1: its parts in words."""
    kind, _, weights, isa, threads = name.split("/")
    of = "one row, " if kind == "row" else ""
    return f"{of}{sizes_in_words(name)}, {weights_in_words(weights)}: {modes.set_in_words(isa)}, " \
           f"{modes.threads_in_words(threads)}"


def is_mode(weights):
    return weights.endswith("_mode")


def is_of_codes(weights):
    return not is_mode(weights) and weights not in PANELS


HOW_TO_READ = "`x` is beside exact mode over f32 or other weights: above 1 modes and quantised weights are faster."

# Title, kind of benchmark, which weights, and columns: their titles, counters and digits.
TABLES = (
    ("Linear layers in modes", "linear", is_mode,
     (("GFLOP/s", "gflops", 0), ("x f32", "speed_over_f32", 2), ("x exact mode, same weights", "speed_over_exact", 2))),
    ("Many rows over quantised weights, in exact mode", "linear", is_of_codes,
     (("GFLOP/s", "gflops", 0), ("x f32", "speed_over_f32", 2), ("x f16", "speed_over_f16", 2))),
    ("One row over quantised weights, in exact mode", "row", is_of_codes,
     (("GB/s", "gigabytes_per_second", 1), ("of the read bandwidth", "bandwidth_fraction", 2),
      ("x f16", "speed_over_f16", 2))),
    ("One row over quantised weights, in int8 mode", "row", is_mode,
     (("GB/s", "gigabytes_per_second", 1), ("of the read bandwidth", "bandwidth_fraction", 2),
      ("x exact mode, same weights", "speed_over_exact", 2))),
)


def table(run, kind, chosen, columns):
    """A row for each layer; cells are one thread / two threads."""
    found = {}
    for name in run.benchmarks:
        if name.startswith(f"{kind}/") and chosen(weights_of(name)):
            found.setdefault(name.rsplit("/", 1)[0], []).append(name)
    lines = ["| | " + " | ".join(title for title, _, _ in columns) + " |", "|---|" + "--:|" * len(columns)]
    for names in found.values():
        cells = [" / ".join(modes.text(run, name, counter, digits) for name in names) for _, counter, digits in columns]
        lines.append(f"| {words(names[0]).rsplit(', ', 1)[0]} | " + " | ".join(cells) + " |")
    return lines if found else []


def speeds(run):
    """The tables that the run has something for, and how to read them."""
    lines = []
    for title, kind, chosen, columns in TABLES:
        rows = table(run, kind, chosen, columns)
        lines += ["", f"{title}; 1 thread / 2 threads.", "", *rows] if rows else []
    return [HOW_TO_READ, *lines] if lines else []
