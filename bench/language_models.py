"""Tables of a language model beside llama.cpp, from runs of bench/peers/llm.py."""

from beside import table
from kept import threads_in_words

EXACT, INT8, LLAMA = "fovea/exact", "fovea/int8", "llama.cpp/bench"
TITLES = ("Fovea, exact", "int8 mode", "llama.cpp", "x exact", "x int8")


def in_words(name, kind):
    """('decode/64_after512', 'q8_0') gives 'q8_0: 64 tokens, one by one, after 512'."""
    test, sizes = name.split("/")
    count, _, depth = sizes.partition("_after")
    return f"{kind}: " + (f"a prompt of {count}" if test == "prefill" else f"{count}, one by one") + (
        f", after {depth}" if depth else "")


def speeds(run, place, way):
    """'170 / 188', or '– / 188' if one thread was not measured."""
    results = [run.results.get((*place, threads)) for threads in run.threads]
    found = [result and result["entries"].get(way) for result in results]
    words = [f"{entry['tokens_per_second'][0]:.4g}" if entry else "–" for entry in found]
    return " / ".join(words) if any(found) else ""


def lines(run):
    """Markdown of a run (Beside)."""
    rows = []
    for place in dict.fromkeys(place[:2] for place in run.results):
        ratios = [run.cell(*place, LLAMA, ratio) for ratio in ("ratio", "ratio_to_mode")]
        rows.append([in_words(*place), *(speeds(run, place, way) for way in (EXACT, INT8, LLAMA)), *ratios])
    counted = " / ".join(threads_in_words(count) for count in run.threads)
    return table([f"tokens a second, {counted}", *TITLES], rows)
