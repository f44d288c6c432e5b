#!/usr/bin/env python3
"""Tables (Markdown) of what layers.py, whole.py and alternatives.py wrote.

    report.py layers.json [whole.json [alternatives.json]]            on stdout; --layers: with a line for each layer
    report.py layers.json [whole.json [alternatives.json]] --keep     also into bench/results and docs/numerics.md
"""

import argparse
import json
import pathlib
import shutil
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "bench"))
import measurements  # noqa: E402 (of bench)

PAGE = ROOT / "docs" / "numerics.md"
MARKERS = ("<!-- real layers: begin, written by bench/accuracy/report.py --keep -->", "<!-- real layers: end -->")
SAGE = "Sage int8, f16"
LEAST = 0.999  # a cosine below it is named
MUCH, LITTLE = 0.3, 0.05  # of a row's weight
# What the page leaves out; bench/results has it.
LEFT_OUT = ("exact/exact", "exact/int8 +v", "int8/int8 +c", "int8/int8 +k", "int8/int8 +ch", "int8/int8 +ckv")
# Of hardness: what the page says, and how it speaks of a model: by the most or the least of all heads.
HARDNESS = (("weight_of_first_key", "mean weight of the first key, up to", max),
            ("length_of_first_value_over_median", "its value over the median's length, down to", min),
            ("largest_channel_mean_of_keys_over_rms", "mean of a channel of K over the rms of K, up to", max),
            ("largest_channel_of_values_over_median", "channel of V over the median, up to", max),
            ("deviation_of_scores", "deviation of a row's scores, up to", max))


def cosine(distance):
    return f"{1 - distance:.6f}" if distance < 1e-4 else f"{1 - distance:.5f}"


def worst(entries):
    """Of layers: (1 - cosine, rms, index); the smallest cosine counts."""
    return max((entry["one_minus_cosine"], entry["rms"], i) for i, entry in enumerate(entries))


def worst_head(entries):
    return max((d, r, f"{layer}.{head}") for layer, entry in enumerate(entries)
               for head, (d, r) in enumerate(zip(entry["heads_one_minus_cosine"], entry["heads_rms"])))


def below(entries):
    return sum(1 - entry["one_minus_cosine"] < LEAST for entry in entries)


def heads_below(entries):
    return sum(1 - d < LEAST for entry in entries for d in entry["heads_one_minus_cosine"])


def of(model, method):
    return [layer["methods"][method] for layer in model["layers"]]


def line(method, entries):
    d, rms, layer = worst(entries)
    head_d, head_rms, head = worst_head(entries)
    middle_d = statistics.median(entry["one_minus_cosine"] for entry in entries)
    middle_rms = statistics.median(entry["rms"] for entry in entries)
    return (f"| {method} | {cosine(d)}, {rms:.2g} ({layer}) | {cosine(middle_d)}, {middle_rms:.2g} "
            f"| {cosine(head_d)}, {head_rms:.2g} ({head}) | {below(entries)}, {heads_below(entries)} |")


def title(model):
    heads = len(model["layers"][0]["hardness"]["weight_of_first_key"])
    tokens = sorted({text["tokens"] for text in model["texts"].values()})
    found = "; ".join(f"{text} {most(x for layer in model['layers'] for x in layer['hardness'][name]):.2g}"
                      for name, text, most in HARDNESS)
    return (f"**{model['name']}**: {len(model['layers'])} layers of {heads} heads, "
            f"{' and '.join(map(str, tokens))} tokens{', causal' if model['causal'] else ''}. Of all heads: {found}.")


def table(model, left_out=()):
    names = [name for name in model["layers"][0]["methods"] if name not in left_out]
    return [title(model), "",
            "| scores/values | worst layer | median of layers | worst head | layers, heads below 0.999 |",
            "|---|---|---|---|--:|", *(line(name, of(model, name)) for name in names), ""]


def table_of_layers(model):
    """The layer's cosine and rms, and its worst head's cosine."""
    names = list(model["layers"][0]["methods"])
    lines = [f"**{model['name']}**", "", "| layer | " + " | ".join(names) + " |", "|--:|" + "---|" * len(names)]
    for i, layer in enumerate(model["layers"]):
        cells = []
        for name in names:
            entry = layer["methods"][name]
            distances = entry["heads_one_minus_cosine"]
            head = max(range(len(distances)), key=distances.__getitem__)
            cells.append(f"{cosine(entry['one_minus_cosine'])}, {entry['rms']:.2g}; {cosine(distances[head])} ({head})")
        lines.append(f"| {i} | " + " | ".join(cells) + " |")
    return lines + [""]


