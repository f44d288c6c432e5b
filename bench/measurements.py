"""Reads a run of fovea_bench: Google Benchmark's JSON, or the short form that bench/results keeps."""

import json
import re
import statistics
from dataclasses import dataclass, field

# Google Benchmark's own fields of a round; everything else is a counter.
_FIELDS = {
    "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index",
    "threads", "iterations", "real_time", "cpu_time", "time_unit", "aggregate_name", "aggregate_unit",
    "error_occurred", "error_message",
}
_NANOSECONDS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_KEPT_CONTEXT = (
    "cpu", "fovea_version", "fovea_isa", "fovea_threading", "fovea_environment", "openblas_core", "openblas_config",
    "openblas_gflops_by_core", "num_cpus", "caches", "clock", "bf16_dot_over_fma",
)


@dataclass
class Value:
    """A median over rounds, and the middle half of the rounds as a share of it."""

    median: float
    spread: float
    rounds: int

    @staticmethod
    def of(samples):
        median = statistics.median(samples)
        if len(samples) < 2 or median == 0:
            return Value(median, 0.0, len(samples))
        lower, _, upper = statistics.quantiles(samples, n=4, method="inclusive")
        return Value(median, (upper - lower) / abs(median), len(samples))


@dataclass
class Run:
    """One run of fovea_bench. A benchmark has its counters and `time_ns`, by name."""

    date: str
    context: dict
    benchmarks: dict = field(default_factory=dict)
    skipped: dict = field(default_factory=dict)

    def value(self, benchmark, counter):
        """The Value, or None if there is none."""
        return self.benchmarks.get(benchmark, {}).get(counter)

    def median(self, benchmark, counter):
        value = self.value(benchmark, counter)
        return None if value is None else value.median

    @property
    def cpu(self):
        return self.context.get("cpu", "unknown CPU")

    @property
    def cpu_slug(self):
        """The CPU's name as a file name."""
        name = re.sub(r"\((R|TM)\)|\bCPU\b|@.*|\bProcessor\b", " ", self.cpu, flags=re.IGNORECASE)
        return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def load(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    return _from_short(document) if "date" in document else _from_google(document)


def _from_google(document):
    context = {key: document["context"][key] for key in _KEPT_CONTEXT if key in document["context"]}
    run = Run(date=document["context"]["date"][:10], context=context)
    samples = {}
    for entry in document["benchmarks"]:
        if entry.get("run_type") == "aggregate":
            continue
        name = re.sub(r"/iterations:.*$", "", entry["run_name"])
        if entry.get("error_occurred"):
            run.skipped[name] = entry.get("error_message", "")
            continue
        of_this = samples.setdefault(name, {})
        of_this.setdefault("time_ns", []).append(entry["real_time"] * _NANOSECONDS[entry["time_unit"]])
        for counter in entry.keys() - _FIELDS:
            of_this.setdefault(counter, []).append(entry[counter])
    for name, counters in samples.items():
        if name not in run.skipped:
            run.benchmarks[name] = {counter: Value.of(rounds) for counter, rounds in sorted(counters.items())}
    return run


def _from_short(document):
    run = Run(date=document["date"], context=document["context"], skipped=document["skipped"])
    for name, counters in document["benchmarks"].items():
        run.benchmarks[name] = {counter: Value(*numbers) for counter, numbers in counters.items()}
    return run


def save(run, path):
    """The short form: [median, spread, rounds] of every counter, and nothing about the machine's name or paths."""

    def short(number):
        return float(f"{number:.5g}")

    lines = []
    for name, counters in run.benchmarks.items():
        numbers = {key: [short(v.median), short(v.spread), v.rounds] for key, v in counters.items()}
        lines.append(f"    {json.dumps(name)}: {json.dumps(numbers)}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n")
        for key in ("date", "context", "skipped"):
            file.write(f'  "{key}": {json.dumps(getattr(run, key))},\n')
        file.write('  "benchmarks": {\n' + ",\n".join(lines) + "\n  }\n}\n")
