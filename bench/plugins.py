"""Tables of llama.cpp with the plugin for ggml and without, from runs of bench/peers/ggml_plugin.py."""

from beside import slashed, table
from kept import threads_in_words
from language_models import in_words, speeds

THREADS, DEVICE, INT8 = "threads", "device", "int8"
OWN = ("ggml", "ggml_without_flash_attention")
SPEEDS = {"in ggml's threads": THREADS, "as a device": DEVICE, "int8 mode": INT8, "ggml, -fa on": OWN[0],
          "ggml, -fa off": OWN[1]}
RATIOS = {"x in threads": THREADS, "x device": DEVICE, "x int8": INT8}
LOADING = "loading"


def ratio_to_own(run, place, way):
    """How many times as long ggml takes, in the faster of its two settings."""
    found = [run.ratio(place, own, f"ratio_to_{way}") for own in OWN]
    return min((ratio for ratio in found if ratio is not None), default=None)


def loading(run):
    """The entries of both ways."""
    return next(result["entries"] for (name, _, _), result in run.results.items() if name == LOADING)


def loading_in_words(run):
    entries = loading(run)
    both = " and ".join(f"{entries[way]['milliseconds'][0]:.2g} ms ({title})"
                        for title, way in SPEEDS.items() if way in entries)
    return f"ggml loads the plugin in {both}."


def lines(run):
    """Markdown of a run (Beside)."""
    rows = []
    for place in dict.fromkeys(place[:2] for place in run.results if place[0] != LOADING):
        ratios = [slashed([ratio_to_own(run, (*place, threads), way) for threads in run.threads])
                  for way in RATIOS.values()]
        rows.append([in_words(*place), *(speeds(run, place, way) for way in SPEEDS.values()), *ratios])
    counted = " / ".join(threads_in_words(count) for count in run.threads)
    return [*table([f"tokens a second, {counted}", *SPEEDS, *RATIOS], rows), "", loading_in_words(run)]