def where_worse(model):
    """Layers where a mode falls below LEAST and Sage's recipe (int8 scores, f16 values) does not."""
    sage, lines = of(model, SAGE), []
    for name in model["layers"][0]["methods"]:
        found = [str(i) for i, (own, other) in enumerate(zip(of(model, name), sage))
                 if 1 - own["one_minus_cosine"] < LEAST <= 1 - other["one_minus_cosine"]]
        if found:
            lines.append(f"{model['name']}, {name}: below {LEAST} in layers {', '.join(found)}, where Sage is not")
    return lines


def by_first_key(model):
    """The median loss of heads whose first key has much of the weight, and of those where it has little."""
    weights = [weight for layer in model["layers"] for weight in layer["hardness"]["weight_of_first_key"]]
    lines = []
    for name in model["layers"][0]["methods"]:
        losses = [d for entry in of(model, name) for d in entry["heads_one_minus_cosine"]]
        much = [loss for weight, loss in zip(weights, losses) if weight > MUCH]
        little = [loss for weight, loss in zip(weights, losses) if weight < LITTLE]
        if much and little:
            lines.append(f"{model['name']}, {name}: median of 1 - cosine: {statistics.median(much):.2g} in "
                         f"{len(much)} heads whose first key has more than {MUCH} of the weight, "
                         f"{statistics.median(little):.2g} in {len(little)} where it has less than {LITTLE}")
    return lines


def table_of_words(document):
    lines = ["| model | attention | surprise | more than by float64 | divergence | same likeliest token |",
             "|---|---|--:|--:|--:|--:|"]
    for model in document["models"]:
        title = model["name"]
        for name, entry in model["methods"].items():
            lines.append(f"| {title} | {name} | {entry['surprise']:.4f} "
                         f"| {entry['more']:+.4f} ± {entry['error_of_more']:.4f} | {entry['divergence']:.1e} "
                         f"| {100 * entry['same_token']:.1f} % |")
            title = ""
    return lines + [""]


def table_of_alternatives(document):
    """Of each model: cosine and rms error of the worst layer, and the worst head's cosine."""
    models = document["models"]
    lines = ["| scores in int8 | " + " | ".join(models) + " |", "|---|" + "---|" * len(models)]
    for name in next(iter(models.values())):
        entries = [model[name] for model in models.values()]
        cells = [f"{cosine(1 - entry['worst_cosine'])}, {entry['worst_rms']:.2g}; "
                 f"{cosine(1 - entry['worst_head_cosine'])}" for entry in entries]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines + [""]


def about(document):
    context = document["context"]
    versions = ", ".join(f"{name} {version}" for name, version in context["versions"].items())
    return f"{document['date']}, {context['cpu']}; {versions}."


def page(arguments, left_out):
    document = json.loads(arguments.layers.read_text(encoding="utf-8"))
    lines = [about(document), ""] + [text for model in document["models"] for text in table(model, left_out)]
    if arguments.whole:
        lines += table_of_words(json.loads(arguments.whole.read_text(encoding="utf-8")))
    if arguments.alternatives:
        lines += table_of_alternatives(json.loads(arguments.alternatives.read_text(encoding="utf-8")))
    return "\n".join(lines)


def keep(arguments):
    for kind in ("layers", "whole", "alternatives"):
        path = getattr(arguments, kind)
        if path:
            document = json.loads(path.read_text(encoding="utf-8"))
            slug = measurements.Run(document["date"], document["context"]).cpu_slug
            shutil.copy(path, ROOT / "bench" / "results" / f"accuracy-{kind}-{slug}.json")
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.find(MARKERS[0]), text.find(MARKERS[1])
    if begin < 0 or end < begin:
        sys.exit(f"report.py: {PAGE.name} has no lines '{MARKERS[0]}' and '{MARKERS[1]}'")
    body = "\n\n" + page(arguments, LEFT_OUT) + "\n"
    PAGE.write_text(text[: begin + len(MARKERS[0])] + body + text[end:], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers", type=pathlib.Path)
    parser.add_argument("whole", type=pathlib.Path, nargs="?")
    parser.add_argument("alternatives", type=pathlib.Path, nargs="?")
    parser.add_argument("--layers", dest="each", action="store_true", help="also a line for each layer")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    if arguments.keep:
        keep(arguments)
    models = json.loads(arguments.layers.read_text(encoding="utf-8"))["models"]
    print(page(arguments, ()))
    print("\n".join(text for model in models for text in [*where_worse(model), *by_first_key(model)]))
    if arguments.each:
        print("\n".join(text for model in models for text in table_of_layers(model)))


if __name__ == "__main__":
    main()
