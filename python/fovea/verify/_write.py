"""Receipts that are written."""

import operator
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import transformers

import fovea

from . import _model
from ._receipt import CONTRACT, VERSION, hash_of_tensors, hash_of_tokens, refuse, require


def versions() -> dict[str, str]:
    return {"fovea": fovea.__version__, "torch": torch.__version__, "transformers": transformers.__version__}


def _receipt(kind: str, model: Any, layers: int, every: int, **rest: Any) -> dict[str, Any]:
    tensors = _model.tensors_of(model)
    receipt = {"receipt": VERSION, "contract": CONTRACT, "kind": kind, "versions": versions(),
               "model": type(model).__name__, "weights": hash_of_tensors(tensors), "layers": layers, "every": every,
               **rest}
    texts = receipt.pop("texts")  # to the end
    return {**receipt, "tensors": tensors, "texts": texts}


def _integers(name: str, numbers: Any) -> list[int]:
    try:
        return [operator.index(number) for number in numbers]
    except TypeError:
        refuse(name, f"is {reprlib.repr(numbers)}; it must be a list of integers")


def _rows(name: str, rows: Any) -> list[list[int]]:
    """Lists of integers, of each text."""
    try:
        every = list(rows)
    except TypeError:
        refuse(name, f"is {reprlib.repr(rows)}; it must be a list for each text")
    return [_integers(f"{name}[{i}]", row) for i, row in enumerate(every)]


def _lists(texts: Any) -> list[list[int]]:
    """Numbers of the tokens of each text, from lists or from what a tokenizer returns, without padding."""
    if not isinstance(texts, Mapping):
        return _rows("texts", texts)
    if "input_ids" not in texts:
        refuse("texts", "has no input_ids, which a tokenizer returns")
    ids = _rows("input_ids", texts["input_ids"])
    if any(int(kind) for row in texts.get("token_type_ids", ()) for kind in row):
        refuse("token_type_ids", "has others than 0; a receipt has single texts", fovea.UnsupportedError)
    masks = texts.get("attention_mask", [[1] * len(row) for row in ids])
    if list(map(len, masks)) != list(map(len, ids)):
        refuse("attention_mask", "has other lengths than input_ids")
    return [[token for token, seen in zip(row, mask) if seen] for row, mask in zip(ids, masks)]


def embed(model: Any, texts: Any, *, pool: str = "mean", every: int = 16,
          batch: int = 32) -> tuple[torch.Tensor, dict[str, Any]]:
    """Vectors of texts, (texts, dim) and each 1 long, and a receipt of them.

    model: an encoder of transformers, in eval()
    texts: a list of tokens for each text, or what a tokenizer returns
    pool: a vector is the 'mean' of its text's rows, or the 'first' row
    every: rows of positions 0, every, 2 every, ... have hashes
    batch: how many texts the model reads at once; it changes no bit
    """
    lists = _lists(texts)
    require({"pool": pool, "every": every, "batch": batch}, ("pool", "every", "batch"))
    if not lists:
        refuse("texts", "is empty; there must be one text at least")
    _model.refuse_model(model)
    _model.refuse_texts(model, {f"texts[{i}]": text for i, text in enumerate(lists)})
    vectors, found, layers = _model.vectors_of(model, lists, pool, every, batch)
    return vectors, _receipt("vectors", model, layers, every, pool=pool, texts=found)


def generate(model: Any, prompt: Sequence[int], *, max_new_tokens: int = 64, temperature: float = 0.0, seed: int = 1,
             every: int = 16) -> tuple[list[int], dict[str, Any]]:
    """Continues a prompt token by token, with a cache: all tokens, and a receipt of them.

    model: a language model of transformers, in eval()
    prompt: numbers of tokens
    max_new_tokens: how many are written, unless the text ends or the model's positions do
    temperature, seed: 0.0 is the likeliest token; else tokens are drawn, by a generator that begins with the seed
    every: rows of positions 0, every, 2 every, ... have hashes
    """
    tokens = _integers("prompt", prompt)
    given = {"max_new_tokens": max_new_tokens, "temperature": temperature, "seed": seed, "every": every}
    require(given, given)
    _model.refuse_model(model)
    _model.refuse_texts(model, {"prompt": tokens})
    ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ends = ends if isinstance(ends, list) else [ends]
    reading = _model.Reading(model, len(tokens), every, _model.Chooser(temperature, seed))
    most = min(reading.prompt + max_new_tokens, _model.longest(model))
    if reading.prompt == most:
        refuse("prompt", f"has {most} tokens, and the model was made for texts of {most}")
    with _model.one_answer(model):
        while len(tokens) < most and not (reading.chosen and tokens[-1] in ends):
            reading.add(tokens[reading.read:])
            tokens.append(reading.chosen[-1])
    text = {"tokens": tokens, "prompt": reading.prompt, "inputs": hash_of_tokens(tokens[:reading.prompt]),
            "rows": reading.rows, "output": reading.logits.hexdigest()}
    return list(tokens), _receipt("text", model, reading.layers, every, temperature=temperature, seed=seed,
                                  texts=[text])
