"""Golden files of ggml's formats, by the reference quantisers that the Python package ggml-py carries (README.md)."""
import ctypes
import importlib.metadata
import pathlib

import numpy as np
from golden import DIM, File, rows

# Bytes of a group of 32 numbers.
GROUP_BYTES = {"q8_0": 34, "q4_0": 18, "q4_1": 20, "q5_0": 22, "q5_1": 24, "iq4_nl": 18}
SYNCED = "3142f1dbb9d8b492a721a9194872f7901322f622"  # vendor/ggml/scripts/sync-llama.last in the package's sources


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def table_ties():
    """Numbers halfway between two numbers of iq4_nl's table if the scale is 1 or -1."""
    table = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
    middle = (table[1:] + table[:-1]) / 2
    return np.concatenate([[-127], middle, table, [127], -middle, -table]).astype(np.float32)


def main():
    package = importlib.metadata.distribution("ggml-py")
    library = ctypes.CDLL(str(pathlib.Path(package.locate_file("ggml/lib/libggml-base.so"))))
    for name, size in GROUP_BYTES.items():
        file = File(name, f"ggml-py {package.version} (ggml as in llama.cpp {SYNCED}), quantize_row_{name}_ref, "
                          f"dequantize_row_{name}", DIM)
        for case, x in rows() + ([("ties_table", table_ties())] if name == "iq4_nl" else []):
            stored = np.zeros(DIM // 32 * size, np.uint8)
            output = np.zeros(DIM, np.float32)
            getattr(library, f"quantize_row_{name}_ref")(pointer(x), pointer(stored), ctypes.c_int64(DIM))
            if name == "iq4_nl":  # ggml leaves the codes of such groups as the memory was
                stored.reshape(-1, size)[np.abs(x).reshape(-1, 32).max(1) < 1e-15, 2:] = 0
            getattr(library, f"dequantize_row_{name}")(pointer(stored), pointer(output), ctypes.c_int64(DIM))
            file.case(case, input=x, bytes=stored, output=output)
        file.write()
    # ggml's code for this CPU, which writes caches. For the other formats it calls the reference.
    library = ctypes.CDLL(str(pathlib.Path(package.locate_file("ggml/lib/libggml-cpu.so"))))
    file = File("q8_0_cpu", f"ggml-py {package.version} (ggml as in llama.cpp {SYNCED}), quantize_row_q8_0 of "
                            "libggml-cpu.so on x86 with AVX2", DIM)
    for case, x in rows():
        stored = np.zeros(DIM // 32 * 34, np.uint8)
        library.quantize_row_q8_0(pointer(x), pointer(stored), ctypes.c_int64(DIM))
        file.case(case, input=x, bytes=stored)
    file.write()


main()
