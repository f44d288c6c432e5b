"""Quantised caches: names in words, and the table of decoding. Called by tables.py."""

import re

KINDS = {"i8_rows": "i8, a scale a row", "ort_u4": "u4, one scale", "e4m3": "fp8 e4m3, one scale"}


def cache_in_words(cache):
    name = cache[: -len("_panels")] if cache.endswith("_panels") else cache
    return KINDS.get(name, name) + (", keys in panels" if name != cache else "")


def threads_in_words(text):
    return "1 thread" if text == "t1" else f"{text[1:]} threads"


def shape_in_words(shape):
    heads, kv_heads, keys = (int(number) for number in re.fullmatch(r"h(\d+)_kv(\d+)_s(\d+)_d128", shape).groups())
    return f"{heads} heads over {kv_heads}, {keys:,} keys, D 128"


def words(name):
    """format/h32_kv8_s32768_d128/i8_rows/avx512/t1: its parts in words; also of paired and append."""
    kind, shape, what, isa, threads = name.split("/")
    end = f"{isa}, {threads_in_words(threads)}"
    if kind == "format":
        return f"{cache_in_words(what)}: {shape_in_words(shape)}, {end}"
    if kind == "append":
        cache, tables, _ = what.partition("_tables")
        angles = "by tables" if tables else "angles computed"
        return f"append of 512 rows, 8 kv heads, D 128, rotated, {angles}, to {cache_in_words(cache)}, {end}"
    if what.startswith("decode_pages16_"):
        cache = cache_in_words(what[len("decode_pages16_"):])
        return f"{cache}, pages of 16, shuffled: {shape_in_words(shape)}, {end}"
    rule, cache = what.split("_", 1)
    return f"prefill over {cache_in_words(cache)}: 8 heads, S 2048, D 128, {rule}, {end}"


def text(run, name, counter, digits):
    value = run.median(name, counter)
    return "" if value is None else f"{value:,.{digits}f}"


def speeds(run):
    """Every shape and cache, at one thread / at two."""
    found = {}
    for name in run.benchmarks:
        kind, shape, cache, _, _ = name.split("/")
        if kind == "format":
            found.setdefault((shape, cache), []).append(name)
    columns = (("tokens a second", "tokens_per_second", 0), ("x f32", "tokens_over_f32", 2),
               ("x f16", "tokens_over_f16", 2), ("GB/s", "gigabytes_per_second", 1),
               ("of the read bandwidth", "bandwidth_fraction", 2),
               ("of reading f32", "f32_bandwidth_fraction", 2))
    lines = ["Decoding, one layer; 1 thread / 2 threads.", "",
             "| | " + " | ".join(title for title, _, _ in columns) + " |", "|---|" + "--:|" * len(columns)]
    for (shape, cache), names in found.items():
        cells = [" / ".join(text(run, name, counter, digits) for name in names) for _, counter, digits in columns]
        lines.append(f"| {cache_in_words(cache)}: {shape_in_words(shape)} | " + " | ".join(cells) + " |")
    return lines
