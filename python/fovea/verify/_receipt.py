"""What a receipt is: a dict that JSON can hold, of hashes and of what they are of.

    receipt      1, the version of this form
    contract     "1.0 exact": version of docs/numerics.md, and the arithmetic
    kind         "vectors" or "text"
    versions     of fovea, torch and transformers, as a help if something differs
    model        name of the model's class
    weights      hash of the list of tensors
    tensors      name: [type, shape, hash], of each parameter and buffer
    layers       how many the model has
    every        rows of positions 0, every, 2 every, ... have hashes
    pool         of vectors: "mean" or "first"
    temperature, seed  of a text: 0.0 for the likeliest token
    texts        a list, of each text, or of the one that was written:
      tokens     numbers
      prompt     of a text: how many of the tokens were given
      inputs     hash of the tokens that were given, int64
      rows       position: [hash of the embedding, after layer 0, after layer 1, ...], of a text also of the logits
      output     hash of the vector, or of the logits of all rows

A hash is SHA-256 of numbers, lowest byte first. No row reads the last token of a text.
"""

import hashlib
import json
import os
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

import fovea

VERSION, CONTRACT = 1, "1.0 exact"
POOLS = ("mean", "first")
OF_KIND = {"vectors": {"pool"}, "text": {"temperature", "seed"}}


def refuse(field: str, text: str, error: type[fovea.Error] = fovea.ArgumentError) -> NoReturn:
    made = error(f"{field} {text}")
    made.field = field
    raise made


def hash_of_tokens(tokens: Sequence[int]) -> str:
    return hashlib.sha256(np.array(tokens, "<i8").tobytes()).hexdigest()


def hash_of_tensors(tensors: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(list(tensors.items())).encode()).hexdigest()


# ---- Files -------------------------------------------------------------------------------------------------------


def save(receipt: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Writes a receipt as JSON, a line for each field. The file is there whole or not at all."""
    fields = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in receipt.items())
    part = f"{os.fspath(path)}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write("{\n" + fields + "\n}\n")
    os.replace(part, path)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a receipt. Raises fovea.ArgumentError for what is no whole receipt of this version, by the first field that
    is wrong."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        receipt = json.loads(data)
    except (ValueError, RecursionError) as error:
        refuse(os.fspath(path), f"is no whole receipt: {error}")
    validate(receipt)
    return receipt  # type: ignore[no-any-return]


# ---- The form ----------------------------------------------------------------------------------------------------


def _is_int(value: object, least: int = 0, most: int = 2**31 - 1) -> bool:
    return type(value) is int and least <= value <= most  # and not bool


def _is_str(value: object) -> bool:
    return isinstance(value, str)


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _is_tensor(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and _is_str(value[0]) and isinstance(value[1], list) and \
        all(map(_is_int, value[1])) and _is_hash(value[2])


def _is_dict_of(is_value: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(map(is_value, value.values()))


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "receipt": (lambda x: _is_int(x, VERSION, VERSION), f"{VERSION}, which this version of fovea reads"),
    "contract": (lambda x: x == CONTRACT, f"{CONTRACT!r}, which this version of fovea computes"),
    "kind": (lambda x: x in list(OF_KIND), "'vectors' or 'text'"),
    "versions": (_is_dict_of(_is_str), "versions by name"),
    "model": (_is_str, "the name of a class"),
    "weights": (_is_hash, "a hash"),
    "tensors": (_is_dict_of(_is_tensor), "[type, shape, hash] by name"),
    "layers": (lambda x: _is_int(x, 1), "a number of layers"),
    "every": (lambda x: _is_int(x, 1), "a number from 1 on"),
    "pool": (lambda x: x in POOLS, "'mean' or 'first'"),
    "temperature": (lambda x: type(x) in (int, float) and (x == 0 or 1e-6 <= x <= 1e6), "0, or from 1e-6 to 1e6"),
    "seed": (lambda x: _is_int(x, most=2**64 - 1), "a number from 0 to 2^64 - 1"),
    "texts": (lambda x: isinstance(x, list) and len(x) > 0 and all(isinstance(each, dict) for each in x), "texts"),
    "tokens": (lambda x: isinstance(x, list) and len(x) > 0 and all(map(_is_int, x)), "tokens"),
    "prompt": (lambda x: _is_int(x, 1), "a number of tokens"),
    "inputs": (_is_hash, "a hash"),
    "output": (_is_hash, "a hash"),
    "rows": (_is_dict_of(lambda row: isinstance(row, list) and all(map(_is_hash, row))), "hashes by position"),
    # Arguments.
    "batch": (lambda x: _is_int(x, 1), "a number from 1 on"),
    "max_new_tokens": (lambda x: _is_int(x, 1), "a number from 1 on"),
}


def require(found: Mapping[str, Any], names: Collection[str], where: str = "") -> None:
    """Refuses fields that are missing, that have a wrong value, or that there are not."""
    for name in [name for name in _FIELDS if name in names]:
        if name not in found:
            refuse(where + name, "is missing")
        fits, wanted = _FIELDS[name]
        if not fits(found[name]):
            refuse(where + name, f"is {reprlib.repr(found[name])}; it must be {wanted}")
    for name in found:
        if name not in names:
            refuse(where + name, "is no field of a receipt")


def _require_hash(field: str, stated: str, of: str, found: str) -> None:
    if stated != found:
        refuse(field, f"is {stated}; the receipt's {of} have {found}")


def validate(receipt: Any) -> None:
    """Refuses what is no whole receipt of this version, by the first field that is wrong."""
    if not isinstance(receipt, dict):
        refuse("receipt", f"is a {type(receipt).__name__}; it must be a dict")
    first = {"receipt", "contract", "kind"}  # which say what the others are
    require({name: receipt[name] for name in first & set(receipt)}, first)
    require(receipt, first | {"versions", "model", "weights", "tensors", "layers", "every", "texts"} |
            OF_KIND[receipt["kind"]])
    _require_hash("weights", receipt["weights"], "tensors", hash_of_tensors(receipt["tensors"]))
    is_text = receipt["kind"] == "text"
    for i, text in enumerate(receipt["texts"]):
        where = f"texts[{i}]."
        require(text, {"tokens", "inputs", "rows", "output"} | ({"prompt"} if is_text else set()), where)
        tokens, prompt = text["tokens"], text.get("prompt", len(text["tokens"]))
        if is_text and prompt >= len(tokens):
            refuse(where + "prompt", f"is {prompt}; the text has {len(tokens)} tokens, and must have more")
        _require_hash(where + "inputs", text["inputs"], "tokens", hash_of_tokens(tokens[:prompt]))
        positions = list(map(str, range(0, len(tokens) - is_text, receipt["every"])))
        if list(text["rows"]) != positions:
            refuse(where + "rows", f"has the positions {reprlib.repr(list(text['rows']))}; it must have "
                   f"{reprlib.repr(positions)}")
        hashes = receipt["layers"] + 1 + is_text
        for position, row in text["rows"].items():
            if len(row) != hashes:
                refuse(f"{where}rows[{position}]", f"has {len(row)} hashes; it must have {hashes}")
    if is_text and len(receipt["texts"]) != 1:
        refuse("texts", f"has {len(receipt['texts'])} texts; it must have 1")
