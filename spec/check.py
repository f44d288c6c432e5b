#!/usr/bin/env python3
"""Computes every vector by the second implementation, and compares all bits: check.py [folder of vectors]"""

import json
import pathlib
import sys

import numpy as np

SPEC = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(SPEC / "second"))

import attention  # noqa: E402
import formats  # noqa: E402
import layers  # noqa: E402
import rotary  # noqa: E402
import arithmetic  # noqa: E402
from arithmetic import stored, widened  # noqa: E402


def computation(vector):
    """The function of the name that the vector has, or that it computes."""
    name = {"mode": "attention", "function": vector["name"], "fused": "fma"}.get(vector["computes"], vector["computes"])
    modules = (arithmetic, attention, formats, layers, rotary)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def differences(folder, vector):
    """One line for each expected array that has other bits."""
    load = {name: np.load(folder / vector["name"] / f"{name}.npy") for name in vector["inputs"] + vector["expected"]}
    number = (np.float32, np.float16, np.uint16)
    parameters = {key: float.fromhex(value) if "0x" in str(value) else value
                  for key, value in vector["parameters"].items()}
    inputs = {name: widened(load[name]) if load[name].dtype in number else load[name] for name in vector["inputs"]}
    results = computation(vector)(**parameters, **inputs)
    results = results if isinstance(results, dict) else {vector["expected"][0]: results}
    for name in vector["expected"]:
        expected, result = load[name], np.asarray(results[name])
        result = stored(result, expected.dtype) if expected.dtype in number else result.astype(expected.dtype)
        bits = f"u{expected.dtype.itemsize}"
        if result.shape != expected.shape:
            yield f"{vector['name']}/{name}: the shape is {result.shape}, not {expected.shape}"
        elif not np.array_equal(result.view(bits), expected.view(bits)):
            at = np.argwhere(result.view(bits) != expected.view(bits))
            yield (f"{vector['name']}/{name}{at[0]}: {result[tuple(at[0])]}, not {expected[tuple(at[0])]}; "
                   f"{len(at)} differ")


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else SPEC / "vectors"
    vectors = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["vectors"]
    lines = [line for vector in vectors for line in differences(folder, vector)]
    print("\n".join(lines + [f"{len(vectors)} vectors, {len(lines)} arrays differ"]))
    return 1 if lines or not vectors else 0


if __name__ == "__main__":
    sys.exit(main())
