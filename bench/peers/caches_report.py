#!/usr/bin/env python3
"""Tables of caches by Fovea and its peers, from the runs that caches.py wrote.

    caches_report.py run.json [more.json ...]          tables (Markdown) on stdout
    caches_report.py run.json [more.json ...] --keep   also keeps the run in bench/results
    caches_report.py run.json [more.json ...] --bars   the bars that the run missed, in place of the tables

Of several runs, each result comes from the last run that has it. A ratio is how many times as long the other takes as
Fovea with keys in rows / in panels; the better of them is held against the bar.
"""

import cache_problems
import report
from report import kept

ROWS, PANELS = "fovea/rows", "fovea/panels"
WITHOUT_AMX = "vllm/attention_without_amx"  # bars are held against what vLLM itself chooses
TITLES = (("vllm/attention", "vLLM"), (WITHOUT_AMX, "vLLM without AMX"), ("zentorch/zentorch_sdpa", "zentorch"),
          ("ggml/flash_attn_ext", "ggml"))


def bar(way, result):
    """How many times as long this library is to take; None: there is no bar."""
    kind = result["name"].split("/")[0]
    if way == WITHOUT_AMX:
        return None
    if way.startswith("ggml"):
        return {"decode": 1.5, "prefill": 3.0}[kind] if result["type"] != "f32" else None
    return 2.0 if cache_problems.FORMATS[result["type"]].block_bytes == 1 else 1.0


def ratios(entry, result):
    """To Fovea's rows and to its panels."""
    panels = result["entries"].get(PANELS)
    to_rows = entry["ratio"][0]
    return [to_rows] + ([to_rows / panels["ratio"][0]] if panels else [])


def bars_of(document):
    """(what, measured, bar, whether it is reached)."""
    for result in document["results"]:
        for way, title in TITLES:
            entry, least = result["entries"].get(way), bar(way, result)
            if entry and least:
                most = max(ratios(entry, result))
                what = f"{result['type']}, {result['name']}, {kept.threads_in_words(result['threads'])}, beside {title}"
                yield what, f"{most:.2f} x", f">= {least:.1f}", most >= least


def cell(way, result):
    entry = result["entries"].get(way)
    if entry is None:
        return ""
    texts = " / ".join(f"{ratio:.2f}" for ratio in ratios(entry, result))
    ahead = max(ratios(entry, result)) < 1
    wrong = entry["error"] > cache_problems.FORMATS[result["type"]].tolerance
    return (f"**{texts}**" if ahead else texts) + f", {entry['option']}" + \
        (f", error {entry['error']:.1e}" if wrong else "")


def ours(result):
    """Milliseconds; for decoding also GB/s of the cache that was read."""
    found = [result["entries"][way]["milliseconds"][0] for way in (ROWS, PANELS) if way in result["entries"]]
    text = " / ".join(f"{milliseconds:.4g}" for milliseconds in found)
    if result["name"].startswith("decode"):
        size = cache_problems.parse(result["name"], result["type"]).cache_bytes
        text += " (" + " / ".join(f"{size / milliseconds * 1e-6:.1f}" for milliseconds in found) + " GB/s)"
    return text


def table(results, format_name):
    own = [result for result in results if result["type"] == format_name]
    lines = [f"**{format_name}**", "",
             "| | threads | Fovea, ms | " + " | ".join(title for _, title in TITLES) + " |",
             "|---|--:|--:|" + "---|" * len(TITLES)]
    for result in own:
        cells = [result["name"], str(result["threads"]), ours(result), *(cell(way, result) for way, _ in TITLES)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""]


def markdown(document):
    context, results = document["context"], document["results"]
    versions = ", ".join(f"{peer} {version}" for peer, version in context["versions"].items())
    lines = [f"{context['cpu']}, {context['num_cpus']} cores ({', '.join(context['instructions'])}), "
             f"{document['date']}. {versions}. Other programs took {100 * context['others_share']:.0f} % of the machine.",
             ""]
    for format_name in dict.fromkeys(result["type"] for result in results):
        lines += table(results, format_name)
    refused = {(way, reason) for result in results for way, reason in result["refused"].items()
               if reason != "not offered"}
    lines += [f"`{way}`: {reason}." for way, reason in sorted(refused)]
    return "\n".join(lines).strip() + "\n"


if __name__ == "__main__":
    kept.tell(__doc__, "caches-peers", bars_of, markdown, report.together)
