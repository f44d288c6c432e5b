#!/usr/bin/env python3
"""What linear layers lose by the format of their weights and by modes, over normal random numbers: weights.py [--keep]

Others quantise: ggml's own library, without importances from a text; for GPTQ and AWQ examples/llm/checkpoints.py, which
takes the nearest codes; for e4m3 ml_dtypes, with one scale an output. NumPy multiplies in float64 what docs/numerics.md,
L1, says that codes stand for. --keep writes the errors to bench/results, and the pages. gguf, libggml-python, ml-dtypes
and NumPy are needed; the seed is fixed.
"""

import argparse
import ctypes
import importlib.metadata
import json
import pathlib
import subprocess
import sys
import sysconfig
import time

import gguf
import ml_dtypes
import numpy

import reference

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "examples" / "llm"))
import checkpoints  # noqa: E402 (of examples/llm)

RESULT = ROOT / "bench" / "results" / "accuracy-weights.json"
PACKAGES = ("gguf", "libggml-python", "ml-dtypes", "numpy")
SEED, ROWS, IN, OUT, GROUP = 1, 64, 4096, 512, 128
OF_GGML = ("Q8_0", "Q6_K", "Q5_K", "Q5_1", "Q5_0", "Q4_K", "Q4_1", "Q4_0", "IQ4_NL", "MXFP4")
F32 = numpy.float32


def by_ggml(library, name, weights):
    kind = gguf.GGMLQuantizationType[name]
    numbers, size = gguf.GGML_QUANT_SIZES[kind]
    codes = numpy.empty((OUT, IN // numbers * size), numpy.uint8)
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    written = library.ggml_quantize_chunk(ctypes.c_int(kind), weights.ctypes.data_as(ctypes.c_void_p),
                                          codes.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(0), ctypes.c_int64(OUT),
                                          ctypes.c_int64(IN), None)
    assert written == codes.nbytes, name
    return gguf.quants.dequantize(codes, kind)


def e4m3(weights):
    scales = abs(weights).max(1, keepdims=True) / F32(448)
    return (weights / scales).astype(ml_dtypes.float8_e4m3fn).astype(F32) * scales


def codes_of_rows(rows):
    """Codes of a row, times its scale: docs/numerics.md, section 16."""
    largest = abs(rows).max(1, keepdims=True)
    return numpy.rint(rows * (F32(127) / largest)) * (largest / F32(127))


def of_bf16(numbers):
    return numbers.astype(ml_dtypes.bfloat16).astype(F32)


def measure(library):
    """{format: {mode: rms error over the rms of the outputs}}."""
    draw = numpy.random.default_rng(SEED)
    x, weights = (draw.standard_normal((count, IN)).astype(F32) for count in (ROWS, OUT))
    wanted = x.astype(float) @ weights.T.astype(float)
    inputs = {"exact": x, "bf16": of_bf16(x), "int8": codes_of_rows(x)}
    formats = {"F16": (weights.astype(numpy.float16), "exact"), "BF16": (of_bf16(weights), "exact", "bf16"),
               "fovea_nn_quantise()": (codes_of_rows(weights), "exact", "int8"), "E4M3": (e4m3(weights), "exact")}
    formats |= {name: (by_ggml(library, name, weights), "exact", "int8") for name in OF_GGML}
    formats["GPTQ, AWQ"] = checkpoints.quantised(weights, "gptq", GROUP)[1], "exact", "int8"

    def error(numbers, mode):
        return float(f"{reference.errors(inputs[mode].astype(float) @ numbers.T.astype(float), wanted)[1]:.4g}")

    return {name: {mode: error(numbers, mode) for mode in modes} for name, (numbers, *modes) in formats.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    folder = pathlib.Path(sysconfig.get_path("platlib")) / "libggml" / "lib64"
    found = measure(ctypes.CDLL(str(folder / "libggml-base.so")))
    print("\n".join(f"{name}: {errors}" for name, errors in found.items()))
    if arguments.keep:
        document = {"date": time.strftime("%Y-%m-%d"),
                    "versions": {name: importlib.metadata.version(name) for name in PACKAGES}, "seed": SEED,
                    "rows": ROWS, "in": IN, "out": OUT, "group": GROUP, "rms": found}
        RESULT.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
        subprocess.run([sys.executable, "-B", str(ROOT / "bench" / "pages.py")], check=True)


if __name__ == "__main__":
    main()
